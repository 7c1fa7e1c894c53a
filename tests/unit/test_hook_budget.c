/*
 * The budget of hooks, second by second: what the rest of the profiler costs, what hooks took, and
 * which methods are heard for it. The test says what was counted; the process burns CPU time, of
 * which the budget is a tenth, and the kernel says how much that was. Classes are changed by none.
 */
#include "agent/budget/hook_budget.h"
#include "agent/methods/hook_counts.h"
#include "burn.h"
#include "tests/unit/quota_run.h"

#define BURNT_NS   (25 * MS) /* a second: little, and more than what says nothing */
#define BUDGET_PPM 100000u
#define HEAVIER    (METHOD + 1)
#define METHODS    (HEAVIER + 1)

static struct budget_second last; /* what renewals were told */

void hook_renewal__look(struct hook_renewal *renewal, const struct budget_second *second)
{
    (void)renewal;
    last = *second;
}

bool hook_renewal__goes_on(const struct hook_renewal *renewal, uint64_t now_ns)
{
    (void)renewal, (void)now_ns;
    return false;
}

uint64_t hook_renewal__cost_ns(const struct hook_renewal *renewal)
{
    (void)renewal;
    return 0;
}

struct world {
    struct run run;
    struct method_numbers numbers;
    struct hook_renewal renewal;
    struct own_cost cost;
    struct process_scan scan;
    struct hook_budget budget;
};

/* A second, in which the other parts of the profiler took that time. */
static void look(struct world *world, uint64_t others_ns)
{
    burn_cpu(BURNT_NS);
    pass(&world->run, SECOND);
    world->run.ledger.header->own_cost.samples_ns += others_ns;
    hook_budget__look(&world->budget);
}

static struct world *begin_world(void)
{
    struct world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    begin(&world->run, 100 * SECOND);
    hook_quotas__add(&world->run.quotas, HEAVIER, false, 0, 0xabce);
    world->run.quotas.overhead_ppm = BUDGET_PPM;
    world->numbers.count = METHODS;
    world->budget = (struct hook_budget){.quotas = &world->run.quotas,
                                         .methods = &world->numbers,
                                         .renewal = &world->renewal,
                                         .own_cost = &world->cost,
                                         .ledger = &world->run.ledger,
                                         .time = &world->run.time,
                                         .scan = &world->scan};
    look(world, 0);
    return world;
}

static void end_world(struct world *world)
{
    end(&world->run);
    free(world);
}

static double budget_ns(void)
{
    return (double)last.cpu_ns * BUDGET_PPM / 1e6;
}

static void assert_about(double found, double wanted)
{
    assert_true(found > wanted - 1000 && found < wanted + 1000);
}

/* A method whose calls are counted only. */
static void count_only(struct world *world, uint32_t method)
{
    struct method_quota *quota = &world->run.quotas.methods[method];
    struct ledger_hooking *hooking;

    quota->hooking = ledger__take_shared(&world->run.ledger, LEDGER_HOOKINGS, LEDGER_HOOKING_CELLS);
    hooking = ledger__at(&world->run.ledger, quota->hooking);
    quota->state = hooking->state = HOOKING_COUNTED;
    hook_counts__begin(&world->run.quotas, NULL, method, hooking);
}

static void count(struct world *world, uint32_t method, uint64_t calls)
{
    thread_counters__add(&world->run.quotas.counters, world->run.quotas.methods[method].counter,
                         calls);
}

static bool is_off(struct world *world, uint32_t method)
{
    hook_quotas__apply(&world->run.quotas, NULL);
    return hooks[method].off;
}

/* At 2.5 ns a call two fifths of the budget is so many calls a second, or more, since the process's
 * CPU time is BURNT_NS at least. The methods make two thirds of that, and then one of them ten
 * times as many: it is off, and only it. What the calls cost is in the account, and not there for
 * hooks. */
static void counted_methods_that_call_too_often_are_off(void **state)
{
    (void)state;
    struct world *world = begin_world();
    uint64_t calls = BURNT_NS / 1000000 * BUDGET_PPM * 2 / 5 * 2 / 5 / 3;

    count_only(world, METHOD);
    count_only(world, HEAVIER);
    world->run.ledger.header->profiling = 1;
    for (unsigned i = 0; i < 8; i++) {
        count(world, METHOD, calls);
        count(world, HEAVIER, calls);
        look(world, 0);
        assert_about(last.left_ns, budget_ns() - (double)calls * 2 * 2.5);
    }
    assert_false(is_off(world, METHOD) || is_off(world, HEAVIER));
    assert_int_equal(world->cost.facts.counted_calls, calls * 16);
    count(world, HEAVIER, 200 * calls);
    look(world, 0);
    assert_true(is_off(world, HEAVIER));
    assert_false(is_off(world, METHOD));
    end_world(world);
}

