#include "agent/budget/wait_budget.h"

#define LOOK_NS    1000000000u
#define SECOND_NS  1e9
#define MILLION    1000000.0
#define PART       0.5      /* of the budget: what waits may take */
#define LEAST_NS   500000.0 /* a second: so much is always allowed, for a process that rests */
#define FIRST_NS   500u     /* price of a begin or an end of which none was timed yet */
#define QUIET      3u       /* looks before waits are heard again */
#define QUIET_PART 0.5      /* of the room: what waits must not exceed at these */

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

static void decide(struct wait_budget *budget, double need_ns, double room_ns)
{
    if (atomic_load(budget->heard)) {
        atomic_store(budget->heard, need_ns <= room_ns);
        budget->quiet = 0;
        return;
    }
    budget->quiet = need_ns <= room_ns * QUIET_PART ? budget->quiet + 1 : 0;
    atomic_store(budget->heard, budget->quiet >= QUIET);
}

void wait_budget__look(struct wait_budget *budget)
{
    const struct ledger_header *header = budget->ledger->header;
    uint64_t now_ns = ledger_time__now_ns(budget->time), passed_ns = now_ns - budget->looked_ns;
    double need_ns, room_ns, least_ns;
    uint64_t waits;

    if (passed_ns < LOOK_NS || !header->profiling)
        return;
    budget->looked_ns = now_ns;
    waits = step(&budget->waits, header->heard_waits + header->unheard_waits);
    room_ns = (double)step(&budget->cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID)) *
              header->overhead_ppm / MILLION * PART;
    need_ns = (double)waits * price_ns(budget->own_cost);
    least_ns = LEAST_NS * (double)passed_ns / SECOND_NS;
    if (header->overhead_ppm)
        decide(budget, need_ns, room_ns > least_ns ? room_ns : least_ns);
    else
        atomic_store(budget->heard, true);
}
