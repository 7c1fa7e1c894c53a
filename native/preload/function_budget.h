/*
 * Which functions' calls are recorded within overhead=. The cost of hooks is proportional to the
 * calls, and a few functions make nearly all of them. A function may make so many calls a second,
 * and some seconds' calls at once; while the whole costs little, it may make more. A function that
 * calls too often falls silent, and is heard again after a while, a longer one each time.
 *
 * The times at which a function was heard stand in the ledger if it was not heard always (struct
 * ledger_hooking). __step is for hooks: it neither locks nor allocates, but in the ledger.
 */
#ifndef TREADLE_FUNCTION_BUDGET_H
#define TREADLE_FUNCTION_BUDGET_H

#include "native/preload/function_table.h"

#define FUNCTION_STEP 16u /* calls of one function by one thread; a power of two, at most 128 */

struct function_budget {
    struct function_table *functions;
    struct ledger *ledger;
    uint32_t overhead_ppm; /* 0: every call is recorded */
    uint32_t rate_max;     /* atomic: calls a second */
    uint32_t price_ns;     /* atomic: of a call */
    uint64_t heard;        /* atomic: calls of all functions, in steps */
    uint64_t cpu_ns;       /* atomic: the process's CPU time as last read */
    uint64_t looked_ns;    /* atomic: when that was */
    uint64_t silenced;     /* atomic: functions that fell silent at some time */
};

void function_budget__init(struct function_budget *budget, struct function_table *functions,
                           struct ledger *ledger, uint32_t overhead_ppm);

/* The calling thread has recorded FUNCTION_STEP more calls of the function. */
void function_budget__step(struct function_budget *budget, struct function *function);

/* For the housekeeping thread, when header->own_cost is up to date: sets how often functions may be
 * called, and has silent ones heard again. */
void function_budget__look(struct function_budget *budget);

#endif
