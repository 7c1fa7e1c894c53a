/*
 * The trees of a diff. For report_diff.c only.
 */
#ifndef TREADLE_REPORT_DIFF_TREE_H
#define TREADLE_REPORT_DIFF_TREE_H

#include "tools/report/report_diff.h"

/* Fills the diff's nodes and where its threads' trees are, from methods and rows that are matched
 * already. With `normalize` A's values are scaled by the diff's totals for a tree: the sums of
 * base, which for wall are not those of the threads. */
void diff_tree__build(struct report_diff *diff, const struct report_model *const models[DIFF_SIDES],
                      uint32_t *const method_of[DIFF_SIDES], uint32_t *const row_of[DIFF_SIDES],
                      const struct diff_request *request);

/* A's value times B's total over A's; as it is if A's total is 0. */
uint64_t diff_tree__scaled(uint64_t value, const uint64_t total[DIFF_SIDES]);

#endif
