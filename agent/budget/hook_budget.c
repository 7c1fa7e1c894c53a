#include "agent/budget/hook_budget.h"

#include "agent/methods/hook_class.h"
#include "agent/methods/hook_counts.h"
#include "native/cost/cost_model.h"

#define LOOK_NS         1000000000u
#define LEAST_CPU_NS    20000000u /* of a second in which less was consumed nothing is said */
#define RECENT_PART     0.75      /* of what was a second ago */
#define SETTLED_PART    0.15 /* of the process's CPU: compilers that take less have little to do */
#define HEARD_PART      0.75 /* of what hooks took is what they took before: a second may be odd */
#define SLOW_MOST_NS    1e6  /* a slow hook that takes longer was measured wrong */
#define GIVE_UP_NS      6000000000u /* between one method that is given up and the next */
#define PRICED_CALLS    1000u       /* in a second: fewer say nothing of what a call costs */
#define PART_OF_ONE     0.05        /* of the room: what one method may take, … */
#define PART_FAVOURED   1.0         /* … and one that is favoured: alone it may say the most */
#define PART_COUNTED    0.4         /* … and all counted methods together */
#define COLD_RATE       200u        /* calls a second, at most, that cost HOOK_PRICE_NS more */
#define RATE_LEAST      200u
#define STARTING_NS     15000000000ull /* compilers that are busy for longer, … */
#define STARTING_CPU_NS 30000000000ull /* … and for more of the process's CPU, are so always */
#define NAMED_RATE_MOST (1u << 24)
#define PAUSE_NS        2000000000ull /* before the first try; doubles up to 64 times */
#define PAUSES_MAX      6u
#define FAVOURED_NS     7000000000ull /* longer than from one weighing of methods to the next */

/* Methods that are tried again need room for so many calls a second each, if they seem to have
 * fewer: their contexts are new, and they were silent when the program did something else. */
#define TRY_CALLS 10u

/* What was heard so far, and since the last look. */
struct heard {
    struct call_survey all;
    uint64_t calls;
    uint64_t favoured_calls;    /* of methods that may make more than others */
    struct method_quota *least; /* of these, the one with the least weight; NULL: none */
};

static void count_heard(struct hook_quotas *quotas, uint32_t methods, struct heard *heard)
{
    for (uint32_t i = 1; i <= methods && i < HOOK_METHODS_MAX; i++) {
        struct method_quota *quota = &quotas->methods[i];
        uint32_t calls = __atomic_load_n(&quota->calls, __ATOMIC_RELAXED);
        uint32_t more = calls - quota->calls_seen;

        quota->calls_seen = calls;
        heard->all.calls += calls;
        heard->all.cold_calls += calls < COST_COLD_CALLS ? calls : COST_COLD_CALLS;
        heard->calls += more;
        if (!more || !__atomic_load_n(&quota->is_favoured, __ATOMIC_RELAXED))
            continue;
        heard->favoured_calls += more;
        if (!heard->least || quota->weight < heard->least->weight)
            heard->least = quota;
    }
}

static uint64_t step(uint64_t *before, uint64_t now)
{
    uint64_t more = now > *before ? now - *before : 0;

    *before = now;
    return more;
}

static bool is_settled(const struct hook_budget *budget)
{
    return __atomic_load_n(&budget->quotas->is_settled, __ATOMIC_RELAXED);
}

/* What the first hooks after switches took since the last look and would have taken with fewer
 * calls, too: they read the kernel's clocks. So many of the slow hooks as there were switches are
 * taken for these, but not while code and contexts are new, which makes hooks slow, too. Where
 * hardly more calls than switches were heard, most of the slow hooks are the calls' doing: without
 * the call that came first there would have been none before the next switch. */
static double at_switches_ns(struct hook_budget *budget, const struct heard *heard)
{
    uint64_t switches = step(&budget->switches, budget->own_cost->switches);
    uint64_t slow = step(&budget->slow_hooks, budget->own_cost->slow_hooks);
    double slow_ns = (double)budget->own_cost->slow_hook_ns, first;

    __atomic_store_n(&budget->quotas->slow_ns,
                     slow_ns > 0 && slow_ns < SLOW_MOST_NS ? (uint32_t)slow_ns : HOOK_PRICE_NS,
                     __ATOMIC_RELAXED);
    first = (double)(switches < slow ? switches : slow);
    if (!is_settled(budget) || (double)heard->calls <= first)
        return 0;
    return first * slow_ns * (1 - first / (double)heard->calls);
}

/* What the calls of hooks took since the last look, and would not have taken if there had been
 * fewer of them. */
