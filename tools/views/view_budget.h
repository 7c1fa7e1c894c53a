/*
 * The profiler's budget and cost, and the resolution of the exact calls: a line each under the head
 * of every view.
 */
#ifndef TREADLE_VIEW_BUDGET_H
#define TREADLE_VIEW_BUDGET_H

#include "tools/report/report_model.h"
#include "tools/views/hook_summary.h"

#include <jansson.h>

/* "2 % asked, 1.4 % used (hooks 1 s, …); 312 of 5 231 methods not recorded, 12 left out by the
 * plan". Empty where neither a budget nor a cost is known. */
void view_budget__text(const struct report_model *model, char text[HOOKS_TEXT_BYTES]);

/* "Java CPU in exact calls below 10 µs 20 %, 100 µs 55 %, …"; empty where no call was recorded. */
void view_budget__resolution_text(const struct report_model *model, char text[HOOKS_TEXT_BYTES]);

/* {"asked_ppm","used_ppm","hooks_ns",…,"methods","silent_methods","counted_methods","muted_methods",
 * "heard_again_methods","planned_methods","postponed_methods"}: silent methods are muted, counted
 * or off; of the counted ones all calls are known, some of which are muted, too. */
json_t *view_budget__json(const struct report_model *model);

/* [{"below_ns","cpu_ppm"}]: the part of Java threads' CPU time inside exact calls whose mean is
 * below below_ns; the last entry, with null, is for exact calls of any length. */
json_t *view_budget__resolution_json(const struct report_model *model);

/* What a live ledger says of the last few seconds: "0.8 % used in the last 3.0 s; a method may be
 * called 1 500 times a second just now"; empty where neither is known. */
void view_budget__recent_text(const struct ledger_header *header, char text[HOOKS_TEXT_BYTES]);

/* Adds two members to the object of view_budget__json: "recent", which is
 * {"wall_ns","cpu_ns","own_ns","used_ppm"} or null, and "allowed_a_second" (null: any number). */
void view_budget__add_recent(json_t *budget, const struct ledger_header *header);

/* "budget", "resolution" and "positions_corrected". */
void view_budget__add_to(json_t *object, const struct report_model *model);

#endif
