/*
 * Which rows of an interval are shown, and in which order.
 */
#ifndef TREADLE_REPORT_INTERVAL_ORDER_H
#define TREADLE_REPORT_INTERVAL_ORDER_H

#include "tools/report/interval.h"

struct interval_sort {
    const char *name;
    uint64_t needs;                                    /* COLUMN_BITs of threads */
    uint64_t (*value)(const struct interval_row *row); /* NULL: by name, or by start */
    bool by_start;
};

/* The first is the default. */
extern const struct interval_sort interval_sorts[];
extern const size_t interval_sort_count;

/* Sums of columns that are shown as one. */
uint64_t interval_row__switches(const struct interval_row *row);
uint64_t interval_row__faults(const struct interval_row *row);

/* The indices of the rows whose thread's name matches `glob` (NULL: all), largest first; names
 * alphabetically, starts oldest first. Equal ones keep their order. Release with free. */
uint32_t *interval_order__of(const struct interval *interval, const char *glob,
                             const struct interval_sort *sort, uint32_t *count);

#endif
