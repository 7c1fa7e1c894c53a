/*
 * What time a sample stands for. A CPU sample comes with the CPU time since the one before it on
 * its kernel thread. A wall sample stands for the wall time since the kernel thread's turn before,
 * or since samples were started, or since its thread was, whichever came last.
 *
 * By the one thread that merges samples; but sample_time__start is for any.
 */
#ifndef TREADLE_SAMPLE_TIME_H
#define TREADLE_SAMPLE_TIME_H

#include "native/sampling/sample_buffers.h"

struct sample_time {
    uint64_t since_ns;       /* when samples were started last, of the ledger's clock; atomic */
    struct wall_turn *turns; /* uthash, by tid: kernel threads that had a turn */
    unsigned swept;          /* how many were left when those of ended threads were taken out */
};

/* Samples are taken from now on. */
void sample_time__start(struct sample_time *time, uint64_t now_ns);

/* Counts a sample of the thread at the sampled node that was on top, with its time. */
void sample_time__count(struct sample_time *time, const struct sample *sample,
                        struct ledger_thread *thread, struct ledger_node *top);

void sample_time__release(struct sample_time *time);

#endif
