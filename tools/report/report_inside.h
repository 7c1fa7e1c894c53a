/*
 * Are the numbers inside of a thread true? That all CPU is somewhere proves nothing about where.
 * Two questions that the books can fail:
 *
 * What share of a thread's CPU does a method have, with all that it calls, by its exact nodes, and
 * what share of the thread's samples had it on their stacks? Beyond a point the two may differ by
 * chance only: by the Chernoff-Hoeffding bound on the tail of a binomial distribution [W. Hoeffding
 * 1963, theorem 1] less than once in a million ledgers, however many methods are compared. What
 * samples did not see or cannot say, and what lies in hooks, counts in favour of the books.
 *
 * And does a tree have what cannot be: CPU or callees of a method that was not called, an exact
 * node of a method that never has hooks, more CPU than was charged to the thread when it ended.
 */
#ifndef TREADLE_REPORT_INSIDE_H
#define TREADLE_REPORT_INSIDE_H

#include "tools/report/report_model.h"

enum inside_fault {
    INSIDE_FINE,
    INSIDE_TOO_MUCH,   /* exact CPU of a method that samples did not find */
    INSIDE_TOO_LITTLE, /* samples with a method that has not so much exact CPU */
    INSIDE_NO_CALL,    /* CPU of a method that was not called */
    INSIDE_NO_HOOK,    /* calls below one that has no hooks, or was not called */
    INSIDE_AFTER_END,  /* CPU charged after the kernel thread left the thread */
};

/* The first fault, and where. */
struct report_inside {
    enum inside_fault fault;
    uint32_t thread;
    uint32_t method; /* but of INSIDE_AFTER_END */
    double exact;    /* shares of the thread's CPU, of those two faults */
    double sampled;
    uint64_t samples;  /* of the thread */
    uint64_t ns;       /* of the other faults: the CPU that cannot be */
    uint32_t compared; /* shares of methods */
};

/* Of a whole ledger: an interval has no tallies. */
struct report_inside report_inside__of(const struct report_model *model);

/* What merged ledgers keep of each process's header for the comparison. Whether every frame of a
 * method with hooks has an exact node: there was one start only, whose filter holds for all
 * samples, and no event was lost. */
bool report_inside__has_all_frames(const struct ledger_header *header);

/* How much of a call's time may be around its hooks, and not its own; 0: not known. */
uint64_t report_inside__call_ps(const struct ledger_header *header);

/* One line for people, without newline. */
void report_inside__text(const struct report_model *model, const struct report_inside *inside,
                         char *text, size_t bytes);

#endif