/* As long as profiling is stopped. */
static void counted_calls_cost_nothing_while_profiling_is_stopped(void **state)
{
    (void)state;
    struct world *world = begin_world();

    world->run.ledger.header->profiling = 0;
    count_only(world, METHOD);
    count(world, METHOD, 1000);
    look(world, 0);
    assert_int_equal(world->cost.facts.counted_calls, 0);
    end_world(world);
}

/* The rest takes nothing, half of the budget, and ten times the budget. */
static void a_quarter_is_for_hooks_whatever_the_rest_costs(void **state)
{
    (void)state;
    struct world *world = begin_world();

    look(world, 0);
    assert_true(last.cpu_ns >= BURNT_NS);
    assert_about(last.left_ns, budget_ns());
    look(world, BURNT_NS / 20);
    assert_about(last.left_ns, budget_ns() - (double)BURNT_NS / 20);
    look(world, BURNT_NS);
    assert_about(last.left_ns, budget_ns() / 4);
    assert_about(last.room_ns, budget_ns() / 4 * 0.75);
    end_world(world);
}

static void slow_hooks(struct world *world, uint64_t count, uint64_t ns)
{
    world->cost.slow_hooks += count;
    world->cost.slow_hook_ns = ns;
    world->cost.facts.slow_ns += count * ns;
}

/* 600 calls, with 100 slow hooks of 2 us, 60 of them after switches: all but a tenth of what these
 * took is the switches' doing. Then the same once the compilers are busy. */
static void the_first_hook_after_a_switch_is_not_the_methods_doing(void **state)
{
    (void)state;
    struct world *world = begin_world();

    world->run.quotas.methods[METHOD].calls += 600;
    slow_hooks(world, 100, 2000);
    world->cost.switches += 60;
    look(world, 0);
    assert_about(last.left_ns, budget_ns() - 200000);
    assert_about(last.room_ns, (budget_ns() - 108000) * 0.75 - 92000 * 0.25);
    world->scan.compilers_cpu_ns += BURNT_NS;
    look(world, 0);
    world->run.quotas.methods[METHOD].calls += 600;
    slow_hooks(world, 100, 2000);
    world->cost.switches += 60;
    look(world, 0);
    assert_false(world->run.quotas.is_settled);
    assert_about(last.left_ns, budget_ns() - 200000);
    assert_about(last.room_ns, budget_ns() * 0.75 - 200000);
    end_world(world);
}

/* A thread is woken for each call: 100 calls, 120 slow hooks of 2 us, and 200 switches. */
static void where_each_call_follows_a_switch_it_pays_for_it(void **state)
{
    (void)state;
    struct world *world = begin_world();

    world->run.quotas.methods[METHOD].calls += 100;
    slow_hooks(world, 120, 2000);
    world->cost.switches += 200;
    look(world, 0);
    assert_about(last.room_ns, budget_ns() * 0.75 - 240000 * 0.25);
    assert_int_equal(world->run.quotas.slow_ns, 2000);
    end_world(world);
}

/* Hooks of one favoured method take twice the budget, in one second, and then in each. */
static void one_odd_second_takes_no_favour_away(void **state)
{
    (void)state;
    struct world *world = begin_world();
    struct method_quota *quota = &world->run.quotas.methods[METHOD];
    unsigned seconds = 0;

    quota->weight = 1000;
    hook_quotas__favour(quota, true);
    for (int i = 0; i < 4; i++) {
        quota->calls += 1000;
        look(world, 0);
    }
    slow_hooks(world, 1000, 2 * BURNT_NS / 10 / 1000);
    for (int i = 0; i < 4; i++) {
        quota->calls += 1000;
        look(world, 0);
        assert_true(quota->is_favoured);
    }
    for (; quota->is_favoured && seconds < 20; seconds++) {
        quota->calls += 1000;
        slow_hooks(world, 1000, 2 * BURNT_NS / 10 / 1000);
        look(world, 0);
    }
    assert_in_range(seconds, 2, 8);
    end_world(world);
}

