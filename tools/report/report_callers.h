/*
 * The callers view: one stanza a method, its parents above and its children below.
 *
 * For every method, in whole numbers and with recursion:
 *   (1) the parents' calls add up to its own calls,
 *   (2) the parents' base to its base,
 *   (3) the parents' cum to its cum (which counts outermost instances only),
 *   (4) the children's cum to its cum less its base.
 * For (4) a child's cum leaves out what belongs to deeper instances of the method itself, which the
 * method's cum contains already.
 *
 * A row's error is made of the errors of the nodes that the row adds up (report_errors.h); what is
 * left out of a child's cum for deeper instances has an error of its own.
 */
#ifndef TREADLE_REPORT_CALLERS_H
#define TREADLE_REPORT_CALLERS_H

#include "tools/report/report_errors.h"

/* One method calling another one. Values of the columns that are loaded, by index. */
struct caller_edge {
    uint32_t caller; /* methods; METHOD_OF_THREAD for what a thread's root calls */
    uint32_t callee;
    const uint64_t *base;       /* the callee's, when called by this caller */
    const uint64_t *parent_cum; /* in the callee's stanza */
    const uint64_t *child_cum;  /* in the caller's stanza */
    uint64_t base_error;        /* how far base may be off, in the errors' metric */
    uint64_t parent_error;      /* the same of parent_cum */
    uint64_t child_error;       /* the same of child_cum */
};

struct report_callers {
    enum report_column columns[COLUMN_COUNT]; /* what the values' indices stand for */
    size_t column_count;
    uint32_t edge_count;
    struct caller_edge *by_callee; /* sorted by callee, then caller */
    struct caller_edge *by_caller; /* sorted by caller, then callee */
    uint32_t *first_parent;        /* by method, and one more: its parents in by_callee */
    uint32_t *first_child;         /* ditto, its children in by_caller */
    uint64_t *values;
};

/* Over the threads that are selected. `errors`: of the nodes, or NULL: all are 0. */
struct report_callers *report_callers__new(const struct report_model *model, const bool *selected,
                                           const struct report_errors *errors);
void report_callers__free(struct report_callers *callers);

/* The index of a column in the edges' values; it must be loaded. */
size_t report_callers__index(const struct report_callers *callers, enum report_column column);

#endif
