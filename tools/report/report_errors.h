/*
 * How far the times of sampled rows may be off (95 %), in nanoseconds.
 *
 * What a frame has is its part of a measured time, known by n samples: the farther end of Wilson's
 * interval of a part, which even of one sample in one is not 0. Rows that add up several such parts
 * have the root of the sum of their squares. What was measured has no error.
 */
#ifndef TREADLE_REPORT_REPORT_ERRORS_H
#define TREADLE_REPORT_REPORT_ERRORS_H

#include "tools/report/report_model.h"

struct report_errors {
    uint64_t *base; /* by node; or by method */
    uint64_t *cum;
};

/* Whether a column's values can have errors: CPU or wall time, of a model with samples. */
bool report_errors__are_known(const struct report_model *model, enum report_column column);

/* Those of all columns that have any, for formats with all metrics. */
#define REPORT_ERROR_COLUMNS 2u
extern const enum report_column report_error_columns[REPORT_ERROR_COLUMNS];

/* Of the nodes' CPU or wall time; NULL for other columns, and if there are no samples. Release with
 * report_errors__free. */
struct report_errors *report_errors__of_nodes(const struct report_model *model,
                                              enum report_column column);

/* The same of methods, over the threads that are selected: a row as report_flat has it. */
struct report_errors *report_errors__of_methods(const struct report_model *model,
                                                const bool *selected, enum report_column column);

void report_errors__free(struct report_errors *errors);

/* What samples say something of: CPU, or wall where there are wall samples only. */
enum report_column report_errors__column(const struct ledger_header *header);

#endif
