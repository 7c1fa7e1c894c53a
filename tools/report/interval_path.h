/*
 * The hot path of a thread in an interval: from the root down, at each step the call that consumed
 * most CPU, to the method that consumed more itself than any one that it called.
 */
#ifndef TREADLE_REPORT_INTERVAL_PATH_H
#define TREADLE_REPORT_INTERVAL_PATH_H

#include "tools/report/interval.h"

struct interval_step {
    uint32_t node; /* of the later reading */
    uint64_t calls;
    uint64_t base_ns;
    uint64_t cum_ns; /* never more than that of the step above */
};

struct interval_path {
    struct interval_step *steps; /* the first is the thread's root; none: it consumed nothing */
    uint32_t count;
};

/* Release `steps` with free. */
struct interval_path interval_path__of(const struct interval *interval,
                                       const struct interval_row *row);

#endif
