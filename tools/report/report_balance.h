/*
 * The balance: what the kernel says the process used, against what was charged to threads.
 */
#ifndef TREADLE_REPORT_BALANCE_H
#define TREADLE_REPORT_BALANCE_H

#include "tools/report/report_model.h"

struct report_balance {
    uint64_t kernel_ns;
    uint64_t charged_ns; /* the sum of the next four */
    uint64_t java_ns;    /* platform threads, virtual threads, carriers */
    uint64_t vm_ns;
    uint64_t native_ns;
    uint64_t last_moments_ns; /* of threads that ended, after anybody could last look at them */
    int64_t difference_ns;    /* kernel - charged */
    int64_t difference_ppm;   /* of the kernel's; 0 if that is not known */
};

/* Over all threads, whatever was selected. */
struct report_balance report_balance__of(const struct report_model *model);

/* How long the process has lived, and its begin in ns since the epoch. */
uint64_t report_process__wall_ns(const struct report_model *model);
uint64_t report_process__start_ns(const struct report_model *model);

/* "rseq", "perf", "plain", or "unknown". */
const char *report_clock__name(uint32_t clock_kind);

/* The metrics (bits of enum ledger_metric) of a source that was refused; 0 if it was not. */
uint64_t report_source__missing(const struct report_model *model, enum ledger_metric_source source);

#endif
