/*
 * Pools: threads whose names differ only in digits, made into one thread with one tree.
 */
#ifndef TREADLE_REPORT_FOLD_H
#define TREADLE_REPORT_FOLD_H

#include "tools/report/report_model.h"

/* Each pool becomes one thread of the model: its values are sums, its trees are merged by path, its
 * name has # for digits, and `members` says how many threads it is. A pool has
 * either selected threads or others; afterwards `selected` is by new thread. No thread has a parent
 * any more. */
void report_fold__pools(struct report_model *model, bool *selected);

#endif
