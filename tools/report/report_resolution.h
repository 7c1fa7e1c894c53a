/*
 * The resolution: how short the exact calls are that Java threads' CPU time lies in. Each
 * nanosecond is judged by the innermost exact call around it: a context's CPU time with all that it
 * calls, by its number of calls.
 */
#ifndef TREADLE_REPORT_RESOLUTION_H
#define TREADLE_REPORT_RESOLUTION_H

#include "tools/report/report_model.h"

#define RESOLUTION_STEPS 5u

struct report_resolution {
    uint64_t java_ns;                    /* CPU time of all Java threads */
    uint64_t below_ns[RESOLUTION_STEPS]; /* bounds of the mean call; the last one 0: any */
    uint64_t cpu_ns[RESOLUTION_STEPS];   /* the part of java_ns in calls shorter than below_ns */
};

/* Over all threads. */
struct report_resolution report_resolution__of(const struct report_model *model);

#endif
