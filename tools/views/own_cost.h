/* What the profiler itself costs, as text and as JSON. */
#ifndef TREADLE_TOOLS_OWN_COST_H
#define TREADLE_TOOLS_OWN_COST_H

#include "tools/report/report_balance.h"
#include "tools/views/hook_summary.h"

#include <jansson.h>

/* "hooks about 21.3 s (1.2 M calls, 25.1 ns each), samples 30 ms, …": the parts that there are. */
void own_cost__text(const struct report_own_cost *cost, char text[HOOKS_TEXT_BYTES]);

/* "hooks about 21.3 s, samples 30 ms, its threads 0, …": all of them. */
void own_cost__parts(const struct ledger_own_cost *cost, char text[HOOKS_TEXT_BYTES]);

/* hooks_ns, samples_ns, threads_ns, classes_ns, jvm_ns, waits_ns, and used_ppm of the process's CPU
 * time. */
json_t *own_cost__json(const struct ledger_own_cost *cost, uint64_t process_cpu_ns);

#endif
