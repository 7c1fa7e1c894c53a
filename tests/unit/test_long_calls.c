/* Methods with long calls: which of them may make more calls than others. The time and what calls
 * took are the test's own. */
#include "agent/methods/long_calls.h"
#include "tests/unit/quota_run.h"

#define CALLER (METHOD + 1)

/* 5,000 calls a second, for ten seconds, where 100 are allowed: of 150 microseconds each they are
 * heard. Once they take a microsecond each, they are not. */
static void long_calls_are_heard(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    run.quotas.overhead_ppm = 100000; /* all that the calls take, four times over */
    long_calls__took(&run.quotas, METHOD, 0, 150000, false);
    call(&run, 50000 / HOOK_QUOTA_STEP * HOOK_QUOTA_STEP, 10 * SECOND);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    assert_int_equal(run.quotas.methods[METHOD].hooking, 0);
    run.quotas.overhead_ppm = 0;
    for (unsigned i = 0; i < 200; i++)
        long_calls__took(&run.quotas, METHOD, 0, 1000, false);
    /* What was saved up is 100 calls a second for eight seconds. */
    call(&run, 960, SECOND / 10);
    assert_false(hook_quotas__hear(&run.quotas, METHOD));
    end(&run);
}

/* The calls of all methods with long calls have taken more than the budget and what is free at the
 * beginning. */
static void long_calls_have_no_more_than_the_budget(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    long_calls__took(&run.quotas, METHOD, 0, 150000, false);
    run.quotas.overhead_ppm = 1;
    run.quotas.long_calls_ns = HOOK_ONCE_FREE_NS + SECOND / 10;
    call(&run, 4 * JUDGED, SECOND / 10);
    assert_false(hook_quotas__hear(&run.quotas, METHOD));
    end(&run);
}

/* Whether long calls are heard, 4,800 in two seconds, where 100 a second are allowed and 4 ms may
 * be spent on long ones. A slow entry takes 2 us, a slow exit 5 us. */
static bool are_heard(bool slow_entry, bool slow_exit)
{
    struct run run;
    bool heard;

    begin(&run, SECOND);
    run.quotas.slow_ns = slow_exit ? 5000 : 2000;
    run.quotas.overhead_ppm = 1;
    run.quotas.long_calls_ns = HOOK_ONCE_FREE_NS - 4000000;
    long_calls__took(&run.quotas, METHOD, 0, 150000, false);
    for (unsigned i = 0; i < 4800 / HOOK_QUOTA_STEP; i++) {
        pass(&run, SECOND / 150);
        hook_quotas__step(&run.quotas, NULL, METHOD, slow_entry);
        long_calls__took(&run.quotas, METHOD, 0, 150000, slow_exit);
    }
    heard = hook_quotas__hear(&run.quotas, METHOD);
    end(&run);
    return heard;
}

static void long_calls_pay_for_the_switches_before_and_within_them(void **state)
{
    (void)state;
    assert_true(are_heard(false, false));
    assert_false(are_heard(true, false));
    assert_false(are_heard(false, true));
}

static void half_of_the_budget_is_for_long_calls(void **state)
{
    (void)state;
    const uint64_t budget_ns = SECOND / 10;
    const struct method_quota *quota;
    struct run run;

    begin(&run, SECOND);
    quota = &run.quotas.methods[METHOD];
    long_calls__took(&run.quotas, METHOD, 0, 150000, false);
    run.quotas.long_calls_ns = HOOK_ONCE_FREE_NS + budget_ns / 2 - 1;
    assert_true(long_calls__may_be_many(&run.quotas, quota, budget_ns));
    run.quotas.long_calls_ns++;
    assert_false(long_calls__may_be_many(&run.quotas, quota, budget_ns));
    end(&run);
}

/* Whether the method's calls of that time are heard at 2,400 a second, where 100 are allowed, if a
 * method whose calls take so long calls it. */
static bool is_heard_in(uint32_t ns, uint32_t callers_ns, bool caller_is_heard)
{
    struct run run;
    bool heard;

    begin(&run, SECOND);
    hook_quotas__add(&run.quotas, CALLER, false, 0, 0);
    if (callers_ns)
        long_calls__took(&run.quotas, CALLER, 0, callers_ns, false);
    if (!caller_is_heard)
        run.quotas.methods[CALLER].state = HOOKING_OFF;
    run.quotas.overhead_ppm = 20000;
    long_calls__took(&run.quotas, METHOD, CALLER, ns, false);
    /* A recursive call says nothing of who calls the method. */
    long_calls__took(&run.quotas, METHOD, METHOD, ns, false);
    /* What other methods with long calls took leaves a part to those that divide nothing. */
    run.quotas.long_calls_ns = HOOK_ONCE_FREE_NS / 3;
    call(&run, 4800, 2 * SECOND);
    heard = hook_quotas__hear(&run.quotas, METHOD);
    end(&run);
    return heard;
}

/* Calls of 50 microseconds, from calls of 60, of 400, of a method that is off, of one that was
 * never measured; then calls that are too short. */
static void long_calls_are_heard_where_they_divide_longer_ones(void **state)
{
    (void)state;
    assert_false(is_heard_in(50000, 60000, true));
    assert_true(is_heard_in(50000, 400000, true));
    assert_true(is_heard_in(50000, 60000, false));
    assert_true(is_heard_in(50000, 0, true));
    assert_false(is_heard_in(10000, 400000, true));
}

/* One short call among long ones does not silence a method: the mean counts, and a method that had
 * long calls may have somewhat shorter ones. */
static void some_short_calls_among_long_ones_are_heard(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    run.quotas.overhead_ppm = 20000;
    for (unsigned i = 0; i < 40; i++)
        long_calls__took(&run.quotas, METHOD, 0, i % 8 == 0 ? 100000 : 1000, false);
    call(&run, 4800, 2 * SECOND);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_calls_are_heard),
        cmocka_unit_test(long_calls_have_no_more_than_the_budget),
        cmocka_unit_test(long_calls_pay_for_the_switches_before_and_within_them),
        cmocka_unit_test(half_of_the_budget_is_for_long_calls),
        cmocka_unit_test(long_calls_are_heard_where_they_divide_longer_ones),
        cmocka_unit_test(some_short_calls_among_long_ones_are_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
