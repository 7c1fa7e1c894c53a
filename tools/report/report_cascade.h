/*
 * Waits for locks, followed to who really ran: B waits for A over a lock, and A, where it stood
 * when that wait began, waits for the disk; then that wait of B is the disk's. What a blocker did
 * is inferred: it is divided as all of its time at and below the place where it stood is, between
 * CPU, I/O, sleep and so on, and its own waits for locks, which are followed on. A chain that comes
 * back to a thread of its own ends there, as a cycle.
 */
#ifndef TREADLE_REPORT_CASCADE_H
#define TREADLE_REPORT_CASCADE_H

#include "tools/report/report_model.h"
#include "tools/report/wait_parts.h"

#include <stdbool.h>
#include <stdint.h>

#define CASCADE_THREADS 8u /* of a chain; a longer one ends as not known */

/* What the last thread of a chain did. */
enum cascade_end_kind {
    CASCADE_CYCLE = WAIT_PARTS, /* it waits for a thread of the chain */
    CASCADE_OWNER_UNKNOWN,      /* it waits for a lock whose owner is not known */
    CASCADE_ENDS = CASCADE_OWNER_UNKNOWN + 1,
};

/* The first thread waits for the second one, and so on. */
struct cascade_chain {
    struct text threads[CASCADE_THREADS];
    struct text locks[CASCADE_THREADS]; /* classes: what threads[i] waits for */
    uint32_t count;                     /* of threads, from 1 on */
    unsigned does;                      /* enum wait_part or cascade_end_kind */
    struct report_path path;            /* where the last thread stood */
    uint64_t ns;                        /* of the first thread's waits */
};

/* All chains that end at one thread, in one doing. The sum of all is the sum of all waits. */
struct cascade_end {
    struct text thread;
    unsigned does;
    uint64_t ns;
    uint64_t direct_ns; /* by chains of two threads */
    uint32_t heaviest;  /* index of the chain */
};

/* Threads that waited for one another, each for some other: over time, no deadlock. */
struct cascade_knot {
    struct text *threads; /* by name */
    uint32_t count;
    bool is_cycle; /* each waited for just one of them */
    uint64_t ns;   /* of waits among them */
};

struct report_cascade {
    struct cascade_chain *chains; /* the longest time first, as the next two */
    uint32_t chain_count;
    struct cascade_end *ends;
    uint32_t end_count;
    struct cascade_knot *knots;
    uint32_t knot_count;
};

/* Of waiters whose names match; glob NULL: of all. Needs the nodes' columns of
 * wait_parts__columns(): what is not loaded counts as not known. */
struct report_cascade *report_cascade__new(const struct report_model *model, const char *glob);
void report_cascade__free(struct report_cascade *cascade);

/* "cpu", "io", "cycle". */
const char *cascade_end__word(unsigned does);

#endif