static double calls_ns(struct hook_budget *budget, const struct heard *heard, double switches_ns)
{
    struct cost_facts facts = {.call_ps = budget->ledger->header->hook_cost_ps,
                               .slow_ns = budget->own_cost->facts.slow_ns,
                               .silent_calls = budget->silent_calls};
    double ns;

    facts.survey = heard->all;
    ns = (double)step(&budget->hooks_ns, cost_model__hooks_ns(&facts));
    ns = ns > switches_ns ? ns - switches_ns : 0;
    if (heard->calls >= PRICED_CALLS) {
        double price_ns = ns / (double)heard->calls;

        budget->price_ns = budget->price_ns > 0 ? (budget->price_ns + price_ns) / 2 : price_ns;
        __atomic_store_n(&budget->quotas->price_ns, (uint32_t)budget->price_ns, __ATOMIC_RELAXED);
    }
    return ns;
}

/* What a method's calls in a second will take: some of them find cold caches and new contexts. */
static double expected_ns(const struct hook_budget *budget, uint32_t rate)
{
    double hot_ns = (double)budget->ledger->header->hook_cost_ps / 1000 * HOOK_HOT_PART;

    hot_ns = is_settled(budget) && budget->price_ns > hot_ns ? budget->price_ns : hot_ns;
    return rate * hot_ns + (rate < COLD_RATE ? rate : COLD_RATE) * (double)HOOK_PRICE_NS;
}

/* The compilers' CPU is read every now and then, not every second. What they do after a change of
 * classes does not make the program's code new. */
static uint64_t look_at_compilers(struct hook_budget *budget, uint64_t now_ns, uint64_t cpu_ns)
{
    uint64_t compilers_ns = step(&budget->compilers_ns, budget->scan->compilers_cpu_ns);

    budget->recent_cpu_ns = budget->recent_cpu_ns * RECENT_PART + (double)cpu_ns;
    budget->recent_compilers_ns = budget->recent_compilers_ns * RECENT_PART + (double)compilers_ns;
    if (hook_renewal__goes_on(budget->renewal, now_ns)) {
        budget->recent_cpu_ns = budget->recent_compilers_ns = 0;
        return compilers_ns;
    }
    __atomic_store_n(&budget->quotas->is_settled,
                     budget->recent_compilers_ns < budget->recent_cpu_ns * SETTLED_PART,
                     __ATOMIC_RELAXED);
    return compilers_ns;
}

/* So many calls in warm code take that part of the room. */
static double rate_of_part(const struct hook_budget *budget, double room_ns, double part)
{
    return room_ns * part /
           (expected_ns(budget, 1000 + COLD_RATE) - expected_ns(budget, COLD_RATE)) * 1000;
}

/* One method is to take a small part of the room only. */
static uint32_t most_of_one(const struct hook_budget *budget, double room_ns)
{
    double rate = rate_of_part(budget, room_ns, PART_OF_ONE);

    return rate < HOOK_RATE_SPARE  ? HOOK_RATE_SPARE
           : rate > HOOK_RATE_MOST ? HOOK_RATE_MOST
                                   : (uint32_t)rate;
}

/* Too much is taken, and most of it by favoured methods: the one with the least weight is like the
 * others from now on. False: it is not so. */
static bool give_up_one(struct hook_budget *budget, const struct heard *heard)
{
    if (!heard->least || heard->favoured_calls < heard->calls / 2)
        return false;
    /* The calls of the one before are among these still. */
    if (budget->looked_ns - budget->gave_up_ns > GIVE_UP_NS) {
        hook_quotas__favour(heard->least, false);
        budget->gave_up_ns = budget->looked_ns;
    }
    return true;
}

/* While a program starts its code is new, and a method that keeps its hooks costs the most: with
 * 200 calls a second allowed a run of ecj took 1.18 times the CPU, with 60 1.13, with 20 1.08
 * (whole runs on JDK 25, pairs side by side). */
static uint32_t least_rate(const struct hook_budget *budget)
{
    if (is_settled(budget) || (budget->looked_ns - budget->began_ns > STARTING_NS &&
                               budget->cpu_ns - budget->began_cpu_ns > STARTING_CPU_NS))
        return RATE_LEAST;
    return HOOK_RATE_FIRST;
}

