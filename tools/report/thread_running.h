/*
 * How the threads of a row run: how long at a time, why they stop, and how many at once.
 */
#ifndef TREADLE_THREAD_RUNNING_H
#define TREADLE_THREAD_RUNNING_H

#include "tools/report/thread_rows.h"

struct thread_running {
    bool has_switches;      /* the ledger counts switches: else the next three are 0 */
    uint64_t switches;      /* how often the threads left a processor; a virtual thread also by
                               leaving its carrier */
    uint64_t quantum_ns;    /* mean time on a processor until then; all CPU time if never */
    uint32_t preempted_ppm; /* of the switches: the kernel took the processor away */
    uint64_t lived_ns;      /* profiled time in which at least one of the threads lived, or might */
    uint64_t parallel_ppm;  /* CPU time in this time: processors busy in the mean, in millionths */
};

struct thread_running thread_running__of(const struct report_model *model,
                                         const struct thread_row *row);

#endif
