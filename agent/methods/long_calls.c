#include "agent/methods/long_calls.h"

#define CALLS_OF_MEAN 16u

/* Methods with long calls are such still when their calls take this part of a long call's time. */
#define LONG_STILL 8u

/* A call divides the time of the call that it is made from if that takes so many times as long. */
#define DIVIDES 4u

/* Calls that divide nothing must be so long, and may cost this part of what long calls may. */
#define OTHERS_LONG_NS 100000u
#define OTHERS_PART    4u

/* What long calls may take of the budget, beside what may be spent in any case. */
#define BUDGET_PART 2u

static bool has_long_calls(const struct method_quota *quota)
{
    return __atomic_load_n(&quota->is_long, __ATOMIC_RELAXED);
}

/* What the slow hooks of a step took more than others. */
static void charge_slow(struct hook_quotas *quotas, uint32_t method)
{
    uint64_t slow_ns = __atomic_load_n(&quotas->slow_ns, __ATOMIC_RELAXED);

    if (has_long_calls(&quotas->methods[method]))
        __atomic_fetch_add(&quotas->long_calls_ns, HOOK_QUOTA_STEP * slow_ns, __ATOMIC_RELAXED);
}

void long_calls__took(struct hook_quotas *quotas, uint32_t method, uint64_t caller, uint64_t cpu_ns,
                      bool slow)
{
    struct method_quota *quota = &quotas->methods[method];
    int64_t mean_ns = __atomic_load_n(&quota->call_ns, __ATOMIC_RELAXED);
    int64_t ns = cpu_ns < UINT32_MAX ? (int64_t)cpu_ns : UINT32_MAX;
    uint8_t count = __atomic_load_n(&quota->measured, __ATOMIC_RELAXED);
    int64_t least_ns;

    if (count < CALLS_OF_MEAN)
        __atomic_store_n(&quota->measured, ++count, __ATOMIC_RELAXED);
    mean_ns += (ns - mean_ns) / count;
    __atomic_store_n(&quota->call_ns, mean_ns > 0 ? (uint32_t)mean_ns : 1, __ATOMIC_RELAXED);
    least_ns = has_long_calls(quota) ? LONG_CALL_NS / LONG_STILL : LONG_CALL_NS;
    __atomic_store_n(&quota->is_long, mean_ns >= least_ns, __ATOMIC_RELAXED);
    if (caller != method)
        __atomic_store_n(&quota->caller, caller < HOOK_METHODS_MAX ? (uint32_t)caller : 0,
                         __ATOMIC_RELAXED);
    if (slow)
        charge_slow(quotas, method);
}

/* False where a method that is heard calls this one and does little else: to hear both tells hardly
 * more of where the time went. One whose calls were not measured yet makes few of them. */
static bool divides(const struct hook_quotas *quotas, const struct method_quota *quota)
{
    uint32_t number = __atomic_load_n(&quota->caller, __ATOMIC_RELAXED);
    const struct method_quota *caller = &quotas->methods[number];
    uint32_t callers_ns = number ? __atomic_load_n(&caller->call_ns, __ATOMIC_RELAXED) : 0;

    return !callers_ns || __atomic_load_n(&caller->state, __ATOMIC_RELAXED) != HOOKING_HEARD ||
           callers_ns / DIVIDES >= __atomic_load_n(&quota->call_ns, __ATOMIC_RELAXED);
}

/* Long calls in long calls, each of many methods, may be too many: those that divide the program's
 * time may take half of the budget, others, if they are longer still, a part of that. In first runs
 * on JDK 25, one of each, calls of less than 1 ms in the mean had 95 % of sunflow's Java CPU time
 * so, 91 % of hsqldb's and 75 % of checkstyle's, and no more when long calls might take all of the
 * budget; they had 6, 4 and 31 % when calls of less than 100 us were not long, and all hooks
 * together had the budget of the long calls. */
bool long_calls__may_be_many(const struct hook_quotas *quotas, const struct method_quota *quota,
                             uint64_t budget_ns)
{
    uint64_t used_ns = __atomic_load_n(&quotas->long_calls_ns, __ATOMIC_RELAXED);

    budget_ns = budget_ns / BUDGET_PART + HOOK_ONCE_FREE_NS;
    if (!has_long_calls(quota) || used_ns >= budget_ns)
        return false;
    return divides(quotas, quota) ||
           (__atomic_load_n(&quota->call_ns, __ATOMIC_RELAXED) >= OTHERS_LONG_NS &&
            used_ns < budget_ns / OTHERS_PART);
}

/* What the hooks of a step took: a method's first calls find cold code and new contexts. */
static uint64_t step_ns(const struct hook_quotas *quotas, uint32_t calls)
{
    return calls <= COST_COLD_CALLS
               ? HOOK_QUOTA_STEP * HOOK_PRICE_NS
               : HOOK_QUOTA_STEP * HOOK_HOT_PART * quotas->ledger->header->hook_cost_ps / 1000;
}

void long_calls__count(struct hook_quotas *quotas, uint32_t method, uint32_t calls, bool slow)
{
    if (has_long_calls(&quotas->methods[method]))
        __atomic_fetch_add(&quotas->long_calls_ns, step_ns(quotas, calls), __ATOMIC_RELAXED);
    if (slow && calls > COST_COLD_CALLS)
        charge_slow(quotas, method);
}
