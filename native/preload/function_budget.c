#include "native/preload/function_budget.h"

#include "native/cost/cost_model.h"

#include <time.h>

#define NS_PER_S    UINT64_C(1000000000)
#define CALLS_LEAST 48u  /* before a function is judged */
#define BURST_S     8u   /* a function may make this many seconds' calls at once */
#define RATE_FIRST  200u /* calls a second of a function, before the costs are known */
#define RATE_LEAST  20u
#define RATE_SPARE  2000u /* while little of the budget is used */
#define RATE_MOST   40000u
#define PRICE_NS    50u /* of a call, before it is measured */
#define LOOK_NS     100000000u
#define TRY_NS      (2 * NS_PER_S) /* a silent function is heard again after that, and twice … */
#define TRIES_MOST  6u             /* … so often as long */

void function_budget__init(struct function_budget *budget, struct function_table *functions,
                           struct ledger *ledger, uint32_t overhead_ppm)
{
    *budget = (struct function_budget){
        .functions = functions,
        .ledger = ledger,
        .overhead_ppm = overhead_ppm,
        .rate_max = overhead_ppm ? RATE_FIRST : UINT32_MAX,
        .price_ns = PRICE_NS,
    };
    ledger->header->overhead_ppm = overhead_ppm;
    ledger->header->rate_max = budget->rate_max;
}

static struct ledger_hooking *hooking_of(const struct function_budget *budget,
                                         struct function *function)
{
    struct ledger_hooking *hooking;
    bool is_new = !function->hooking;

    if (is_new)
        function->hooking =
            ledger__take_shared(budget->ledger, LEDGER_HOOKINGS, LEDGER_HOOKING_CELLS);
    if (!function->hooking)
        return NULL;
    hooking = ledger__at(budget->ledger, function->hooking);
    if (is_new)
        hooking->method = function_table__record(budget->functions, function);
    return hooking;
}

/* The thread that changed the state. Readers see a hooking with its old span or its new one. */
static void tell(const struct function_budget *budget, struct function *function,
                 enum ledger_hooking_state state, uint32_t limit)
{
    struct ledger_hooking *hooking = hooking_of(budget, function);

    if (!hooking) {
        ledger__count(&budget->ledger->header->dropped_enters, 1);
        return;
    }
    __atomic_store_n(&hooking->heard_ns, function->heard_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&hooking->since_ns, function->since_ns, __ATOMIC_RELAXED);
    hooking->from_ns = function->from_ns;
    hooking->rate = function->rate;
    hooking->rate_max = limit;
    hooking->heard_calls = __atomic_load_n(&function->calls, __ATOMIC_RELAXED);
    hooking->mutes = function->mutes;
    __atomic_store_n(&hooking->state, (uint32_t)state, __ATOMIC_RELEASE);
}

