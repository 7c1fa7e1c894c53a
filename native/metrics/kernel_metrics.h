/*
 * Kernel metrics: what can be accumulated per kernel thread, where it is read, and what it needs.
 *
 * A reading is the kernel's running total for one kernel thread since that thread began. The
 * difference of two readings is a delta. The callers keep the readings (struct
 * ledger_kernel_thread) and charge the deltas. A reading may be smaller than the one before for a
 * moment, because the kernel scales user and system time and because a signal handler may read in
 * between. A negative delta is left out; the next delta makes up for it.
 */
#ifndef TREADLE_KERNEL_METRICS_H
#define TREADLE_KERNEL_METRICS_H

#include "native/ledger/ledger_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric_unit {
    UNIT_NS,
    UNIT_COUNT,
    UNIT_BYTES,
};

/* One row of the table of metrics. All strings are constants. */
struct kernel_metric {
    enum ledger_metric id;
    const char *name;  /* what users and JSON see: "minor_faults" */
    const char *group; /* what metrics= calls it: "faults" */
    const char *title; /* column head: "min flt" */
    enum metric_unit unit;
    enum ledger_metric_source source;
    const char *meaning; /* one clause, for --help and the manual */
};

/* One row of the table of sources. */
struct kernel_metric_source {
    enum ledger_metric_source id;
    const char *name;            /* "getrusage(RUSAGE_THREAD)" */
    uint64_t bits;               /* the metrics that come from it */
    unsigned cost_ns;            /* of one read on the measured machine, see DESIGN */
    bool changes_only_on_switch; /* no need to read it while the thread was not switched out */
    const char *needs;           /* what would enable it where it is missing */
};

/* The rows, indexed by id. */
const struct kernel_metric *kernel_metric__get(enum ledger_metric id);
const struct kernel_metric_source *kernel_metric_source__get(enum ledger_metric_source id);

/* Returns the bits (1 << enum ledger_metric) of a group or of one metric ("faults", "minor_faults",
 * "all"); *known says whether the name exists. "wall" exists and has no bits: the clock always
 * charges CPU and wall time. "cpu" stands for the division of CPU time into user and system.
 * Metrics that the JVM reports are always charged and have no name here. */
uint64_t kernel_metrics__bits(const char *name, size_t length, bool *known);

/* The metrics of the sources that change only on a switch. Async-signal-safe. */
uint64_t kernel_metrics__of_switches(void);

/* The metrics that task_status__read can read of another thread. Async-signal-safe. */
uint64_t kernel_metrics__of_others(void);

/* A comma-separated list of the groups that metrics= accepts, for messages; a constant. */
const char *kernel_metrics__groups(void);

/*
 * Finds out which metrics this machine and these privileges give for threads of this process.
 * SOURCE_JVM and SOURCE_WAITS are not covered: their metrics do not depend on the machine. Fills
 * error[SOURCE_COUNT] with 0 or with the errno that says why a source does not work. Returns the
 * bits of the metrics that work. A metric that the kernel has but does not account counts as
 * missing, with ENODATA: taskstats with kernel.task_delayacct=0, schedstat without scheduler
 * information. Opens and closes what it needs, from the descriptors that metric_reader__open may
 * use; not for hooks.
 */
uint64_t kernel_metrics__probe(int32_t error[SOURCE_COUNT]);

#endif
