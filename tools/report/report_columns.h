/*
 * What Base and Cum can show: CPU, wall, calls, samples, and every kernel metric behind them.
 */
#ifndef TREADLE_REPORT_COLUMNS_H
#define TREADLE_REPORT_COLUMNS_H

#include "native/ledger/ledger_format.h"
#include "native/metrics/kernel_metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum report_column {
    COLUMN_CPU,
    COLUMN_WALL,
    COLUMN_CALLS,
    COLUMN_SAMPLES,      /* of either kind */
    COLUMN_CPU_SAMPLES,  /* of ledgers that have both kinds, as are … */
    COLUMN_WALL_SAMPLES, /* … these */
    COLUMN_KERNEL,       /* + enum ledger_metric */
    COLUMN_COUNT = COLUMN_KERNEL + METRIC_COUNT,
};

#define COLUMN_BIT(column) (UINT64_C(1) << (column))

static inline enum report_column report_column__of_metric(enum ledger_metric metric)
{
    return (enum report_column)((unsigned)COLUMN_KERNEL + (unsigned)metric);
}

/* The name in --metric and --sort ("cpu", "minor_faults"), the key in JSON ("cpu_ns",
 * "minor_faults"), the head of a CSV column (with its unit: "cpu_ns", "run_queue_delay_ns"), and
 * the head of a table's column. Constants. */
const char *report_column__name(enum report_column column);
const char *report_column__key(enum report_column column);
const char *report_column__csv_name(enum report_column column);
const char *report_column__title(enum report_column column);
enum metric_unit report_column__unit(enum report_column column);

/* The column of that name, or COLUMN_COUNT. */
enum report_column report_column__by_name(const char *name);

/* Where a column's values come from. */
enum ledger_metric_source report_column__source(enum report_column column);

/* Whether samples were asked for: the column then exists, even if all its values are 0. */
bool report_columns__has_samples(const struct ledger_header *header);

/* Whether samples of CPU time and of wall time were both started at some time. */
bool report_columns__has_both_samples(const struct ledger_header *header);

/* The column of the samples that a column's values are divided by: of its own kind, in a ledger
 * that has both kinds. */
enum report_column report_columns__samples_of(const struct ledger_header *header,
                                              enum report_column column);

/* The columns that a ledger has for nodes, and for threads, as COLUMN_BITs. */
uint64_t report_columns__of_nodes(const struct ledger_header *header);
uint64_t report_columns__of_threads(const struct ledger_header *header);

#endif
