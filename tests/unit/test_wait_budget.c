/*
 * The budget of waits, look by look: the test says how long ago the last look was, and what waits
 * there were. A wait costs 2 x (400 ns + COST_WAIT_END_NS) if it is heard. The process rests, so
 * the room for waits is 0.5 ms a second, and 2 ms of it may be saved or owed, unless it burns CPU
 * time.
 */
#include "agent/budget/wait_budget.h"
#include "burn.h"

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
    _Atomic bool timed;
    _Atomic uint32_t lock_waits;
    _Atomic uint32_t lock_looks;
    struct wait_budget budget;
    _Atomic uint32_t holds_round;
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
    world.budget = (struct wait_budget){.holds_round = &world.holds_round,
                                        .own_cost = &world.cost,
                                        .ledger = &world.ledger,
                                        .time = &world.time,
                                        .heard = &world.heard,
                                        .timed = &world.timed,
                                        .lock_waits = &world.lock_waits,
                                        .lock_looks = &world.lock_looks};
    return &world;
}

/* A look a second after the last one. */
static bool look(struct world *world, uint64_t heard, uint64_t unheard)
{
    world->budget.looked_ns = ledger_time__now_ns(&world->time) - SECOND;
    world->header.heard_waits += heard;
    world->header.unheard_waits += unheard;
    wait_budget__look(&world->budget);
    return atomic_load(&world->heard);
}

static void waits_within_the_room_are_heard(void **state)
{
    (void)state;
    struct world *world = begin(100);
    for (int i = 0; i < 20; i++)
        assert_true(look(world, MS * 4 / 10 / WAIT_NS, 0));
}

/* Waits of 10 ms in a second owe 2 ms. Each second without them gives 0.5 ms back, so after four of
 * them nothing is owed, and a little later there is what 200 waits need. */
static void waits_that_cost_too_much_are_heard_in_turns(void **state)
{
    (void)state;
    struct world *world = begin(100);
    assert_false(look(world, 10 * MS / WAIT_NS, 0));
    for (int i = 0; i < 4; i++)
        assert_false(look(world, 0, 200));
    assert_true(look(world, 0, 200) || look(world, 0, 200));
    assert_true(look(world, 200, 0));
}

/* 0.3 ms of a second are spent on waits in wrapped calls, and give back the rest of its 0.5 ms: the
 * 2 ms that are owed take ten seconds. If the JVM told of them, they would take more than there is.
 */
static void unheard_waits_in_wrapped_calls_cost_less(void **state)
{
    (void)state;
    const uint64_t waits = 3 * MS / 10 / (2 * COST_WRAPPED_END_NS);
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        struct world *world = begin(100);
        unsigned looks = 0;
        assert_false(look(world, 10 * MS / WAIT_NS, 0));
        for (; world->budget.saved_ns < 0 && looks < 40; looks++) {
            world->cost.facts.wrapped_ends += wrapped ? 2 * waits : 0;
            (void)look(world, 0, waits);
        }
        assert_in_range(looks, wrapped ? 9 : 40, wrapped ? 11 : 40);
    }
}

/* As many waits as cost 1 ms a second find room later than as many as cost 0.2 ms. More than can
 * ever be saved are heard once all is saved. */
static void more_waits_need_more_room(void **state)
{
    (void)state;
    static const uint64_t cost_ns[] = {MS / 5, MS, 3 * MS};
    unsigned looks[3] = {0};
    for (int i = 0; i < 3; i++) {
        struct world *world = begin(100);
        assert_false(look(world, 10 * MS / WAIT_NS, 0));
        while (!look(world, 0, cost_ns[i] / WAIT_NS) && looks[i] < 100)
            looks[i]++;
    }
    assert_true(looks[0] < looks[1]);
    assert_true(looks[1] < looks[2]);
    assert_true(looks[2] < 100);
}

/* Timing a wait costs 2 x COST_TIMED_END_NS, 60 ns, and has half of the room: 4,166 of them a
 * second, and four seconds' worth of credit or debt. */
static void waits_are_timed_in_turns(void **state)
{
    (void)state;
    struct world *world = begin(100);
    unsigned timed = 0;
    for (int i = 0; i < 20; i++) {
        world->header.timed_waits += 4000;
        (void)look(world, 0, 4000);
        assert_true(atomic_load(&world->timed));
    }
    for (int i = 0; i < 100; i++) {
        bool is_timed = atomic_load(&world->timed);
        timed += is_timed;
        world->header.timed_waits += is_timed ? 8333 : 0;
        (void)look(world, 0, 8333);
    }
    assert_in_range(timed, 48, 58);
}

