#include "agent/hook_budget.h"

#include "agent/agent.h"
#include "agent/hook_class.h"
#include "native/cost_model.h"

#define LOOK_NS         1000000000u
#define LEAST_CPU_NS    20000000u /* of a second in which less was consumed nothing is said */
#define RATE_LEAST      20u
#define NAMED_RATE_MOST (1u << 24)
#define TRIES_AT_ONCE   32u
#define PAUSE_NS        4000000000ull /* before the first try; doubles up to 64 times */
#define PAUSES_MAX      6u

static uint64_t heard_calls(const struct hook_quotas *quotas, uint32_t methods)
{
    uint64_t calls = 0;

    for (uint32_t i = 1; i <= methods && i < HOOK_METHODS_MAX; i++)
        calls += __atomic_load_n(&quotas->methods[i].calls, __ATOMIC_RELAXED);
    return calls;
}

/* In place a call costs many times what it does in a loop: cold caches, new nodes, code that is
 * interpreted still. So the price is what the account says of all calls so far. */
static uint64_t cost_of_calls(struct agent *agent, uint64_t calls)
{
    uint64_t counted = agent->own_cost.facts.survey.calls;
    uint64_t all_ns = agent->ledger.header->own_cost.hooks_ns;

    if (!counted)
        return calls * agent->ledger.header->hook_cost_ps / 1000;
    __atomic_store_n(&agent->quotas.price_ns, (uint32_t)(all_ns / counted), __ATOMIC_RELAXED);
    return (uint64_t)((double)all_ns / (double)counted * (double)calls);
}

/* Of the room that the budget leaves, so much is taken: more than 1 is too much. */
static void set_rates(struct agent *agent, double taken)
{
    struct hook_quotas *quotas = &agent->quotas;
    uint32_t rate = quotas->rate_max, named = quotas->named_rate_max;

    if (taken > 1 && rate > RATE_LEAST) {
        rate = (uint32_t)(rate * (taken > 4 ? 0.25 : 1 / taken));
        rate = rate < RATE_LEAST ? RATE_LEAST : rate;
    } else if (taken > 1) {
        named = named > NAMED_RATE_MOST ? NAMED_RATE_MOST : named / 2;
        named = named < RATE_LEAST ? RATE_LEAST : named;
    } else if (taken < 0.5 && named < NAMED_RATE_MOST) {
        named *= 2;
    } else if (taken < 0.5 && rate < HOOK_RATE_MOST) {
        rate += rate / 4 + 1;
        rate = rate > HOOK_RATE_MOST ? HOOK_RATE_MOST : rate;
    }
    if (named >= NAMED_RATE_MOST && taken <= 1)
        named = UINT32_MAX;
    __atomic_store_n(&quotas->rate_max, rate, __ATOMIC_RELAXED);
    __atomic_store_n(&quotas->named_rate_max, named, __ATOMIC_RELAXED);
    agent->ledger.header->rate_max = rate;
}

static bool is_due(const struct method_quota *quota, uint64_t now_ns)
{
    uint32_t pauses = quota->mutes < PAUSES_MAX ? quota->mutes : PAUSES_MAX;

    return __atomic_load_n(&quota->state, __ATOMIC_ACQUIRE) == HOOKING_MUTED &&
           now_ns - quota->since_ns > PAUSE_NS << pauses >> 1;
}

static void try_again(struct agent *agent, uint32_t methods, uint64_t now_ns)
{
    struct hook_budget *budget = &agent->budget;
    struct hook_quotas *quotas = &agent->quotas;
    uint32_t left = TRIES_AT_ONCE;

    for (uint32_t i = 0; i < methods && left > 0; i++) {
        budget->next = budget->next < methods ? budget->next + 1 : 1;
        if (!is_due(&quotas->methods[budget->next], now_ns))
            continue;
        if (!hook_quotas__try_again(quotas, budget->next))
            return;
        left--;
    }
}

static uint64_t step(uint64_t *before, uint64_t now)
{
    uint64_t more = now > *before ? now - *before : 0;

    *before = now;
    return more;
}

void hook_budget__look(struct agent *agent)
{
    struct hook_budget *budget = &agent->budget;
    const struct ledger_header *header = agent->ledger.header;
    const struct ledger_own_cost *cost = &header->own_cost;
    uint64_t now_ns = ledger_time__now_ns(&agent->setup.time);
    uint32_t methods = __atomic_load_n(&agent->class_hooks.methods.count, __ATOMIC_ACQUIRE);
    uint64_t cpu_ns, room_ns, others_ns, hooks_ns;

    if (!agent->quotas.methods || now_ns - budget->looked_ns < LOOK_NS)
        return;
    budget->looked_ns = now_ns;
    methods = methods < HOOK_METHODS_MAX ? methods : HOOK_METHODS_MAX - 1;
    cpu_ns = step(&budget->cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    others_ns = step(&budget->used_ns, ledger_own_cost__sum(cost) - cost->hooks_ns);
    hooks_ns = cost_of_calls(agent, step(&budget->calls, heard_calls(&agent->quotas, methods)));
    if (cpu_ns < LEAST_CPU_NS)
        return;
    room_ns = cpu_ns * agent->options.overhead_ppm / 1000000;
    /* Whatever the rest costs, some exactness is kept. */
    room_ns = others_ns < room_ns - room_ns / 4 ? room_ns - others_ns : room_ns / 4;
    set_rates(agent, (double)hooks_ns / (double)(room_ns ? room_ns : 1));
    if (hooks_ns < room_ns - room_ns / 4)
        try_again(agent, methods, now_ns);
}