static bool change(struct function *function, enum function_state from, enum function_state to)
{
    uint32_t expected = from;

    return __atomic_compare_exchange_n(&function->state, &expected, (uint32_t)to, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void silence(struct function_budget *budget, struct function *function, uint64_t now_ns,
                    uint32_t calls, uint32_t limit)
{
    uint64_t since_ns = __atomic_load_n(&function->since_ns, __ATOMIC_RELAXED);
    uint64_t span_ns = now_ns > since_ns ? now_ns - since_ns : 1, rate;

    if (!change(function, FUNCTION_HEARD, FUNCTION_MUTED))
        return;
    rate = calls * NS_PER_S / span_ns;
    function->rate = rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
    function->heard_ns += span_ns;
    __atomic_store_n(&function->since_ns, now_ns, __ATOMIC_RELAXED);
    if (!function->mutes++)
        __atomic_fetch_add(&budget->silenced, 1, __ATOMIC_RELAXED);
    tell(budget, function, HOOKING_MUTED, limit);
    ledger__count(&budget->ledger->header->muted_methods, 1);
}

/* So much of the budget is not used that a function may call more often. */
static bool is_little(const struct function_budget *budget, uint64_t now_ns)
{
    uint64_t looked_ns = __atomic_load_n(&budget->looked_ns, __ATOMIC_RELAXED);
    uint64_t cpu_ns = __atomic_load_n(&budget->cpu_ns, __ATOMIC_RELAXED) +
                      (now_ns > looked_ns ? now_ns - looked_ns : 0);
    uint64_t used_ns = __atomic_load_n(&budget->heard, __ATOMIC_RELAXED) *
                       __atomic_load_n(&budget->price_ns, __ATOMIC_RELAXED);

    return used_ns < cpu_ns / 1000000 * budget->overhead_ppm / 2;
}

void function_budget__step(struct function_budget *budget, struct function *function)
{
    uint32_t calls = __atomic_add_fetch(&function->calls, FUNCTION_STEP, __ATOMIC_RELAXED);
    uint64_t now_ns, since_ns, most;
    uint32_t limit;

    __atomic_fetch_add(&budget->heard, FUNCTION_STEP, __ATOMIC_RELAXED);
    calls -= __atomic_load_n(&function->calls_since, __ATOMIC_RELAXED);
    if (!budget->overhead_ppm || calls < CALLS_LEAST)
        return;
    now_ns = ledger_time__now_ns(budget->functions->time);
    since_ns = __atomic_load_n(&function->since_ns, __ATOMIC_RELAXED);
    limit = __atomic_load_n(&budget->rate_max, __ATOMIC_RELAXED);
    if (limit < RATE_SPARE && is_little(budget, now_ns))
        limit = RATE_SPARE;
    most = limit * (BURST_S + (now_ns > since_ns ? now_ns - since_ns : 0) / NS_PER_S);
    if (calls > most)
        silence(budget, function, now_ns, calls, limit);
}

static void hear(struct function_budget *budget, struct function *function, uint64_t now_ns)
{
    uint32_t tries = function->mutes < TRIES_MOST ? function->mutes : TRIES_MOST;
    uint64_t since_ns = __atomic_load_n(&function->since_ns, __ATOMIC_RELAXED);

    if (function_table__state(budget->functions, function) != FUNCTION_MUTED ||
        now_ns < since_ns + (TRY_NS << tries))
        return;
    __atomic_store_n(&function->calls_since, __atomic_load_n(&function->calls, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&function->since_ns, now_ns, __ATOMIC_RELAXED);
    tell(budget, function, HOOKING_HEARD, function->rate);
    ledger__count(&budget->ledger->header->muted_methods, (uint64_t)-1);
    (void)change(function, FUNCTION_MUTED, FUNCTION_HEARD);
}

static uint32_t bounded(uint64_t rate)
{
    return (uint32_t)(rate < RATE_LEAST ? RATE_LEAST : rate > RATE_MOST ? RATE_MOST : rate);
}

void function_budget__look(struct function_budget *budget)
{
    struct ledger_header *header = budget->ledger->header;
    uint64_t now_ns = ledger_time__now_ns(budget->functions->time);
    uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t own_ns = ledger_own_cost__sum(&header->own_cost);
    uint64_t most_ns = cpu_ns / 1000000 * budget->overhead_ppm, rate = budget->rate_max;
    uint64_t count = __atomic_load_n(&budget->functions->count, __ATOMIC_RELAXED);

    if (!budget->overhead_ppm || now_ns < budget->looked_ns + LOOK_NS)
        return;
    if (header->hook_cost_ps)
        __atomic_store_n(&budget->price_ns, (uint32_t)(header->hook_cost_ps / 1000) + 1,
                         __ATOMIC_RELAXED);
    __atomic_store_n(&budget->cpu_ns, cpu_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&budget->looked_ns, now_ns, __ATOMIC_RELAXED);
    rate = own_ns > most_ns ? rate / 2 : own_ns < most_ns / 2 ? rate * 5 / 4 + 1 : rate;
    __atomic_store_n(&budget->rate_max, bounded(rate), __ATOMIC_RELAXED);
    header->rate_max = budget->rate_max;
    for (uint64_t i = 0; own_ns < most_ns && i < count; i++) {
        struct function *function = function_table__nth(budget->functions, i);

        if (function)
            hear(budget, function, now_ns);
    }
}
