/*
 * Keeps what Treadle costs within overhead=: each second the cost of the hooks' calls is compared
 * with what the budget leaves for them, and the rate that one method may have
 * (agent/methods/hook_quota.h) follows, and the rate from which on the hooks of a muted one are
 * off. Below the budget, muted methods are heard again: those first that are called least, for
 * their silent calls are counted, and no more of them than what their calls will cost leaves room
 * for; each after a pause that doubles every time that the method falls silent.
 *
 * For the housekeeping thread.
 */
#ifndef TREADLE_HOOK_BUDGET_H
#define TREADLE_HOOK_BUDGET_H

#include "agent/budget/hook_renewal.h"
#include "agent/methods/hook_quota.h"
#include "agent/methods/method_numbers.h"
#include "native/host/own_cost.h"

#include <stdint.h>

struct hook_budget {
    /* what the budget is kept with; set before the JVM runs Java */
    struct hook_quotas *quotas;
    const struct method_numbers *methods;
    struct hook_renewal *renewal;
    struct own_cost *own_cost;
    struct ledger *ledger;
    const struct ledger_time *time;
    const struct process_scan *scan;

    uint64_t began_ns;     /* the first look */
    uint64_t began_cpu_ns; /* … and the process's CPU then */
    uint64_t looked_ns;
    uint64_t cpu_ns;     /* of the process, as looked at last; and the rest as well */
    uint64_t used_ns;    /* by all of the profiler but the next two */
    uint64_t once_ns;    /* by changes of classes that put hooks back */
    uint64_t hooks_ns;   /* by these */
    uint64_t slow_hooks; /* … of which so many were slow; and context switches */
    uint64_t switches;
    uint64_t silent_calls;      /* of muted methods */
    uint64_t counts_read_ns;    /* when counted calls were looked at last */
    uint64_t gave_up_ns;        /* when the last favoured method lost that */
    uint64_t silent_ns;         /* when silent calls were looked at last; 0: not yet */
    uint64_t silent_read_ns;    /* … and when those were read that were looked at then */
    uint64_t favoured_ns;       /* when a silent method was favoured last */
    double price_ns;            /* of a call, in the last seconds; 0: not known yet */
    uint64_t compilers_ns;      /* of C1 and C2, as looked at last */
    double recent_heard_ns;     /* what hooks took in a second, the last ones more */
    double recent_cpu_ns;       /* of the process in the last seconds, the older ones for less */
    double recent_compilers_ns; /* and of the compilers */
};

/* Does nothing within a second of the last time, or where there is no budget. */
void hook_budget__look(struct hook_budget *budget);

#endif
