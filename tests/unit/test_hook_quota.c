/* Quotas of methods: when one falls silent, for how long, and what the ledger says of it. The time
 * is the test's own, and so is the class of the hooks. */
#include "tests/unit/quota_run.h"

/* So many silent calls, evenly over the time: what the class of the hooks does. */
static void call_silently(struct run *run, uint32_t calls, uint64_t ns)
{
    uint32_t slot = hook_quotas__slot(&run->quotas, METHOD);

    pass(run, ns);
    assert_true(hooks[slot].left >= calls);
    hooks[slot].left = (uint16_t)(hooks[slot].left - calls);
    if (hooks[slot].left == 0)
        hook_quotas__silent(&run->quotas, NULL, slot);
}

/* A thread in a hook reads what is left of all silent calls. */
static void read_silent(struct run *run)
{
    hook_quotas__want_silent(&run->quotas, METHOD + 1);
    assert_true(hook_quotas__have_work(&run->quotas));
    hook_quotas__apply(&run->quotas, NULL);
    assert_false(hook_quotas__have_work(&run->quotas));
}

static const struct ledger_hooking *hooking(const struct run *run)
{
    ledger_ref ref = run->quotas.methods[METHOD].hooking;

    assert_int_not_equal(ref, 0);
    return ledger__at(&run->ledger, ref);
}

/* 50 calls a second, for 200 seconds, where 100 are allowed. */
static void a_slow_method_is_always_heard(void **state)
{
    (void)state;
    struct run run;

    begin(&run, 0);
    call(&run, 10000 / HOOK_QUOTA_STEP * HOOK_QUOTA_STEP, 200 * SECOND);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    assert_false(hooks[METHOD].muted || hooks[METHOD].off);
    assert_int_equal(run.quotas.methods[METHOD].hooking, 0);
    end(&run);
}

/* 60,000 calls a second of a favoured method, where the budget has room for 50,000, then for
 * 70,000. The other methods may make 100. */
static void the_budget_says_what_a_favoured_method_may_make(void **state)
{
    (void)state;

    for (uint32_t room = 50000; room <= 70000; room += 20000) {
        struct run run;

        begin(&run, SECOND);
        run.quotas.favoured_rate = room;
        hook_quotas__favour(&run.quotas.methods[METHOD], true);
        call(&run, 60000 * 60 / HOOK_QUOTA_STEP * HOOK_QUOTA_STEP, 60 * SECOND);
        assert_int_equal(hook_quotas__hear(&run.quotas, METHOD), room == 70000);
        end(&run);
    }
}

/* While the compilers are busy, 128 silent calls in two seconds are enough. Rare ones are tried
 * again. */
static void a_method_is_only_counted_soon_while_compilers_are_busy(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    call(&run, JUDGED, SECOND / 100);
    call_silently(&run, HOOK_START_CALLS, 2 * SECOND);
    assert_true(hooks[METHOD].counted && !hooks[METHOD].off);
    end(&run);
    begin(&run, SECOND);
    call(&run, JUDGED, SECOND / 100);
    call_silently(&run, HOOK_START_CALLS, 8 * SECOND);
    assert_false(hooks[METHOD].off || hooks[METHOD].counted);
    assert_in_range(run.quotas.methods[METHOD].rate, 14, 16);
    end(&run);
}

/* Muted at the end of its first quota, not before; only counted after 2000 silent calls in a tenth
 * of a second; and off after many more. */
static void a_hot_method_is_off(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    run.quotas.is_settled = true;
    call(&run, JUDGED - HOOK_QUOTA_STEP, SECOND / 100);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    call(&run, HOOK_QUOTA_STEP, SECOND / 1000);
    assert_true(hooks[METHOD].muted);
    assert_int_equal(hooks[METHOD].left, HOOK_SILENT_CALLS);
    assert_int_equal(hooking(&run)->state, HOOKING_MUTED);
    assert_int_equal(run.ledger.header->muted_methods, 1);
    call_silently(&run, HOOK_SILENT_CALLS - 1, SECOND / 10);
    assert_false(hooks[METHOD].counted);
    call_silently(&run, 1, 1);
    assert_true(hooks[METHOD].counted);
    assert_int_equal(hooking(&run)->state, HOOKING_COUNTED);
    count_calls(&run, METHOD, TOO_MANY_STEPS);
    assert_true(hooks[METHOD].off);
    assert_int_equal(run.ledger.header->off_methods, 1);
    assert_int_equal(run.ledger.header->muted_methods, 0);
    assert_int_equal(hooking(&run)->state, HOOKING_OFF);
    assert_int_equal(hooking(&run)->code_hash, 0xabcd);
    assert_int_equal(hooking(&run)->mutes, 1);
    /* 11 ms of it passed in the calls, and at most a second in the test itself. */
    assert_in_range(hooking(&run)->from_ns, SECOND, 2 * SECOND);
    assert_in_range(hooking(&run)->heard_ns, SECOND / 100, SECOND);
    assert_true(hooking(&run)->rate > HOOK_COUNT_RATE);
    assert_int_equal(hooking(&run)->rate_max, 100);
    assert_int_equal(hooking(&run)->heard_calls, JUDGED);
    end(&run);
}

