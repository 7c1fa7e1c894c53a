/*
 * Contexts that have no node of their own, and what is known of them: how often one was folded, and
 * how much CPU one can have had.
 */
#ifndef TREADLE_REPORT_FOLDED_H
#define TREADLE_REPORT_FOLDED_H

#include "tools/report/report_model.h"

/* No context of the thread that is not shown can have had more CPU; 0: there is none. */
uint64_t report_folded__most_cpu_ns(const struct report_model *model,
                                    const struct report_thread *thread);

/* Calls of all threads in contexts without nodes of their own. */
uint64_t report_folded__calls(const struct report_model *model);

/* How often a context of any thread was folded. */
uint64_t report_folded__times(const struct report_model *model);

#endif
