/* Calls that are counted, not recorded: when, in what record, and which of them do not count. The
 * class of the hooks is the test's own, and adds to the counter that it was told of. */
#include "agent/methods/counted_methods.h"
#include "agent/methods/hook_counts.h"
#include "tests/unit/quota_run.h"

static struct ledger_hooking *record(const struct run *run)
{
    ledger_ref ref = run->quotas.methods[METHOD].hooking;

    assert_int_not_equal(ref, 0);
    return ledger__at(&run->ledger, ref);
}

/* As the class of the hooks does: recorded, or counted, or neither. Where calls are recorded none
 * is made here. */
static void call_while_silent(struct run *run, uint32_t calls)
{
    uint32_t slot = hook_quotas__slot(&run->quotas, METHOD);
    bool counts = !hooks[slot].off && (hooks[slot].counted || hooks[slot].muted);

    assert_true(hooks[slot].off || counts);
    if (counts && hooks[slot].counter > 0)
        thread_counters__add(&run->quotas.counters, (uint32_t)hooks[slot].counter, calls);
}

/* 64 calls in ten milliseconds, and then so many silent ones until it is judged, in that time. */
static void silence(struct run *run, uint64_t ns)
{
    begin(run, SECOND);
    call(run, JUDGED, SECOND / 100);
    call_while_silent(run, HOOK_START_CALLS);
    pass(run, ns);
    hooks[METHOD].left = 0;
    hook_quotas__silent(&run->quotas, NULL, METHOD);
}

static uint64_t counted(const struct run *run)
{
    hook_counts__publish(&run->quotas);
    return ledger_hooking__counted(record(run));
}

static void a_muted_method_is_counted_from_its_first_silent_call_on(void **state)
{
    (void)state;
    struct run run;

    silence(&run, 10 * SECOND);
    assert_int_equal(record(&run)->state, HOOKING_MUTED);
    assert_true(ledger_hooking__is_counting(record(&run)));
    assert_int_equal(counted(&run), HOOK_START_CALLS);
    end(&run);
}

/* Heard for 1 s and ten milliseconds, counted since, whatever its state: no time is lost in
 * between. */
static void no_time_is_lost_between_muted_and_counted(void **state)
{
    (void)state;
    struct run run;
    const struct ledger_hooking *of;

    silence(&run, SECOND);
    of = record(&run);
    assert_true(hooks[METHOD].counted && !hooks[METHOD].off);
    assert_int_equal(of->state, HOOKING_COUNTED);
    assert_int_equal(run.ledger.header->muted_methods, 0);
    assert_int_equal(run.ledger.header->off_methods, 0);
    assert_false(hook_quotas__is_off(&run.quotas, METHOD));
    assert_true(hook_quotas__is_counted(&run.quotas, METHOD));
    call_while_silent(&run, 1000);
    assert_int_equal(counted(&run), HOOK_START_CALLS + 1000);
    assert_int_equal(of->heard_ns, of->since_ns - of->from_ns);
    assert_int_equal(of->counted_ns, 0);
    end(&run);
}

/* It has 1,000 calls in hand, and may make 5,000 a second: at that rate 25,600 calls change
 * nothing, nor do 768 more at once. Then come 1,280 at once. */
static void what_is_too_fast_is_off(void **state)
{
    (void)state;
    struct run run;
    const struct ledger_hooking *of;

    silence(&run, SECOND / 1000);
    of = record(&run);
    for (unsigned i = 0; i < 100; i++) {
        pass(&run, SECOND * HOOK_COUNTED_STEP / 5000);
        count_calls(&run, METHOD, 1);
    }
    count_calls(&run, METHOD, 3);
    pass(&run, SECOND);
    count_calls(&run, METHOD, 4);
    assert_int_equal(of->state, HOOKING_COUNTED);
    assert_int_equal(run.ledger.header->off_methods, 0);
    count_calls(&run, METHOD, 1);
    assert_true(hooks[METHOD].off);
    assert_int_equal(hooks[METHOD].counter, HOOK_NO_COUNTER);
    assert_int_equal(of->state, HOOKING_OFF);
    assert_int_equal(run.ledger.header->off_methods, 1);
    assert_int_equal(of->heard_ns + of->counted_ns, of->since_ns - of->from_ns);
    call_while_silent(&run, 1000);
    assert_int_equal(counted(&run), HOOK_START_CALLS + 108 * HOOK_COUNTED_STEP);
    end(&run);
}

