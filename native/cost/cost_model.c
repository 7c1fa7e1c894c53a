#include "native/cost/cost_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Multiples of the straight line's cost in a loop, in hundredths: see the header for their source.
 */
#define LOST_INLINING_PERCENT 15u       /* of every call: the compilers no longer see through it */
#define COLD_CALL_PERCENT     1200u     /* of a call from interpreted code, in addition */
#define FIRST_CALL_PERCENT    200000u   /* of a method that is called: C1 compiles more code */
#define HOT_METHOD_PERCENT    33000000u /* of a method that C2 compiles, wherever it is inlined */
/* Of a method that fell silent within a budget, or is counted from its first call on: C1 and C2
 * compile it with what is left of its hooks. */
#define COUNTING_METHOD_PERCENT 500000u

/* Of a call that is only counted: a decrement and a branch. No multiple of the straight line, which
 * reads the clock: that line took 25 ns where the price was found to be a tenth of it, and takes 76
 * ns on another machine, whose counter is slow to read. */
#define SILENT_CALL_PS 2500u

/* Of a call whose hook adds to a counter of its thread: in loops a counted call took 1.4 ns (fib)
 * and 1.9 ns (a getter) more than without hooks (JDK 25; 17: the same; AMD EPYC, three rounds
 * each). Rounded up for what is no longer inlined. */
#define COUNTED_CALL_PS 2500u

/* Hooks cause at most this part of the compilers' work. */
#define COMPILERS_PART_MOST_PERCENT 75u

/* What a perf event on a thread's clock adds to a context switch: it is taken off and put on, and
 * its timer is set, for which a virtual machine leaves the processor. */
#define EVENT_SWITCH_NS 2000u

#define ROOM_MORE 4096u

static int make_room(struct method_calls *methods, uint64_t key)
{
    size_t room = methods->room ? methods->room : ROOM_MORE;
    uint64_t *more;

    if (key < methods->room)
        return 0;
    while (room <= key)
        room *= 2;
    more = realloc(methods->calls, room * sizeof(*more));
    if (!more)
        return -ENOMEM;
    memset(more + methods->room, 0, (room - methods->room) * sizeof(*more));
    methods->calls = more;
    methods->room = room;
    return 0;
}

int call_survey__take(struct call_survey *survey, const struct ledger *ledger,
                      struct method_calls *methods)
{
    struct call_survey found = {0};
    ledger_ref ref = 0;

    if (methods->room)
        memset(methods->calls, 0, methods->room * sizeof(*methods->calls));
    while ((ref = ledger__next(ledger, LEDGER_NODES, ref))) {
        const struct ledger_node *node = ledger__at(ledger, ref);
        bool is_logical = ledger_key__is_logical(node->key);
        uint64_t calls;

        if (ledger_node__kind(node) != NODE_EXACT || (node->key > UINT32_MAX && !is_logical))
            continue;
        calls = __atomic_load_n(&node->calls, __ATOMIC_RELAXED);
        if (is_logical) { /* no class is changed for it */
            found.calls += calls;
            continue;
        }
        if (make_room(methods, node->key) != 0)
            return -ENOMEM;
        methods->calls[node->key] += calls;
        found.calls += calls;
    }
    for (size_t key = 0; key < methods->room; key++) {
        uint64_t calls = methods->calls[key];

        found.methods += calls != 0;
        found.hot_methods += calls >= COST_HOT_CALLS;
        found.cold_calls += calls < COST_COLD_CALLS ? calls : COST_COLD_CALLS;
    }
    *survey = found;
    return 0;
}

void method_calls__free(struct method_calls *methods)
{
    free(methods->calls);
    memset(methods, 0, sizeof(*methods));
}

/* `count` times so many hundredths of a call's cost. */
static uint64_t price_ns(const struct cost_facts *facts, uint64_t count, uint64_t percent)
{
    return (uint64_t)((unsigned __int128)count * facts->call_ps * percent / 100000u);
}

uint64_t cost_model__counts_ns(uint64_t counted_calls)
{
    return counted_calls * COUNTED_CALL_PS / 1000;
}

uint64_t cost_model__hooks_ns(const struct cost_facts *facts)
{
    return price_ns(facts, facts->survey.calls, 100 + LOST_INLINING_PERCENT) +
           price_ns(facts, facts->survey.cold_calls, COLD_CALL_PERCENT) +
           facts->silent_calls * SILENT_CALL_PS / 1000 +
           cost_model__counts_ns(facts->counted_calls) + facts->slow_ns;
}

static uint64_t compilers_ns(const struct cost_facts *facts)
{
    uint64_t ns = price_ns(facts, facts->survey.methods, FIRST_CALL_PERCENT) +
                  price_ns(facts, facts->survey.hot_methods, HOT_METHOD_PERCENT) +
                  price_ns(facts, facts->counting_methods, COUNTING_METHOD_PERCENT);
    uint64_t most_ns = facts->compilers_ns / 100 * COMPILERS_PART_MOST_PERCENT;

    return ns < most_ns ? ns : most_ns;
}

struct ledger_own_cost cost_model__of(const struct cost_facts *facts)
{
    return (struct ledger_own_cost){
        .hooks_ns = cost_model__hooks_ns(facts),
        .samples_ns = facts->handler_ns + facts->signals * facts->delivery_ns +
                      facts->event_switches * EVENT_SWITCH_NS,
        .threads_ns = facts->threads_ns,
        .classes_ns = facts->classes_ns,
        .waits_ns =
            facts->wait_brackets_ns + (facts->wait_ends - facts->wrapped_ends) * COST_WAIT_END_NS +
            facts->wrapped_ends * COST_WRAPPED_END_NS + facts->timed_ends * COST_TIMED_END_NS +
            facts->lock_looks * COST_LOCK_LOOK_NS + facts->hazards_ns,
        .jvm_ns = facts->service_ns + compilers_ns(facts) + facts->recompiled_ns,
    };
}

uint64_t ledger_own_cost__sum(const struct ledger_own_cost *cost)
{
    return cost->hooks_ns + cost->samples_ns + cost->threads_ns + cost->classes_ns + cost->jvm_ns +
           cost->waits_ns;
}
