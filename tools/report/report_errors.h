/*
 * How far the times of sampled rows may be off (95 %), in nanoseconds.
 *
 * A sampled frame has a part of a measured time, and n samples tell how large that part is. Its
 * error is the distance to the farther end of Wilson's interval, which is not 0 even for one sample
 * of one. Rows that add up several such parts have the root of the sum of the squares. Measured
 * times have no error.
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

/* The columns that can have errors, for formats with all metrics. */
#define REPORT_ERROR_COLUMNS 2u
extern const enum report_column report_error_columns[REPORT_ERROR_COLUMNS];

/* Returns the errors of the nodes' CPU or wall time; NULL for other columns, and if there are no
 * samples. Release with report_errors__free. */
struct report_errors *report_errors__of_nodes(const struct report_model *model,
                                              enum report_column column);

/* The same of methods, over the threads that are selected: a row as report_flat has it. */
struct report_errors *report_errors__of_methods(const struct report_model *model,
                                                const bool *selected, enum report_column column);

void report_errors__free(struct report_errors *errors);

/* Returns the error of a sum, from the sum of the squares of its parts' errors. UINT64_MAX stands
 * for what is larger: a damaged ledger may have such times. */
uint64_t report_errors__of_squares(double sum_of_squares);

/* The column whose times are divided by samples: CPU, or wall if there are only wall samples. */
enum report_column report_errors__column(const struct ledger_header *header);

#endif