static void counting_can_stop(void **state)
{
    (void)state;
    struct run run;
    const struct ledger_hooking *of;

    silence(&run, SECOND);
    of = record(&run);
    pass(&run, 5 * SECOND);
    assert_true(hook_quotas__stop_counting(&run.quotas, METHOD));
    hook_quotas__apply(&run.quotas, NULL);
    assert_true(hooks[METHOD].off);
    assert_int_equal(of->state, HOOKING_OFF);
    assert_int_equal(run.ledger.header->off_methods, 1);
    assert_in_range(of->counted_ns, 6 * SECOND, 7 * SECOND);
    assert_int_equal(of->heard_ns + of->counted_ns, of->since_ns - of->from_ns);
    end(&run);
}

/* Its hooks pass another slot afterwards. Until then calls are counted, and then recorded. */
static void the_count_goes_on_until_a_renewed_method_is_heard(void **state)
{
    (void)state;
    struct run run;
    const struct ledger_hooking *of;

    silence(&run, SECOND);
    of = record(&run);
    pass(&run, 5 * SECOND);
    assert_true(hook_quotas__begin_renewal(&run.quotas, METHOD));
    assert_int_equal(of->state, HOOKING_COUNTED);
    assert_true(hook_quotas__stop_counting(&run.quotas, METHOD)); /* too late */
    hook_quotas__apply(&run.quotas, NULL);
    assert_false(hooks[METHOD].off || hooks[HOOK_METHODS_MAX].off);
    assert_true(hooks[METHOD].counter > 0);
    pass(&run, SECOND);
    hook_quotas__end_renewal(&run.quotas, NULL, METHOD, true);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    assert_int_equal(of->state, HOOKING_HEARD);
    assert_int_equal(run.ledger.header->off_methods, 0);
    assert_in_range(of->counted_ns, 7 * SECOND, 8 * SECOND);
    assert_int_equal(of->heard_ns + of->counted_ns, of->since_ns - of->from_ns);
    end(&run);
}

static void a_renewal_that_fails_ends_the_count(void **state)
{
    (void)state;
    struct run run;
    const struct ledger_hooking *of;

    silence(&run, SECOND);
    of = record(&run);
    assert_true(hook_quotas__begin_renewal(&run.quotas, METHOD));
    hook_quotas__end_renewal(&run.quotas, NULL, METHOD, false);
    assert_int_equal(of->state, HOOKING_OFF);
    assert_true(hook_quotas__is_off(&run.quotas, METHOD));
    assert_int_equal(run.ledger.header->off_methods, 1);
    end(&run);
}

/* Profiling is stopped twice: readers see no call of that time, neither then nor later. */
static void calls_while_profiling_is_stopped_do_not_count(void **state)
{
    (void)state;
    struct run run;

    silence(&run, SECOND);
    for (unsigned i = 1; i <= 2; i++) {
        hook_quotas__hold_all(&run.quotas, NULL, METHOD + 1, true);
        call_while_silent(&run, 500);
        assert_int_equal(counted(&run), HOOK_START_CALLS + (i - 1) * 7);
        hook_quotas__hold_all(&run.quotas, NULL, METHOD + 1, false);
        assert_int_equal(counted(&run), HOOK_START_CALLS + (i - 1) * 7);
        call_while_silent(&run, 7);
        assert_int_equal(counted(&run), HOOK_START_CALLS + i * 7);
    }
    end(&run);
}

/* It was muted once and is heard: held, its calls are counted by its slot, but do not count. */
static void held_calls_of_a_heard_method_do_not_count(void **state)
{
    (void)state;
    struct run run;

    silence(&run, 10 * SECOND);
    assert_true(hook_quotas__try_again(&run.quotas, METHOD));
    hook_quotas__apply(&run.quotas, NULL);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    hook_quotas__hold(&run.quotas, NULL, METHOD, true);
    call_while_silent(&run, 500);
    hook_quotas__hold_all(&run.quotas, NULL, METHOD + 1, true);
    hook_quotas__hold_all(&run.quotas, NULL, METHOD + 1, false);
    call_while_silent(&run, 500);
    hook_quotas__hold(&run.quotas, NULL, METHOD, false);
    assert_int_equal(counted(&run), HOOK_START_CALLS);
    assert_false(hooks[METHOD].muted);
    end(&run);
}

/* A method of which nothing is known, in a program whose budget for hooks is spent or not. */
static void begin_small(struct run *run, bool is_spent)
{
    begin(run, SECOND);
    memset(&run->quotas.methods[METHOD], 0, sizeof run->quotas.methods[METHOD]);
    run->quotas.overhead_ppm = 0;
    run->quotas.hooked = is_spent ? HOOK_ONCE_FREE_NS / COST_HOOKS_NS : 0;
}

static bool is_counted(struct run *run, uint32_t code_bytes)
{
    return counted_methods__count(&run->quotas, NULL, METHOD, code_bytes, 0xabcd);
}

