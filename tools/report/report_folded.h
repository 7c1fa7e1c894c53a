/*
 * Contexts that have no node of their own: how often contexts were folded, and how much CPU time a
 * context without a node can have had.
 */
#ifndef TREADLE_REPORT_FOLDED_H
#define TREADLE_REPORT_FOLDED_H

#include "tools/report/report_model.h"

/* The most CPU time that a context of the thread without a node can have had; 0: there is none. */
uint64_t report_folded__most_cpu_ns(const struct report_model *model,
                                    const struct report_thread *thread);

/* Calls of all threads in contexts without nodes of their own. */
uint64_t report_folded__calls(const struct report_model *model);

/* How often a context of any thread was folded. */
uint64_t report_folded__times(const struct report_model *model);

#endif
