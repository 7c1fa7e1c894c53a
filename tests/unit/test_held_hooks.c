/* Hooks that stay in the classes while profiling is stopped: all methods are silent, and afterwards
 * each is what it was, or what it has become. */
#include "tests/unit/quota_run.h"

#define OTHER   (METHOD + 1)
#define METHODS (OTHER + 1)

static void hold(struct run *run, bool held)
{
    hook_quotas__hold_all(&run->quotas, NULL, METHODS, held);
}

static void a_heard_method_is_silent_while_it_is_held(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    for (unsigned i = 0; i < 3; i++) {
        hold(&run, true);
        assert_true(hooks[METHOD].muted && hooks[METHOD].left == INT16_MAX);
        assert_true(hook_quotas__hear(&run.quotas, METHOD));
        hold(&run, false);
        assert_false(hooks[METHOD].muted);
    }
    assert_false(run.quotas.methods[METHOD].hooking); /* it was always heard */
    assert_int_equal(run.ledger.header->muted_methods, 0);
    end(&run);
}

/* However often a held method is called, it is no hot one, and it is asked seldom. */
static void silent_calls_of_held_methods_say_nothing(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    hold(&run, true);
    for (unsigned i = 0; i < 3; i++) {
        pass(&run, 1000);
        hooks[METHOD].left = 0;
        hook_quotas__silent(&run.quotas, NULL, METHOD);
        assert_true(hooks[METHOD].muted && hooks[METHOD].left == INT16_MAX && !hooks[METHOD].off);
    }
    hold(&run, false);
    assert_false(hooks[METHOD].muted);
    assert_int_equal(run.quotas.methods[METHOD].rate, 0);
    end(&run);
}

/* Nor is one off that was muted before; it stays muted. */
static void a_muted_method_is_muted_afterwards(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    call(&run, 1024, SECOND / 100);
    assert_true(hook_quotas__is_muted(&run.quotas, METHOD) && hooks[METHOD].muted);
    hold(&run, true);
    for (unsigned i = 0; i < 3; i++) {
        pass(&run, 1000);
        hooks[METHOD].left = 0;
        hook_quotas__silent(&run.quotas, NULL, METHOD);
    }
    hold(&run, false);
    assert_true(hook_quotas__is_muted(&run.quotas, METHOD));
    assert_true(hooks[METHOD].muted && !hooks[METHOD].off);
    end(&run);
}

/* The budget hears it again while it is held: its calls begin when the hold ends. */
static void what_is_tried_again_waits_for_the_end_of_the_hold(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    call(&run, 1024, SECOND / 100);
    hold(&run, true);
    assert_true(hook_quotas__try_again(&run.quotas, METHOD));
    hook_quotas__apply(&run.quotas, NULL);
    assert_true(hook_quotas__hear(&run.quotas, METHOD));
    assert_true(hooks[METHOD].muted);
    hold(&run, false);
    assert_false(hooks[METHOD].muted);
    end(&run);
}

/* Hooks that stay silent for another reason, such as a filter that leaves the method out. */
static void a_method_that_is_held_by_itself_stays_so(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    hook_quotas__hold(&run.quotas, NULL, METHOD, true);
    hold(&run, true);
    hold(&run, false);
    assert_true(hooks[METHOD].muted);
    hold(&run, true);
    hook_quotas__hold(&run.quotas, NULL, METHOD, false);
    assert_true(hooks[METHOD].muted);
    hold(&run, false);
    assert_false(hooks[METHOD].muted);
    end(&run);
}

/* Of a class that is loaded while profiling is stopped. */
static void what_gets_hooks_meanwhile_is_silent_at_once(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    hold(&run, true);
    hook_quotas__add(&run.quotas, OTHER, false, 0, 0);
    hook_quotas__hold_added(&run.quotas, NULL, OTHER);
    assert_true(hooks[OTHER].muted);
    hold(&run, false);
    assert_false(hooks[OTHER].muted);
    hook_quotas__hold_added(&run.quotas, NULL, OTHER);
    assert_false(hooks[OTHER].muted);
    end(&run);
}

static struct run *racing;

static void end_hold(uint32_t slot)
{
    (void)slot;
    meanwhile = NULL;
    hold(racing, false);
}

/* The hold ends while another thread is about to mute a slot: it is not muted for good. */
static void no_method_stays_muted_after_the_hold(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    racing = &run;
    hold(&run, true);
    hook_quotas__add(&run.quotas, OTHER, false, 0, 0);
    meanwhile = end_hold;
    hook_quotas__hold_added(&run.quotas, NULL, OTHER);
    assert_false(hooks[OTHER].muted);
    hold(&run, true);
    pass(&run, 1000);
    hooks[METHOD].left = 0;
    meanwhile = end_hold;
    hook_quotas__silent(&run.quotas, NULL, METHOD);
    assert_false(hooks[METHOD].muted);
    end(&run);
}

static void a_postponed_method_stays_muted(void **state)
{
    (void)state;
    struct run run;

    begin(&run, SECOND);
    assert_true(hook_quotas__postpone(&run.quotas, NULL, OTHER, HOOK_POSTPONE_ANYWAY));
    hold(&run, true);
    hold(&run, false);
    assert_true(hooks[OTHER].muted && hook_quotas__is_off(&run.quotas, OTHER));
    hold(&run, true);
    assert_true(hook_quotas__begin_renewal(&run.quotas, OTHER));
    hook_quotas__end_renewal(&run.quotas, NULL, OTHER, true);
    assert_true(hooks[OTHER].muted);
    hold(&run, false);
    assert_false(hooks[OTHER].muted);
    end(&run);
}

/* Without a budget nothing is held. */
static void without_quotas_there_is_no_hold(void **state)
{
    (void)state;
    struct hook_quotas none = {0};

    memset(hooks, 0, sizeof hooks);
    hook_quotas__hold_all(&none, NULL, METHODS, true);
    hook_quotas__hold_added(&none, NULL, METHOD);
    assert_false(hooks[METHOD].muted || none.all_held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heard_method_is_silent_while_it_is_held),
        cmocka_unit_test(silent_calls_of_held_methods_say_nothing),
        cmocka_unit_test(a_muted_method_is_muted_afterwards),
        cmocka_unit_test(what_is_tried_again_waits_for_the_end_of_the_hold),
        cmocka_unit_test(a_method_that_is_held_by_itself_stays_so),
        cmocka_unit_test(what_gets_hooks_meanwhile_is_silent_at_once),
        cmocka_unit_test(no_method_stays_muted_after_the_hold),
        cmocka_unit_test(a_postponed_method_stays_muted),
        cmocka_unit_test(without_quotas_there_is_no_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