/* 500 calls a second are too many. But not where all calls so far took less than half of the
 * budget: 1 % of a second is 10 ms, and 64 calls of 500 ns are 32 us. */
static void few_calls_may_be_fast(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    call(&run, JUDGED, JUDGED * SECOND / 500);
    assert_true(hooks[METHOD].muted);
    end(&run);
    begin(&run, SECOND);
    run.quotas.overhead_ppm = 10000;
    call(&run, JUDGED, JUDGED * SECOND / 500);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    run.quotas.heard = 100000;
    call(&run, 8 * JUDGED, 8 * JUDGED * SECOND / 500);
    assert_true(hooks[METHOD].muted);
    end(&run);
}

/* At 10 calls a second of 100 it saves 90 a second, and 800 in the end: a burst of 640 is heard,
 * one of 1280 is not. */
static void what_is_saved_up_may_be_a_burst(void **state)
{
    (void)state;
    struct run run;

    begin(&run, 0);
    call(&run, 640, 64 * SECOND);
    call(&run, 640, SECOND / 1000);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    call(&run, 640, 64 * SECOND);
    call(&run, 1280, SECOND / 1000);
    assert_false(hook_quotas__hear(&run.quotas, METHOD));
    end(&run);
}

/* 2000 calls in ten seconds: it stays muted, and they are counted. A thread that was late finds
 * that another one has looked. */
static void a_cool_method_stays_muted(void **state)
{
    (void)state;
    struct run run;
    uint32_t more = 0;

    begin(&run, SECOND);
    run.quotas.is_settled = true;
    call(&run, JUDGED, SECOND / 100);
    call_silently(&run, HOOK_SILENT_CALLS, 10 * SECOND);
    assert_int_equal(hooking(&run)->state, HOOKING_MUTED);
    assert_int_equal(hooks[METHOD].left, HOOK_SILENT_CALLS);
    assert_in_range(run.quotas.methods[METHOD].rate, 180, 200);
    hook_quotas__silent(&run.quotas, NULL, METHOD);
    assert_false(hooks[METHOD].off);
    call_silently(&run, 300, SECOND);
    read_silent(&run);
    assert_true(hook_quotas__learn_silent(&run.quotas, METHOD, &more));
    assert_int_equal(more, HOOK_SILENT_CALLS + 300);
    end(&run);
}

/* Before, nothing of it was to be counted: 32,767 calls were left. */
static void what_was_left_before_it_fell_silent_tells_nothing(void **state)
{
    (void)state;
    struct run run;
    uint32_t more = 0;

    begin(&run, SECOND);
    run.quotas.is_settled = true;
    hooks[METHOD].left = INT16_MAX;
    read_silent(&run);
    call(&run, JUDGED, SECOND / 100);
    assert_false(hook_quotas__hear(&run.quotas, METHOD));
    assert_false(hook_quotas__learn_silent(&run.quotas, METHOD, &more));
    pass(&run, SECOND);
    call_silently(&run, 100, SECOND);
    read_silent(&run);
    assert_true(hook_quotas__learn_silent(&run.quotas, METHOD, &more));
    assert_int_equal(more, 100);
    end(&run);
}

/* A thread writes an old count back: 100 calls, then 60, then 130. */
static void silent_calls_do_not_shrink(void **state)
{
    static const struct {
        uint32_t calls, more;
    } looks[] = {{100, 100}, {60, 0}, {130, 30}};
    (void)state;
    struct run run;

    begin(&run, SECOND);
    run.quotas.is_settled = true;
    call(&run, JUDGED, SECOND / 100);
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        uint32_t more = UINT32_MAX;

        pass(&run, SECOND);
        hooks[METHOD].left = (uint16_t)(HOOK_SILENT_CALLS - looks[i].calls);
        read_silent(&run);
        assert_true(hook_quotas__learn_silent(&run.quotas, METHOD, &more));
        assert_int_equal(more, looks[i].more);
        run.quotas.methods[METHOD].is_fresh = false;
    }
    end(&run);
}