/* Of the room that the budget leaves, so much is taken: more than 1 is too much. */
static void set_rates(struct hook_budget *budget, double taken, double room_ns)
{
    struct hook_quotas *quotas = budget->quotas;
    uint32_t rate = quotas->rate_max, named = quotas->named_rate_max;
    uint32_t most = most_of_one(budget, room_ns), least = least_rate(budget);
    double favoured;

    if (taken > 1 && rate > least) {
        rate = (uint32_t)(rate * (taken > 4 ? 0.25 : 1 / taken));
        rate = rate < least ? least : rate;
    } else if (taken > (least == RATE_LEAST ? 1 : 4)) {
        named = named > NAMED_RATE_MOST ? NAMED_RATE_MOST : named / 2;
        named = named < RATE_LEAST ? RATE_LEAST : named;
    } else if (taken < 0.5 && named < NAMED_RATE_MOST) {
        named *= 2;
    } else if (taken < 0.5 && rate < most) {
        rate += rate / 2 + 1;
        rate = rate > most ? most : rate;
    }
    favoured = rate_of_part(budget, room_ns, PART_FAVOURED);
    favoured = favoured < HOOK_RATE_MOST    ? HOOK_RATE_MOST
               : favoured > NAMED_RATE_MOST ? NAMED_RATE_MOST
                                            : favoured;
    __atomic_store_n(&quotas->favoured_rate, (uint32_t)favoured, __ATOMIC_RELAXED);
    if (named >= NAMED_RATE_MOST && taken <= 1)
        named = UINT32_MAX;
    __atomic_store_n(&quotas->hot_rate, taken < 0.5 ? HOOK_RATE_MOST : HOOK_RATE_HOT,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&quotas->rate_max, rate, __ATOMIC_RELAXED);
    __atomic_store_n(&quotas->named_rate_max, named, __ATOMIC_RELAXED);
    budget->ledger->header->rate_max = rate;
}

static bool is_due(const struct method_quota *quota, uint64_t now_ns)
{
    uint32_t pauses = quota->mutes < PAUSES_MAX ? quota->mutes : PAUSES_MAX;

    return __atomic_load_n(&quota->state, __ATOMIC_ACQUIRE) == HOOKING_MUTED &&
           now_ns - quota->since_ns > PAUSE_NS << pauses >> 1;
}

/* What muted methods would have made, since the last look; half of a rate is what it was before,
 * but for the burst that silenced the method. */
static void learn_rates(struct hook_budget *budget, uint32_t methods, uint64_t now_ns)
{
    uint64_t silent_calls = 0;
    const struct ledger_header *header = budget->ledger->header;
    struct hook_quotas *quotas = budget->quotas;
    uint64_t ns = now_ns - budget->silent_ns;
    bool counts;

    for (uint32_t i = 1; i <= methods; i++) {
        struct method_quota *quota = &quotas->methods[i];
        uint32_t more, rate;

        if (__atomic_load_n(&quota->state, __ATOMIC_ACQUIRE) != HOOKING_MUTED ||
            !hook_quotas__learn_silent(quotas, i, &more))
            continue;
        silent_calls += more;
        rate = (uint32_t)((uint64_t)more * LOOK_NS / (ns ? ns : 1));
        quota->rate = quota->is_fresh ? rate : quota->rate / 2 + rate / 2;
        quota->is_fresh = false;
    }
    /* What came while profiling was stopped is in no account: they came since the read before. */
    counts = header->profiling && header->since_ns <= budget->silent_read_ns;
    budget->silent_read_ns = __atomic_load_n(&quotas->left_ns, __ATOMIC_RELAXED);
    if (!counts)
        return;
    budget->silent_calls += silent_calls;
    budget->own_cost->facts.silent_calls = budget->silent_calls;
}

/* The lowest class of rates whose methods are too many to be heard in that room. */
static unsigned first_class_beyond(const struct hook_budget *budget, uint32_t methods,
                                   uint64_t now_ns, double room_ns)
{
    double ns[HOOK_RATE_CLASSES] = {0};
    unsigned class;

    for (uint32_t i = 1; i <= methods; i++) {
        const struct method_quota *quota = &budget->quotas->methods[i];

        if (is_due(quota, now_ns))
            ns[hook_quotas__rate_class(quota->rate)] +=
                expected_ns(budget, quota->rate + TRY_CALLS);
    }
    for (class = 0; class < HOOK_RATE_CLASSES && ns[class] <= room_ns; class ++)
        room_ns -= ns[class];
    return class;
}

/* Of the methods that many coarse samples found on a stack, muted now, the heaviest is favoured
 * again if there is room for all its calls. Once it is heard, what it calls may be divided well
 * enough: the next one waits until methods are weighed again. False: there is none. */