static void make_silent(struct world *world, uint32_t method, uint32_t weight)
{
    struct method_quota *quota = &world->run.quotas.methods[method];

    for (int i = 0; i < 100 && hook_quotas__hear(&world->run.quotas, method); i++) {
        pass(&world->run, SECOND / 100000);
        hook_quotas__step(&world->run.quotas, NULL, method, false);
    }
    assert_true(hook_quotas__is_muted(&world->run.quotas, method));
    quota->weight = weight;
}

/* A thread in a hook applies what was requested. */
static bool is_heard_after_look(struct world *world, uint32_t method)
{
    look(world, 0);
    hook_quotas__apply(&world->run.quotas, NULL);
    return hook_quotas__hear(&world->run.quotas, method);
}

/* Both have been silent for a minute, and are not called. */
static void the_heaviest_is_heard_first_and_alone(void **state)
{
    (void)state;
    struct world *world = begin_world();
    unsigned seconds = 0;

    make_silent(world, METHOD, 100000);
    make_silent(world, HEAVIER, 200000);
    pass(&world->run, 60 * SECOND);
    while (!is_heard_after_look(world, HEAVIER) && seconds < 10)
        seconds++;
    assert_in_range(seconds, 0, 3);
    assert_true(world->run.quotas.methods[HEAVIER].is_favoured);
    assert_false(hook_quotas__hear(&world->run.quotas, METHOD));
    world->renewal.has_heavy = true; /* the rare have to wait */
    for (int i = 0; i < 5; i++)
        assert_false(is_heard_after_look(world, METHOD));
    for (seconds = 0; seconds < 10 && !is_heard_after_look(world, METHOD);)
        seconds++;
    assert_in_range(seconds, 0, 4);
    assert_true(world->run.quotas.methods[METHOD].is_favoured);
    end_world(world);
}

/* A method without weight is rare: it is heard once no heavy method has hooks on trial. */
static void the_rare_wait_for_a_heavy_one(void **state)
{
    (void)state;
    struct world *world = begin_world();
    unsigned seconds = 0;

    make_silent(world, METHOD, 0);
    pass(&world->run, 60 * SECOND);
    world->renewal.has_heavy = true;
    for (int i = 0; i < 5; i++)
        assert_false(is_heard_after_look(world, METHOD));
    world->renewal.has_heavy = false;
    while (!is_heard_after_look(world, METHOD) && seconds < 10)
        seconds++;
    assert_in_range(seconds, 0, 3);
    assert_false(world->run.quotas.methods[METHOD].is_favoured);
    end_world(world);
}

/* So many silent calls, which are read by the second look from here. */
static uint64_t account_of_silent(struct world *world, uint16_t calls)
{
    uint64_t before = world->cost.facts.silent_calls;

    hooks[METHOD].left = (uint16_t)(hooks[METHOD].left - calls);
    for (int i = 0; i < 2; i++) {
        look(world, 0);
        hook_quotas__apply(&world->run.quotas, NULL);
    }
    return world->cost.facts.silent_calls - before;
}

static void silent_calls_without_profiling_are_in_no_account(void **state)
{
    (void)state;
    struct world *world = begin_world();
    struct ledger_header *header = world->run.ledger.header;

    make_silent(world, METHOD, 0);
    world->run.quotas.methods[METHOD].mutes = 6; /* it is not tried again soon */
    (void)account_of_silent(world, 0);
    assert_int_equal(account_of_silent(world, 10), 10);
    header->profiling = 0;
    assert_int_equal(account_of_silent(world, 10), 0);
    header->profiling = 1;
    header->since_ns = ledger_time__now_ns(&world->run.time);
    assert_int_equal(account_of_silent(world, 10), 0); /* they came before the start, or may have */
    assert_int_equal(account_of_silent(world, 10), 10);
    end_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_is_for_hooks_whatever_the_rest_costs),
        cmocka_unit_test(the_first_hook_after_a_switch_is_not_the_methods_doing),
        cmocka_unit_test(where_each_call_follows_a_switch_it_pays_for_it),
        cmocka_unit_test(one_odd_second_takes_no_favour_away),
        cmocka_unit_test(the_heaviest_is_heard_first_and_alone),
        cmocka_unit_test(the_rare_wait_for_a_heavy_one),
        cmocka_unit_test(silent_calls_without_profiling_are_in_no_account),
        cmocka_unit_test(counted_methods_that_call_too_often_are_off),
        cmocka_unit_test(counted_calls_cost_nothing_while_profiling_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