/* 80 ms of CPU time, all of which the budget has: a quarter of that, 20 ms, is room. */
static void cpu_time_makes_room(void **state)
{
    (void)state;
    struct world *world = begin(1000000);
    (void)look(world, 0, 0);
    assert_false(look(world, 15 * MS / WAIT_NS, 0));
    world = begin(1000000);
    (void)look(world, 0, 0);
    burn_cpu(80 * MS);
    assert_true(look(world, 15 * MS / WAIT_NS, 0));
}

static void without_a_budget_all_are_heard(void **state)
{
    (void)state;
    struct world *world = begin(0);
    atomic_store(&world->heard, false);
    assert_true(look(world, SECOND / WAIT_NS, 0));
}

/* The room is 0.5 ms a second, and holds may take 0.125 ms of it: 400 ns an end. Four seconds of it
 * are saved; then holds of 10 ms at once owe 9.5 ms, which are 76 seconds, and those of a second
 * owe no more than 120 seconds. */
static void holds_that_cost_too_much_are_not_heard_until_that_is_paid_back(void **state)
{
    (void)state;
    static const struct {
        uint64_t ends;
        int seconds;
    } cases[] = {{25000, 76}, {2500000, 120}};
    struct world *world = begin(100);
    atomic_store(&world->holds_round, 1);
    world->cost.hold_end_ns = 400;
    for (int i = 0; i < 20; i++) {
        world->cost.hold_ends += 250; /* 0.1 ms */
        (void)look(world, 0, 0);
        assert_int_equal(atomic_load(&world->holds_round), 1);
    }
    for (unsigned i = 0; i < 2; i++) {
        uint32_t round = atomic_load(&world->holds_round);
        int looks = 0;

        for (int saves = 0; saves < 8; saves++)
            (void)look(world, 0, 0);
        world->cost.hold_ends += cases[i].ends;
        (void)look(world, 0, 0);
        assert_int_equal(atomic_load(&world->holds_round), round + 1);
        while (atomic_load(&world->holds_round) == round + 1 && looks < 1000) {
            (void)look(world, 0, 0);
            looks++;
        }
        assert_in_range(looks, cases[i].seconds - 2, cases[i].seconds + 1);
    }
}

static void nothing_changes_between_looks_or_while_profiling_is_off(void **state)
{
    (void)state;
    struct world *world = begin(100);
    world->header.heard_waits = SECOND / WAIT_NS;
    world->budget.looked_ns = ledger_time__now_ns(&world->time);
    wait_budget__look(&world->budget);
    assert_true(atomic_load(&world->heard));
    world->header.profiling = 0;
    assert_true(look(world, SECOND / WAIT_NS, 0));
}

/* Others have used up their room; those for locks have theirs of 0.25 ms a second, a half of it for
 * waits, and take nothing from that of the others. */
static void few_waits_for_locks_are_heard_beside_many_others(void **state)
{
    (void)state;
    struct world *world = begin(100);
    (void)look(world, 10 * MS / WAIT_NS, 0);
    for (int i = 0; i < 20; i++) {
        double owed_ns = world->budget.saved_ns;

        assert_true(atomic_load(&world->lock_waits) >= 100);
        assert_true(atomic_load(&world->lock_looks) >= 400);
        atomic_fetch_sub(&world->lock_waits, 100);
        assert_false(look(world, 100, 10000));
        assert_true(world->budget.saved_ns < 0 && world->budget.saved_ns <= owed_ns + MS / 2);
    }
}

/* However many there are: 0.25 ms a second, and what was saved in 4 s before. */
static void many_waits_for_locks_are_heard_within_their_part(void **state)
{
    (void)state;
    struct world *world = begin(100);
    uint64_t waits = 0, looks = 0;
    (void)look(world, 0, 0);
    for (int i = 0; i < 20; i++) {
        uint32_t given = atomic_exchange(&world->lock_waits, 0);

        waits += given;
        looks += atomic_exchange(&world->lock_looks, 0);
        (void)look(world, given, 100000);
    }
    assert_in_range(waits * WAIT_NS + looks * 200, 20 * MS / 4 - MS, (20 + 4) * MS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_within_the_room_are_heard),
        cmocka_unit_test(waits_that_cost_too_much_are_heard_in_turns),
        cmocka_unit_test(unheard_waits_in_wrapped_calls_cost_less),
        cmocka_unit_test(more_waits_need_more_room),
        cmocka_unit_test(waits_are_timed_in_turns),
        cmocka_unit_test(cpu_time_makes_room),
        cmocka_unit_test(holds_that_cost_too_much_are_not_heard_until_that_is_paid_back),
        cmocka_unit_test(few_waits_for_locks_are_heard_beside_many_others),
        cmocka_unit_test(many_waits_for_locks_are_heard_within_their_part),
        cmocka_unit_test(without_a_budget_all_are_heard),
        cmocka_unit_test(nothing_changes_between_looks_or_while_profiling_is_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
