/*
 * Are the numbers inside of a thread true? That all CPU time is charged somewhere proves nothing
 * about where. Two checks of a ledger:
 *
 * What share of a thread's CPU time does a method have, with all that it calls, by its exact nodes,
 * and what share of the thread's samples had it on their stacks? Beyond a percentage point the two
 * may differ by chance only: by the Chernoff-Hoeffding bound on the tail of a binomial distribution
 * [W. Hoeffding 1963, theorem 1] less than once in a million ledgers, however many methods are
 * compared. Time that samples did not see, samples that cannot say where they were, and time in
 * hooks count in favour of the ledger.
 *
 * And does a tree have what no tree can have: CPU or callees of a method that was not called, an
 * exact node of a method that never has hooks, more CPU than was charged to the thread when it
 * ended.
 */
#ifndef TREADLE_REPORT_INSIDE_H
#define TREADLE_REPORT_INSIDE_H

#include "tools/report/report_model.h"

enum inside_fault {
    INSIDE_FINE,
    INSIDE_TOO_MUCH,   /* exact CPU of a method that samples did not find */
    INSIDE_TOO_LITTLE, /* samples found a method that has less exact CPU */
    INSIDE_NO_CALL,    /* CPU of a method that was not called */
    INSIDE_NO_HOOK,    /* calls below a method without hooks or calls */
    INSIDE_AFTER_END,  /* CPU charged after the kernel thread left the thread */
};

/* The first fault, and where. */
struct report_inside {
    enum inside_fault fault;
    uint32_t thread;
    uint32_t method; /* not for INSIDE_AFTER_END */
    double exact;    /* shares of the thread's CPU, for TOO_MUCH and TOO_LITTLE */
    double sampled;
    uint64_t samples;  /* of the thread */
    uint64_t ns;       /* for the other faults: the impossible CPU time */
    uint32_t compared; /* number of methods whose shares were compared */
};

/* Of a whole ledger: an interval has no tallies. */
struct report_inside report_inside__of(const struct report_model *model);

/* Two facts from each process's header that merged ledgers keep for the comparison. First: every
 * frame of a method with hooks has an exact node, since there was only one start, whose filter
 * holds for all samples, and no event was lost. */
bool report_inside__has_all_frames(const struct ledger_header *header);

/* Second: how much of a call's time may lie in its hooks, in picoseconds; 0: not known. */
uint64_t report_inside__call_ps(const struct ledger_header *header);

/* One line for people, without newline. */
void report_inside__text(const struct report_model *model, const struct report_inside *inside,
                         char *text, size_t bytes);

#endif
