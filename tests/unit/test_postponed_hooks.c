/* Hooks of small methods of a program that has more methods than the process's CPU time bears. */
#include "tests/unit/quota_run.h"

#define SMALL (METHOD + 1)

/* 1000 methods cost what may be spent in any case: 20 ms. With a budget of 2 % each second of the
 * process's CPU bears 1000 more. */
static void begin_spent(struct run *run)
{
    const struct ledger_method_names names = {.class_name = "A", .name = "c", .signature = "()V"};

    begin(run, SECOND);
    assert_int_not_equal(ledger__add_method(&run->ledger, SMALL, &names, 0), 0);
    run->quotas.overhead_ppm = 20000;
    run->quotas.hooked = 1300;
}

static void small_methods_beyond_what_is_borne_are_postponed(void **state)
{
    (void)state;
    struct run run;

    begin_spent(&run);
    run.quotas.hooked = 999;
    assert_false(hook_quotas__postpone(&run.quotas, NULL, SMALL, 10));
    run.quotas.hooked = 1300;
    assert_false(hook_quotas__postpone(&run.quotas, NULL, METHOD, 10)); /* has had hooks */
    assert_false(hook_quotas__postpone(&run.quotas, NULL, SMALL, 36));
    run.quotas.cpu_ns = run.quotas.began_cpu_ns + SECOND;
    assert_false(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35));
    run.quotas.cpu_ns = run.quotas.began_cpu_ns;
    assert_true(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35));
    assert_true(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35)); /* of another loader */
    assert_true(hook_quotas__is_off(&run.quotas, SMALL));
    assert_int_equal(run.ledger.header->off_methods, 0);
    end(&run);
}

/* 34 methods that fell silent cost as much. */
static void methods_that_fell_silent_are_not_borne_for_ever(void **state)
{
    (void)state;
    struct run run;

    begin_spent(&run);
    run.quotas.hooked = 0;
    run.quotas.silenced = 33;
    assert_false(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35));
    run.quotas.silenced = 35;
    assert_true(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35));
    end(&run);
}

/* Copies of a class that got hooks all the same are not heard; a slot says so for INT16_MAX calls,
 * and then again. */
static void what_is_postponed_is_muted(void **state)
{
    (void)state;
    struct run run;

    begin_spent(&run);
    assert_true(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35));
    assert_true(hooks[SMALL].muted && !hooks[SMALL].off);
    for (unsigned i = 0; i < 3; i++) {
        pass(&run, 1000);
        hooks[SMALL].left = 0;
        hook_quotas__silent(&run.quotas, NULL, SMALL);
        assert_true(hooks[SMALL].muted && hooks[SMALL].left > 0 && !hooks[SMALL].off);
    }
    assert_true(run.quotas.methods[SMALL].is_postponed);
    end(&run);
}

static void renew(struct run *run)
{
    assert_true(hook_quotas__begin_renewal(&run->quotas, SMALL));
    run->quotas.methods[SMALL].was_counted = true;
}

static void check_heard(const struct run *run)
{
    const struct ledger_hooking *record =
        ledger__at(&run->ledger, run->quotas.methods[SMALL].hooking);

    assert_true(hook_quotas__hear(&run->quotas, SMALL));
    assert_false(hooks[SMALL].muted);
    assert_int_equal(hook_quotas__slot(&run->quotas, SMALL), SMALL);
    assert_int_equal(run->quotas.methods[SMALL].renewals, 0);
    assert_int_equal(run->ledger.header->postponed_methods, 0);
    assert_int_equal(run->ledger.header->hooked_methods, 1);
    assert_int_equal(run->ledger.header->off_methods, 0);
    assert_int_equal(record->state, HOOKING_HEARD);
    assert_in_range(record->from_ns, SECOND, 2 * SECOND);
    assert_in_range(record->since_ns, 11 * SECOND, 12 * SECOND);
    assert_int_equal(record->heard_ns, 0);
}

/* The budget has saved up for it: hooks come whatever the process's CPU bears. */
static void a_postponed_method_is_renewed(void **state)
{
    (void)state;
    struct run run;

    begin_spent(&run);
    assert_true(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35));
    run.quotas.methods[SMALL].is_told = true;
    run.ledger.header->postponed_methods = 1;
    pass(&run, 10 * SECOND);
    run.quotas.methods[SMALL].is_paid = true;
    renew(&run);
    assert_false(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35));
    hook_quotas__add(&run.quotas, SMALL, false, 0, 0x1234);
    assert_true(hooks[SMALL].muted);
    hook_quotas__end_renewal(&run.quotas, NULL, SMALL, true);
    check_heard(&run);
    end(&run);
}

/* A start asks for each copy of a class. What is said of the first holds for the second, though by
 * then there is room, or none. */
static void a_start_says_the_same_of_all_copies(void **state)
{
    (void)state;
    struct run run;

    begin_spent(&run);
    assert_true(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35));
    renew(&run);
    assert_true(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35));
    run.quotas.hooked = 0;
    assert_true(hook_quotas__is_off(&run.quotas, SMALL));
    assert_false(run.quotas.methods[SMALL].is_renewed);
    pass(&run, 10 * SECOND);
    renew(&run);
    assert_false(hook_quotas__postpone(&run.quotas, NULL, SMALL, 35));
    hook_quotas__add(&run.quotas, SMALL, false, 0, 0x1234);
    run.quotas.hooked = 100000;
    assert_false(hook_quotas__postpone(&run.quotas, NULL, SMALL, 60));
    hook_quotas__add(&run.quotas, SMALL, false, 0, 0x1234);
    assert_int_equal(run.quotas.hooked, 100000); /* one method, whatever its copies */
    hook_quotas__end_renewal(&run.quotas, NULL, SMALL, true);
    check_heard(&run);
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_methods_beyond_what_is_borne_are_postponed),
        cmocka_unit_test(methods_that_fell_silent_are_not_borne_for_ever),
        cmocka_unit_test(what_is_postponed_is_muted),
        cmocka_unit_test(a_postponed_method_is_renewed),
        cmocka_unit_test(a_start_says_the_same_of_all_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
