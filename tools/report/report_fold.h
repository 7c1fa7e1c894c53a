/*
 * Pools: threads whose names differ in digits only, as one thread with one tree.
 */
#ifndef TREADLE_REPORT_FOLD_H
#define TREADLE_REPORT_FOLD_H

#include "tools/report/report_model.h"

/* Each pool becomes one thread of the model: its values are sums, its trees are merged by path, its
 * name has # for digits, and `members` says how many threads it is. Threads that are selected and
 * others do not come together; `selected` is of the new threads then. No thread knows its parent
 * any more. */
void report_fold__pools(struct report_model *model, bool *selected);

#endif
