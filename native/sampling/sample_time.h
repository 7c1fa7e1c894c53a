/*
 * What time a sample stands for. A CPU sample carries the CPU time since the previous CPU sample on
 * its kernel thread. A wall sample stands for the wall time since the kernel thread's previous
 * turn, since sampling was started, or since the kernel thread started, whichever is latest.
 *
 * Called by the one thread that merges samples; sample_time__start may be called by any thread.
 */
#ifndef TREADLE_SAMPLE_TIME_H
#define TREADLE_SAMPLE_TIME_H

#include "native/sampling/sample_buffers.h"

struct sample_time {
    uint64_t since_ns;       /* when samples were started last, of the ledger's clock; atomic */
    struct wall_turn *turns; /* uthash, by tid: kernel threads that had a turn */
    unsigned swept;          /* entries left after the last removal of ended threads */
};

/* Notes that sampling starts now. */
void sample_time__start(struct sample_time *time, uint64_t now_ns);

/* Counts a sample of the thread, with the sample's time, at the sampled node of its top frame. */
void sample_time__count(struct sample_time *time, const struct sample *sample,
                        struct ledger_thread *thread, struct ledger_node *top);

/* For tests only. */
void sample_time__release(struct sample_time *time);

#endif