/* 200 silent calls a second: the end of a count is written back over the beginning of the next. */
static void an_old_count_that_is_written_back_is_none(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    run.quotas.is_settled = true;
    call(&run, JUDGED, SECOND / 100);
    writes_back = 2;
    call_silently(&run, HOOK_SILENT_CALLS, 10 * SECOND);
    assert_int_equal(writes_back, 0);
    assert_int_equal(hooks[METHOD].left, HOOK_SILENT_CALLS);
    end(&run);
}

static struct hook_quotas *quotas_of_both;

static void count_to_the_end(uint32_t slot)
{
    hook_quotas__silent(quotas_of_both, NULL, slot);
}

/* 200 silent calls a second: two threads make the last of them at once. */
static void two_threads_that_count_to_the_end_are_one(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    run.quotas.is_settled = true;
    call(&run, JUDGED, SECOND / 100);
    assert_true(hooks[METHOD].muted);
    quotas_of_both = &run.quotas;
    meanwhile = count_to_the_end;
    for (int i = 0; i < 3; i++) {
        call_silently(&run, HOOK_SILENT_CALLS, 10 * SECOND);
        assert_false(hooks[METHOD].off);
        assert_int_equal(hooks[METHOD].left, HOOK_SILENT_CALLS);
        assert_in_range(run.quotas.methods[METHOD].rate, 180, 200);
    }
    meanwhile = NULL;
    end(&run);
}

/* Others judged the method meanwhile, and counted on. */
static void a_thread_that_comes_late_silences_nothing(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    call(&run, HOOK_QUOTA_STEP, SECOND);
    run.quotas.methods[METHOD].judged = 100 * HOOK_QUOTA_STEP;
    call(&run, HOOK_QUOTA_STEP, SECOND);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    assert_int_equal(run.quotas.methods[METHOD].judged, 100 * HOOK_QUOTA_STEP);
    end(&run);
}

/* Muted for 10 seconds, heard again for 20, by a thread that comes by for another reason. */
static void a_muted_method_is_heard_again(void **state)
{
    (void)state;
    struct run run;
    uint64_t heard_ns;

    begin(&run, SECOND);
    call(&run, JUDGED, JUDGED * SECOND / 500);
    heard_ns = hooking(&run)->heard_ns;
    pass(&run, 10 * SECOND);
    assert_false(hook_quotas__have_work(&run.quotas));
    assert_true(hook_quotas__try_again(&run.quotas, METHOD));
    assert_true(hook_quotas__have_work(&run.quotas));
    hook_quotas__apply(&run.quotas, NULL);
    assert_false(hook_quotas__have_work(&run.quotas) || hooks[METHOD].muted);
    assert_int_equal(hooking(&run)->state, HOOKING_HEARD);
    assert_int_equal(hooking(&run)->heard_ns, heard_ns);
    assert_int_equal(run.ledger.header->muted_methods, 0);
    /* Slow by now, and at the end fast again, with more than it can have saved up: the time that it
     * was heard has grown by 20 s. */
    call(&run, 64 * HOOK_QUOTA_STEP, 20 * SECOND);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    call(&run, 16 * JUDGED, SECOND / 10);
    assert_int_equal(hooking(&run)->state, HOOKING_MUTED);
    assert_in_range(hooking(&run)->heard_ns, heard_ns + 20 * SECOND, heard_ns + 22 * SECOND);
    assert_int_equal(hooking(&run)->mutes, 2);
    end(&run);
}

static struct run *racing;

static void hear_it(uint32_t slot)
{
    (void)slot;
    meanwhile = NULL;
    hook_quotas__apply(&racing->quotas, NULL);
}

/* A thread has counted silent calls to the end. The method is heard again before that thread mutes
 * it anew, and before another thread comes to that point. */
static void a_late_silent_call_mutes_no_heard_method(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    racing = &run;
    call(&run, 1024, SECOND / 100);
    assert_true(hook_quotas__is_muted(&run.quotas, METHOD));
    assert_true(hook_quotas__try_again(&run.quotas, METHOD));
    pass(&run, 100 * SECOND);
    hooks[METHOD].left = 0;
    meanwhile = hear_it;
    hook_quotas__silent(&run.quotas, NULL, METHOD);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    assert_false(hooks[METHOD].muted);
    pass(&run, SECOND);
    hooks[METHOD].left = 0;
    hook_quotas__silent(&run.quotas, NULL, METHOD);
    assert_false(hooks[METHOD].muted);
    end(&run);
}

