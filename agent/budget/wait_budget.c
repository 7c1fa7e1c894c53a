#include "agent/budget/wait_budget.h"

#define LOOK_NS      250000000u
#define SECOND_NS    1e9
#define MILLION      1000000.0
#define PART         0.25     /* of the budget: what waits may take */
#define LEAST_NS     500000.0 /* a second: so much is always allowed, for a process that rests */
#define FIRST_NS     500u     /* price of a begin or an end of which none was timed yet */
#define TIMED        0.5      /* of what waits may take: what timing the others may take */
#define SAVED        4.0      /* seconds of room that may be saved, or owed */
#define LOCKS        0.5 /* of what waits may take: what those for locks may take beside them */
#define LOOK_COST_NS (2.0 * COST_LOCK_LOOK_NS) /* the JVM may be asked which thread parks, too */
#define HOLDS        0.25  /* of what waits may take: what holds may take beside them */
#define HOLDS_OWED   120.0 /* seconds of room that holds may owe */

static uint64_t step(uint64_t *before, uint64_t now)
{
    uint64_t more = now > *before ? now - *before : 0;

    *before = now;
    return more;
}

static double price_ns(const struct own_cost *cost)
{
    uint64_t end_ns = cost->wait_end_ns ? cost->wait_end_ns : FIRST_NS;

    return 2 * (double)(end_ns + COST_WAIT_END_NS);
}

/* What the waits since the last look have cost. */
static double spent_ns(struct wait_budget *budget)
{
    const struct ledger_header *header = budget->ledger->header;
    uint64_t heard = step(&budget->heard_waits, header->heard_waits);
    uint64_t unheard = step(&budget->unheard_waits, header->unheard_waits);
    uint64_t wrapped = step(&budget->wrapped_ends, budget->own_cost->facts.wrapped_ends);
    uint64_t for_locks = budget->lock_waits_taken < heard ? budget->lock_waits_taken : heard;

    budget->lock_waits_taken -= for_locks;
    heard -= for_locks;
    budget->waits = heard + unheard;
    budget->timed_ns =
        (double)step(&budget->timed_waits, header->timed_waits) * 2 * COST_TIMED_END_NS;
    wrapped = wrapped < 2 * unheard ? wrapped : 2 * unheard;
    return (double)heard * price_ns(budget->own_cost) +
           (double)(2 * unheard - wrapped) * COST_WAIT_END_NS +
           (double)wrapped * COST_WRAPPED_END_NS + budget->timed_ns;
}

/* A token bucket: room is saved while waits are not heard, and they are heard again when the waits
 * of as long a time as the last look's would find room. */
static void decide(struct wait_budget *budget, double room_ns, double seconds)
{
    double most_ns = room_ns / seconds * SAVED, saved_ns, need_ns;

    saved_ns = budget->saved_ns + room_ns - spent_ns(budget);
    budget->saved_ns = saved_ns > most_ns ? most_ns : saved_ns < -most_ns ? -most_ns : saved_ns;
    need_ns = (double)budget->waits * price_ns(budget->own_cost);
    if (need_ns > most_ns)
        need_ns = most_ns;
    atomic_store(budget->heard, budget->saved_ns >= (atomic_load(budget->heard) ? 0 : need_ns));
}

/* Waits that are not heard are timed while that has room in its part. */
static void decide_on_timing(struct wait_budget *budget, double room_ns, double seconds)
{
    double most_ns = room_ns * TIMED / seconds * SAVED;
    double saved_ns = budget->timed_saved_ns + room_ns * TIMED - budget->timed_ns;

    budget->timed_saved_ns = saved_ns > most_ns    ? most_ns
                             : saved_ns < -most_ns ? -most_ns
                                                   : saved_ns;
    atomic_store(budget->timed, budget->timed_saved_ns >= 0);
}

static uint32_t taken(_Atomic uint32_t *left, uint32_t given)
{
    return given - atomic_exchange(left, 0);
}

/* What is saved is given in halves. Before the other waits are looked at: what these took is not to
 * be paid from the part of the others. */
static void give_to_locks(struct wait_budget *budget, double room_ns, double seconds)
{
    double price = price_ns(budget->own_cost), most_ns = room_ns * LOCKS / seconds * SAVED;
    uint32_t waits = taken(budget->lock_waits, budget->lock_waits_given);
    uint32_t looks = taken(budget->lock_looks, budget->lock_looks_given);
    double saved_ns =
        budget->locks_saved_ns + room_ns * LOCKS - waits * price - looks * LOOK_COST_NS;

    budget->lock_waits_taken += waits;
    budget->locks_saved_ns = saved_ns > most_ns    ? most_ns
                             : saved_ns < -most_ns ? -most_ns
                                                   : saved_ns;
    saved_ns = saved_ns < 0 ? 0 : budget->locks_saved_ns;
    budget->lock_waits_given = (uint32_t)(saved_ns / 2 / price);
    budget->lock_looks_given = (uint32_t)(saved_ns / 2 / LOOK_COST_NS);
    atomic_store(budget->lock_waits, budget->lock_waits_given);
    atomic_store(budget->lock_looks, budget->lock_looks_given);
}

/* Holds that are not heard cost next to nothing, so what they would cost is not known: they are
 * heard again when what the last ones cost is paid back. */
static void decide_on_holds(struct wait_budget *budget, double room_ns, double seconds)
{
    uint64_t end_ns = budget->own_cost->hold_end_ns ? budget->own_cost->hold_end_ns : FIRST_NS;
    double cost_ns = (double)(step(&budget->hold_ends, budget->own_cost->hold_ends) * end_ns);
    double second_ns = room_ns * HOLDS / seconds;
    double saved_ns = budget->holds_saved_ns + room_ns * HOLDS - cost_ns;
    bool heard = atomic_load(budget->holds_round) & 1;

    if (saved_ns > second_ns * SAVED)
        saved_ns = second_ns * SAVED;
    budget->holds_saved_ns =
        saved_ns < -second_ns * HOLDS_OWED ? -second_ns * HOLDS_OWED : saved_ns;
    if (heard != (saved_ns >= 0))
        atomic_fetch_add(budget->holds_round, 1);
}

void wait_budget__look(struct wait_budget *budget)
{
    const struct ledger_header *header = budget->ledger->header;
    uint64_t now_ns = ledger_time__now_ns(budget->time), passed_ns = now_ns - budget->looked_ns;
    double seconds = (double)passed_ns / SECOND_NS, room_ns, least_ns = LEAST_NS * seconds;

    if (passed_ns < LOOK_NS || !header->profiling)
        return;
    budget->looked_ns = now_ns;
    room_ns = (double)step(&budget->cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID)) *
              header->overhead_ppm / MILLION * PART;
    if (room_ns < least_ns)
        room_ns = least_ns;
    if (header->overhead_ppm) {
        give_to_locks(budget, room_ns, seconds);
        decide(budget, room_ns, seconds);
        decide_on_timing(budget, room_ns, seconds);
        decide_on_holds(budget, room_ns, seconds);
    } else {
        atomic_store(budget->timed, true);
        atomic_store(budget->heard, true);
    }
}
