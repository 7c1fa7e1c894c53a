/* The account of the profiler's own cost: what is counted in the trees, and that every part of the
 * facts comes out in its own part of the sum. */
#include "drawn_tree.h"
#include "native/cost/cost_model.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB (UINT64_C(1) << 20)

static struct ledger ledger;
static struct method_maker maker = {.ledger = &ledger};

static void begin(struct call_tree *tree)
{
    ledger_ref root;
    assert_int_equal(ledger__create(&ledger, NULL, MIB), 0);
    call_tree__init(tree, &ledger, make_letter_method, &maker);
    root = call_tree__add_plain_node(tree, 0, NODE_ROOT);
    call_tree__go_to(tree, root, 0);
}

static void call(struct call_tree *tree, const char *program, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        play(tree, program);
}

/* A: 6,000 calls in one context and 100 in another; B: 6,000 below A, 150 below C; C: 150. */
static void test_survey(void **state)
{
    struct method_calls methods = {0};
    struct call_survey survey;
    struct call_tree tree;
    (void)state;
    begin(&tree);
    call(&tree, "A B /B /A", 6000);
    call(&tree, "C B /B /C", 150);
    call(&tree, "D A /A /D", 100);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(call_survey__take(&survey, &ledger, &methods), 0);
        assert_int_equal(survey.calls, 6000 * 2 + 150 * 2 + 100 * 2);
        assert_int_equal(survey.methods, 4);
        assert_int_equal(survey.cold_calls, COST_COLD_CALLS * 2 + 150 + 100);
        assert_int_equal(survey.hot_methods, 2);
    }
    method_calls__free(&methods);
    ledger__close(&ledger);
}

static void test_no_calls(void **state)
{
    struct method_calls methods = {0};
    struct call_survey survey = {.calls = 7};
    struct call_tree tree;
    (void)state;
    begin(&tree);
    assert_int_equal(call_survey__take(&survey, &ledger, &methods), 0);
    assert_int_equal(survey.calls + survey.methods + survey.cold_calls + survey.hot_methods, 0);
    method_calls__free(&methods);
    ledger__close(&ledger);
}

static void test_measured_parts(void **state)
{
    const struct cost_facts facts = {.slow_ns = 3,
                                     .wait_brackets_ns = 900,
                                     .wait_ends = 10,
                                     .wrapped_ends = 4,
                                     .timed_ends = 2,
                                     .handler_ns = 1000,
                                     .signals = 5,
                                     .delivery_ns = 20,
                                     .threads_ns = 400,
                                     .classes_ns = 50,
                                     .compilers_ns = 1000000,
                                     .service_ns = 60,
                                     .recompiled_ns = 7};
    struct ledger_own_cost cost = cost_model__of(&facts);
    (void)state;
    assert_int_equal(cost.hooks_ns, 3);
    assert_int_equal(cost.samples_ns, 1100);
    assert_int_equal(cost.threads_ns, 400);
    assert_int_equal(cost.classes_ns, 50);
    assert_int_equal(cost.jvm_ns, 67);
    assert_int_equal(cost.waits_ns,
                     900 + 6 * COST_WAIT_END_NS + 4 * COST_WRAPPED_END_NS + 2 * COST_TIMED_END_NS);
    assert_int_equal(ledger_own_cost__sum(&cost), 3 + 1100 + 400 + 50 + 67 + cost.waits_ns);
}

/* With the calls the hooks' price grows, at least by what it is in a loop; what the compilers do
 * for hooks is never all that they do. */
static void test_prices(void **state)
{
    struct cost_facts facts = {
        .call_ps = 20000, .survey = {.calls = 1000000}, .compilers_ns = 1000000};
    struct ledger_own_cost few = cost_model__of(&facts), many;
    (void)state;
    assert_true(few.hooks_ns >= 20000000);
    assert_int_equal(few.jvm_ns, 0);
    facts.survey = (struct call_survey){
        .calls = 2000000, .methods = 1000, .cold_calls = 200000, .hot_methods = 1000};
    many = cost_model__of(&facts);
    assert_true(many.hooks_ns > 2 * few.hooks_ns);
    assert_true(many.jvm_ns > 0 && many.jvm_ns < facts.compilers_ns);
    facts.compilers_ns = UINT64_C(1000000000000);
    assert_true(cost_model__of(&facts).jvm_ns > many.jvm_ns);
    facts.silent_calls = 1000000;
    assert_true(cost_model__of(&facts).hooks_ns > many.hooks_ns);
    assert_true(cost_model__of(&facts).hooks_ns < many.hooks_ns + 1000000 * 20);
    facts.call_ps = 0; /* counts only, each of which takes 2.5 ns */
    assert_int_equal(cost_model__of(&facts).hooks_ns, 2500000);
    facts.silent_calls = 0;
    assert_int_equal(cost_model__of(&facts).hooks_ns, 0);
    assert_int_equal(cost_model__of(&facts).jvm_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_survey),
        cmocka_unit_test(test_no_calls),
        cmocka_unit_test(test_measured_parts),
        cmocka_unit_test(test_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