/* Off within its first calls, while the compilers are busy. */
static void turn_off(struct run *run)
{
    call(run, JUDGED, SECOND / 100);
    call_silently(run, HOOK_START_CALLS, SECOND / 100);
    count_calls(run, METHOD, TOO_MANY_STEPS);
    assert_true(hook_quotas__is_off(&run->quotas, METHOD));
}

static void what_is_off_is_not_tried_again(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    turn_off(&run);
    assert_true(hook_quotas__try_again(&run.quotas, METHOD));
    hook_quotas__apply(&run.quotas, NULL);
    assert_false(hook_quotas__hear(&run.quotas, METHOD));
    for (uint32_t i = 0; i < HOOK_TRIES_MAX; i++)
        assert_true(hook_quotas__try_again(&run.quotas, METHOD));
    assert_false(hook_quotas__try_again(&run.quotas, METHOD));
    end(&run);
}

/* What include= names has a rate of its own. */
static void a_named_method_is_heard_longest(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    hook_quotas__add(&run.quotas, METHOD + 1, true, 0, 0);
    for (uint32_t i = 0; i < 100; i++)
        hook_quotas__step(&run.quotas, NULL, METHOD + 1, false);
    assert_true(hook_quotas__hear(&run.quotas, METHOD + 1));
    run.quotas.named_rate_max = 1000;
    for (uint32_t i = 0; i < 1000; i++)
        hook_quotas__step(&run.quotas, NULL, METHOD + 1, false);
    assert_false(hook_quotas__hear(&run.quotas, METHOD + 1));
    end(&run);
}

static void a_plan_leaves_a_method_out(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    memset(&run.quotas.methods[METHOD], 0, sizeof run.quotas.methods[METHOD]);
    hook_quotas__leave_out(&run.quotas, METHOD, 5000, 0x1234);
    hook_quotas__leave_out(&run.quotas, METHOD, 5000, 0x1234);
    assert_int_equal(hooking(&run)->state, HOOKING_OFF);
    assert_int_equal(hooking(&run)->from_ns, 0);
    assert_int_equal(hooking(&run)->rate, 5000);
    assert_int_equal(hooking(&run)->code_hash, 0x1234);
    assert_int_equal(run.ledger.header->off_methods, 1);
    end(&run);
}

/* 1000 calls at once are what the plan expects of it, 1200 are not. */
static void what_a_plan_expects_is_heard(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    hook_quotas__add(&run.quotas, METHOD + 1, false, 1000, 0);
    for (uint32_t calls = 0; calls < 1000; calls += HOOK_QUOTA_STEP)
        hook_quotas__step(&run.quotas, NULL, METHOD + 1, false);
    assert_true(hook_quotas__hear(&run.quotas, METHOD + 1));
    for (uint32_t calls = 0; calls < 200; calls += HOOK_QUOTA_STEP) {
        pass(&run, SECOND / 100000);
        hook_quotas__step(&run.quotas, NULL, METHOD + 1, false);
    }
    assert_false(hook_quotas__hear(&run.quotas, METHOD + 1));
    end(&run);
}

static void what_is_off_is_heard_again_in_another_slot(void **state)
{
    (void)state;
    struct run run;
    uint64_t heard_ns;

    begin(&run, SECOND);
    turn_off(&run);
    heard_ns = hooking(&run)->heard_ns;
    pass(&run, 10 * SECOND);
    assert_true(hook_quotas__begin_renewal(&run.quotas, METHOD));
    assert_false(hook_quotas__is_off(&run.quotas, METHOD));
    assert_false(hook_quotas__hear(&run.quotas, METHOD));
    assert_int_equal(hook_quotas__slot(&run.quotas, METHOD), HOOK_METHODS_MAX);
    assert_int_equal(hook_quotas__method(&run.quotas, HOOK_METHODS_MAX), METHOD);
    assert_int_equal(hook_quotas__method(&run.quotas, METHOD), METHOD);
    assert_false(hook_quotas__begin_renewal(&run.quotas, METHOD));
    hook_quotas__end_renewal(&run.quotas, NULL, METHOD, true);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    assert_int_equal(hooking(&run)->state, HOOKING_HEARD);
    assert_int_equal(hooking(&run)->heard_ns, heard_ns);
    assert_in_range(hooking(&run)->since_ns, 11 * SECOND, 12 * SECOND);
    assert_int_equal(run.ledger.header->off_methods, 0);
    assert_false(hooks[HOOK_METHODS_MAX].muted || hooks[HOOK_METHODS_MAX].off);
    end(&run);
}