static bool favour_again(struct hook_budget *budget, uint32_t methods, uint64_t now_ns,
                         double room_ns)
{
    struct method_quota *all = budget->quotas->methods;
    uint32_t best = 0;

    if (now_ns - budget->favoured_ns < FAVOURED_NS)
        return false;
    for (uint32_t i = 1; i <= methods; i++)
        if (all[i].weight > (best ? all[best].weight : 0) && is_due(&all[i], now_ns) &&
            all[i].rate <= budget->quotas->favoured_rate / 4 * 3 &&
            expected_ns(budget, all[i].rate + TRY_CALLS) <= room_ns)
            best = i;
    if (!best || !hook_quotas__try_again(budget->quotas, best))
        return false;
    hook_quotas__favour(&all[best], true);
    budget->favoured_ns = now_ns;
    return true;
}

/* Methods in rates below that class are heard again, and of the class itself as many as there is
 * room for. */
static void try_again(struct hook_budget *budget, uint32_t methods, uint64_t now_ns, double room_ns)
{
    unsigned end = first_class_beyond(budget, methods, now_ns, room_ns);
    uint32_t most = budget->quotas->rate_max / 2;

    for (uint32_t i = 1; i <= methods; i++) {
        const struct method_quota *quota = &budget->quotas->methods[i];

        if (!is_due(quota, now_ns) || hook_quotas__rate_class(quota->rate) > end ||
            (quota->rate > most && !quota->is_named))
            continue;
        room_ns -= expected_ns(budget, quota->rate + TRY_CALLS);
        if (room_ns < 0 || !hook_quotas__try_again(budget->quotas, i))
            return;
    }
}

/* The lowest class of rates with which the calls of all counted methods up to it cost more than
 * that; HOOK_RATE_CLASSES: they do not. */
static unsigned first_class_too_hot(const struct hook_budget *budget, uint32_t methods,
                                    double most_ns)
{
    uint64_t calls[HOOK_RATE_CLASSES] = {0};
    double ns = 0;
    unsigned class;

    for (uint32_t i = 1; i <= methods; i++)
        if (hook_quotas__is_counted(budget->quotas, i))
            calls[hook_quotas__rate_class(budget->quotas->methods[i].count_rate)] +=
                budget->quotas->methods[i].count_rate;
    for (class = 0; class < HOOK_RATE_CLASSES; class ++) {
        ns += (double)cost_model__counts_ns(calls[class]);
        if (ns > most_ns)
            break;
    }
    return class;
}

/* Where the calls of counted methods cost too much, those that make the most are off from now on.
 * Of the class of rates at the limit as many as are too many. */
static void limit_counted(struct hook_budget *budget, uint32_t methods, double most_ns)
{
    unsigned class = first_class_too_hot(budget, methods, most_ns);
    double ns = 0;

    for (uint32_t i = 1; class < HOOK_RATE_CLASSES && i <= methods; i++) {
        struct method_quota *quota = &budget->quotas->methods[i];
        unsigned its_class = hook_quotas__rate_class(quota->count_rate);

        if (!hook_quotas__is_counted(budget->quotas, i))
            continue;
        if (its_class <= class)
            ns += (double)cost_model__counts_ns(quota->count_rate);
        /* The thread that began to count the calls may not be done with it yet. */
        if (quota->is_named || __atomic_load_n(&quota->looks, __ATOMIC_RELAXED) < 2 ||
            its_class < class || (its_class == class && ns <= most_ns))
            continue;
        quota->rate = quota->count_rate;
        if (!hook_quotas__stop_counting(budget->quotas, i))
            return;
    }
}

/* Returns what it cost to count the calls of muted and counted methods since the last look. Counted
 * methods may cost so much in a second. */
static double look_at_counted(struct hook_budget *budget, uint32_t methods, uint64_t now_ns,
                              double most_ns)
{
    uint64_t ns = step(&budget->counts_read_ns, now_ns), calls = 0;

    for (uint32_t i = 1; i <= methods; i++) {
        struct method_quota *quota = &budget->quotas->methods[i];
        uint32_t state = __atomic_load_n(&quota->state, __ATOMIC_ACQUIRE);
        uint64_t more;
        uint8_t looks;

        if (state != HOOKING_MUTED && state != HOOKING_COUNTED)
            continue;
        looks = __atomic_load_n(&quota->looks, __ATOMIC_RELAXED);
        __atomic_store_n(&quota->looks,
                         (uint8_t)(state == HOOKING_MUTED ? 0
                                   : looks                ? 2
                                                          : 1),
                         __ATOMIC_RELAXED);
        more = step(&quota->counts_seen, hook_counts__read(budget->quotas, quota));
        calls += more;
        more = more * LOOK_NS / (ns ? ns : 1);
        quota->count_rate = quota->count_rate / 2 + (uint32_t)(more < UINT32_MAX ? more : 0) / 2;
    }
    if (budget->ledger->header->profiling)
        budget->own_cost->facts.counted_calls += calls;
    limit_counted(budget, methods, most_ns);
    return (double)cost_model__counts_ns(calls);
}