/* As the class of the hooks does: until the slot has a counter, each call is told of. */
static void make_first_calls(struct run *run, uint32_t calls)
{
    for (uint32_t i = 0; i < calls; i++)
        counted_methods__first_call(&run->quotas, NULL, METHOD);
}

/* Three threads make the first call at once. */
static void a_small_method_is_counted_from_its_first_call_on(void **state)
{
    (void)state;
    struct run run;

    begin_small(&run, true);
    assert_true(is_counted(&run, HOOK_COUNTED_BYTES));
    assert_true(hooks[METHOD].counted);
    assert_int_equal(hooks[METHOD].counter, 0);
    assert_int_equal(run.quotas.methods[METHOD].hooking, 0); /* most are never called */
    pass(&run, SECOND);
    make_first_calls(&run, 3);
    assert_int_equal(run.quotas.only_counted, 0); /* it is not compiled yet */
    assert_true(hooks[METHOD].counter > 0);
    call_while_silent(&run, 100);
    assert_int_equal(counted(&run), 103);
    assert_int_equal(record(&run)->state, HOOKING_COUNTED);
    assert_int_equal(record(&run)->heard_ns, 0);
    assert_int_equal(record(&run)->since_ns, record(&run)->from_ns);
    assert_int_equal(record(&run)->code_hash, 0xabcd);
    assert_int_equal(record(&run)->mutes, 0);
    count_calls(&run, METHOD, TOO_MANY_STEPS);
    assert_int_equal(record(&run)->state, HOOKING_OFF);
    assert_int_equal(run.quotas.only_counted, 1);
    assert_int_equal(run.quotas.silenced, 0);
    assert_int_equal(record(&run)->counted_ns, record(&run)->since_ns - record(&run)->from_ns);
    assert_false(is_counted(&run, 1));
    end(&run);
}

static void larger_methods_and_those_that_the_budget_bears_are_not(void **state)
{
    (void)state;
    struct run run;

    begin_small(&run, true);
    assert_false(is_counted(&run, HOOK_COUNTED_BYTES + 1));
    run.quotas.hooked--;
    assert_false(is_counted(&run, 1));
    run.quotas.hooked++;
    hook_quotas__add(&run.quotas, METHOD, false, 0, 0xabcd);
    assert_false(is_counted(&run, 1)); /* it has hooks */
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    end(&run);
}

/* Its class is loaded, and the method called, while profiling is stopped. */
static void first_calls_while_profiling_is_stopped_do_not_count(void **state)
{
    (void)state;
    struct run run;

    begin_small(&run, true);
    hook_quotas__hold_all(&run.quotas, NULL, METHOD + 1, true);
    assert_true(is_counted(&run, 1));
    make_first_calls(&run, 2);
    call_while_silent(&run, 10);
    assert_int_equal(counted(&run), 0);
    hook_quotas__hold_all(&run.quotas, NULL, METHOD + 1, false);
    assert_int_equal(counted(&run), 0);
    call_while_silent(&run, 5);
    assert_int_equal(counted(&run), 5);
    end(&run);
}

/* A heard method's slot has no counter: its calls are told of once, and then no more. */
static void a_held_slot_without_a_counter_is_left_alone(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    hook_quotas__hold_all(&run.quotas, NULL, METHOD + 1, true);
    make_first_calls(&run, 1);
    assert_int_equal(hooks[METHOD].counter, HOOK_NO_COUNTER);
    assert_int_equal(run.quotas.methods[METHOD].counter, 0);
    hook_quotas__hold_all(&run.quotas, NULL, METHOD + 1, false);
    call(&run, JUDGED, SECOND / 100);
    assert_true(hooks[METHOD].counter > 0);
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_muted_method_is_counted_from_its_first_silent_call_on),
        cmocka_unit_test(no_time_is_lost_between_muted_and_counted),
        cmocka_unit_test(what_is_too_fast_is_off),
        cmocka_unit_test(counting_can_stop),
        cmocka_unit_test(the_count_goes_on_until_a_renewed_method_is_heard),
        cmocka_unit_test(a_renewal_that_fails_ends_the_count),
        cmocka_unit_test(calls_while_profiling_is_stopped_do_not_count),
        cmocka_unit_test(held_calls_of_a_heard_method_do_not_count),
        cmocka_unit_test(a_small_method_is_counted_from_its_first_call_on),
        cmocka_unit_test(larger_methods_and_those_that_the_budget_bears_are_not),
        cmocka_unit_test(first_calls_while_profiling_is_stopped_do_not_count),
        cmocka_unit_test(a_held_slot_without_a_counter_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