/* The slot before is off for good, and nobody listens to its calls. */
static void a_slot_that_is_over_stays_off(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    turn_off(&run);
    assert_true(hook_quotas__begin_renewal(&run.quotas, METHOD));
    hook_quotas__end_renewal(&run.quotas, NULL, METHOD, true);
    call(&run, 1024, SECOND / 100);
    assert_int_equal(hooking(&run)->state, HOOKING_MUTED);
    assert_true(hooks[HOOK_METHODS_MAX].muted);
    pass(&run, SECOND / 1000);
    hook_quotas__silent(&run.quotas, NULL, METHOD);
    assert_int_equal(hooking(&run)->state, HOOKING_MUTED);
    call_silently(&run, HOOK_START_CALLS, SECOND / 100);
    assert_int_equal(hooking(&run)->state, HOOKING_MUTED); /* 12,800 a second are borne now */
    call_silently(&run, HOOK_START_CALLS, SECOND / 1000);
    assert_int_equal(hooking(&run)->state, HOOKING_COUNTED);
    count_calls(&run, HOOK_METHODS_MAX, TOO_MANY_STEPS);
    assert_int_equal(hooking(&run)->state, HOOKING_OFF);
    assert_true(hooks[HOOK_METHODS_MAX].off && hooks[METHOD].off);
    assert_int_equal(run.ledger.header->off_methods, 1);
    assert_true(hook_quotas__begin_renewal(&run.quotas, METHOD));
    assert_int_equal(hook_quotas__slot(&run.quotas, METHOD), HOOK_METHODS_MAX + 1);
    end(&run);
}

static void a_class_that_stays_as_it_is_renews_nothing(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    assert_false(hook_quotas__begin_renewal(&run.quotas, METHOD));
    turn_off(&run);
    assert_true(hook_quotas__begin_renewal(&run.quotas, METHOD));
    hook_quotas__end_renewal(&run.quotas, NULL, METHOD, false);
    assert_true(hook_quotas__is_off(&run.quotas, METHOD));
    assert_int_equal(run.ledger.header->off_methods, 1);
    assert_int_equal(run.quotas.methods[METHOD].renewals, 1);
    end(&run);
}

/* It was not heard before: its share begins when its class was looked at. */
static void a_planned_method_is_renewed(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    memset(&run.quotas.methods[METHOD], 0, sizeof run.quotas.methods[METHOD]);
    hook_quotas__leave_out(&run.quotas, METHOD, 5000, 0x1234);
    pass(&run, 10 * SECOND);
    assert_true(hook_quotas__begin_renewal(&run.quotas, METHOD));
    hook_quotas__add(&run.quotas, METHOD, false, 0, 0x1234);
    hook_quotas__end_renewal(&run.quotas, NULL, METHOD, true);
    assert_in_range(hooking(&run)->from_ns, SECOND, 2 * SECOND);
    assert_in_range(hooking(&run)->since_ns, 11 * SECOND, 12 * SECOND);
    assert_int_equal(hooking(&run)->heard_ns, 0);
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_method_is_always_heard),
        cmocka_unit_test(the_budget_says_what_a_favoured_method_may_make),
        cmocka_unit_test(a_hot_method_is_off),
        cmocka_unit_test(a_method_is_only_counted_soon_while_compilers_are_busy),
        cmocka_unit_test(few_calls_may_be_fast),
        cmocka_unit_test(what_is_saved_up_may_be_a_burst),
        cmocka_unit_test(a_cool_method_stays_muted),
        cmocka_unit_test(what_was_left_before_it_fell_silent_tells_nothing),
        cmocka_unit_test(silent_calls_do_not_shrink),
        cmocka_unit_test(an_old_count_that_is_written_back_is_none),
        cmocka_unit_test(two_threads_that_count_to_the_end_are_one),
        cmocka_unit_test(a_thread_that_comes_late_silences_nothing),
        cmocka_unit_test(a_muted_method_is_heard_again),
        cmocka_unit_test(a_late_silent_call_mutes_no_heard_method),
        cmocka_unit_test(what_is_off_is_not_tried_again),
        cmocka_unit_test(a_named_method_is_heard_longest),
        cmocka_unit_test(a_plan_leaves_a_method_out),
        cmocka_unit_test(what_a_plan_expects_is_heard),
        cmocka_unit_test(what_is_off_is_heard_again_in_another_slot),
        cmocka_unit_test(a_slot_that_is_over_stays_off),
        cmocka_unit_test(a_class_that_stays_as_it_is_renews_nothing),
        cmocka_unit_test(a_planned_method_is_renewed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