/* Silent calls are read by the threads of the program, when one comes by. */
static void look_at_silent(struct hook_budget *budget, uint32_t methods, uint64_t now_ns,
                           double favoured_room_ns, double room_ns)
{
    struct hook_quotas *quotas = budget->quotas;

    if (__atomic_load_n(&quotas->left_wanted, __ATOMIC_ACQUIRE))
        return;
    if (budget->silent_ns) {
        learn_rates(budget, methods, now_ns);
        if (favour_again(budget, methods, now_ns, favoured_room_ns))
            room_ns = 0;
        /* A heavy method that has hooks again needs the room more. */
        if (room_ns > 0 && !budget->renewal->has_heavy)
            try_again(budget, methods, now_ns, room_ns);
    }
    budget->silent_ns = now_ns;
    hook_quotas__want_silent(quotas, methods + 1);
}

/* Whatever the rest costs, some exactness is kept: hooks, and changes of classes that bring them
 * back where they tell most. */
static double room_of_hooks(double budget_ns, double others_ns)
{
    return others_ns < budget_ns * 0.75 ? budget_ns - others_ns : budget_ns / 4;
}

/* Of what hooks took: other methods make room for those that tell most. */
static double favoured_part(const struct heard *heard)
{
    return heard->calls ? (double)heard->favoured_calls / (double)heard->calls : 0;
}

void hook_budget__look(struct hook_budget *budget)
{
    const struct ledger_own_cost *cost = &budget->ledger->header->own_cost;
    uint64_t now_ns = ledger_time__now_ns(budget->time);
    uint32_t methods = __atomic_load_n(&budget->methods->count, __ATOMIC_ACQUIRE);
    struct budget_second second = {.now_ns = now_ns};
    struct heard heard = {.calls = 0};
    uint64_t cpu_ns, once_ns;
    double others_ns, switches_ns, heard_ns, counts_ns, room_ns;

    if (!budget->quotas->methods || now_ns - budget->looked_ns < LOOK_NS)
        return;
    budget->looked_ns = now_ns;
    methods = methods < HOOK_METHODS_MAX ? methods : HOOK_METHODS_MAX - 1;
    cpu_ns = step(&budget->cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    if (!budget->began_ns) {
        budget->began_ns = now_ns;
        budget->began_cpu_ns = budget->cpu_ns;
    }
    __atomic_store_n(&budget->quotas->cpu_ns, budget->cpu_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&budget->quotas->cpu_at_ns, now_ns, __ATOMIC_RELAXED);
    /* Class changes are paid from what was saved up for them. */
    once_ns = hook_renewal__cost_ns(budget->renewal);
    others_ns = (double)step(
        &budget->used_ns, unprofiled__less(ledger_own_cost__sum(cost) - cost->hooks_ns, once_ns));
    count_heard(budget->quotas, methods, &heard);
    switches_ns = at_switches_ns(budget, &heard);
    heard_ns = calls_ns(budget, &heard, switches_ns);
    others_ns += switches_ns;
    second.cpu_ns = cpu_ns;
    second.compilers_ns = look_at_compilers(budget, now_ns, cpu_ns);
    if (cpu_ns < LEAST_CPU_NS)
        return;
    room_ns = room_of_hooks((double)cpu_ns * budget->quotas->overhead_ppm / 1000000, others_ns);
    counts_ns = look_at_counted(budget, methods, now_ns, room_ns * PART_COUNTED);
    room_ns -= counts_ns < room_ns / 2 ? counts_ns : room_ns / 2;
    second.left_ns = room_ns - heard_ns - (double)step(&budget->once_ns, once_ns);
    heard_ns = budget->recent_heard_ns =
        is_settled(budget) ? budget->recent_heard_ns * HEARD_PART + heard_ns * (1 - HEARD_PART)
                           : heard_ns;
    second.room_ns = room_ns * 0.75 - heard_ns;
    if (heard_ns <= room_ns || !give_up_one(budget, &heard))
        set_rates(budget, room_ns > 0 ? heard_ns / room_ns : 1, room_ns);
    look_at_silent(budget, methods, now_ns, room_ns / 2 - heard_ns * favoured_part(&heard),
                   (room_ns * 0.75 - heard_ns) / 2);
    hook_renewal__look(budget->renewal, &second);
}
