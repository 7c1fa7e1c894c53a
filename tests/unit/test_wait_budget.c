/*
 * The budget of waits, look by look: the test says how long ago the last look was, what CPU time
 * the process has used since then, and what waits there were. A wait costs 2 x (400 ns +
 * COST_WAIT_END_NS) if it is heard.
 */
#include "agent/budget/wait_budget.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MS      UINT64_C(1000000)
#define SECOND  (1000 * MS)
#define END_NS  400u
#define WAIT_NS (2 * (END_NS + COST_WAIT_END_NS))

struct world {
    struct ledger_header header;
    struct ledger ledger;
    struct ledger_time time;
    struct own_cost cost;
    _Atomic bool heard;
    struct wait_budget budget;
};

static struct world *begin(uint32_t overhead_ppm)
{
    static struct world world;
    world = (struct world){.heard = true};
    world.header.profiling = 1;
    world.header.overhead_ppm = overhead_ppm;
    world.ledger.header = &world.header;
    world.cost.wait_end_ns = END_NS;
    ledger_time__start(&world.time, 0);
    world.time.monotonic_zero_ns -= 100 * SECOND; /* it runs for 100 s already */
    world.budget = (struct wait_budget){.own_cost = &world.cost,
                                        .ledger = &world.ledger,
                                        .time = &world.time,
                                        .heard = &world.heard};
    return &world;
}

/* A look a second after the last one, in which the process used so much CPU time. */
static bool look(struct world *world, uint64_t cpu_ns, uint64_t heard, uint64_t unheard)
{
    world->budget.looked_ns = ledger_time__now_ns(&world->time) - SECOND;
    world->budget.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    world->header.heard_waits += heard;
    world->header.unheard_waits += unheard;
    wait_budget__look(&world->budget);
    return atomic_load(&world->heard);
}

/* 2 % of a processor, the half of it for waits: 10 ms a second. */
static void waits_within_the_budget_are_heard(void **state)
{
    (void)state;
    struct world *world = begin(20000);
    for (int i = 0; i < 20; i++)
        assert_true(look(world, SECOND, 9 * MS / WAIT_NS, 0));
}

/* 100 ms of waits a second: ten times what there is room for. Then as many that nobody hears, until
 * there is room for a second of them, or for as much as is saved at most, 40 ms. */
static void waits_that_cost_too_much_are_heard_in_turns(void **state)
{
    (void)state;
    struct world *world = begin(20000);
    unsigned looks = 0;
    assert_false(look(world, SECOND, 100 * MS / WAIT_NS, 0));
    while (!look(world, SECOND, 0, 1000) && looks < 50)
        looks++;
    /* 40 ms are owed at most, at 10 ms a second less what the unheard cost; then 1000 waits need
     * little. */
    assert_in_range(looks, 2, 8);
    assert_true(look(world, SECOND, 1000, 0));
}

static void more_waits_need_more_room(void **state)
{
    (void)state;
    unsigned looks[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        struct world *world = begin(20000);
        uint64_t waits = (i ? 30 : 1) * MS / WAIT_NS;
        assert_false(look(world, SECOND, 100 * MS / WAIT_NS, 0));
        while (!look(world, SECOND, 0, waits) && looks[i] < 200)
            looks[i]++;
    }
    assert_true(looks[1] > looks[0]);
    assert_true(looks[1] < 200);
}

static void a_process_that_rests_has_a_little_room(void **state)
{
    (void)state;
    struct world *world = begin(20000);
    for (int i = 0; i < 20; i++)
        assert_true(look(world, 0, MS / 4 / WAIT_NS, 0));
    assert_false(look(world, 0, 10 * MS / WAIT_NS, 0));
}

static void without_a_budget_all_are_heard(void **state)
{
    (void)state;
    struct world *world = begin(0);
    atomic_store(&world->heard, false);
    assert_true(look(world, 0, SECOND / WAIT_NS, 0));
}

static void nothing_changes_between_looks_or_while_profiling_is_off(void **state)
{
    (void)state;
    struct world *world = begin(20000);
    world->header.heard_waits = SECOND / WAIT_NS;
    world->budget.looked_ns = ledger_time__now_ns(&world->time);
    wait_budget__look(&world->budget);
    assert_true(atomic_load(&world->heard));
    world->header.profiling = 0;
    assert_true(look(world, 0, SECOND / WAIT_NS, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_within_the_budget_are_heard),
        cmocka_unit_test(waits_that_cost_too_much_are_heard_in_turns),
        cmocka_unit_test(more_waits_need_more_room),
        cmocka_unit_test(a_process_that_rests_has_a_little_room),
        cmocka_unit_test(without_a_budget_all_are_heard),
        cmocka_unit_test(nothing_changes_between_looks_or_while_profiling_is_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
