/*
 * The trees of a diff. For report_diff.c only.
 */
#ifndef TREADLE_REPORT_DIFF_TREE_H
#define TREADLE_REPORT_DIFF_TREE_H

#include "tools/report/report_diff.h"

/* Fills in the diff's nodes, and its threads' first and end nodes, from methods and rows that are
 * matched already. With `normalize` A's values are scaled by the totals of the trees, which are the
 * sums of base; for wall these are not the totals of the threads. */
void diff_tree__build(struct report_diff *diff, const struct report_model *const models[DIFF_SIDES],
                      uint32_t *const method_of[DIFF_SIDES], uint32_t *const row_of[DIFF_SIDES],
                      const struct diff_request *request);

/* Returns A's value times B's total divided by A's total; the value itself if A's total is 0. */
uint64_t diff_tree__scaled(uint64_t value, const uint64_t total[DIFF_SIDES]);

#endif
