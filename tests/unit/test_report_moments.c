/* Readings of one ledger at several moments: which node is which, and what each used up. */
#include "tools/report/report_moments.h"

#include <stdlib.h>
#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/drawn_report.h"

enum { NODES = 6 };

static void assert_growth(const uint64_t before[NODES], const uint64_t after[NODES],
                          const uint64_t expected[NODES])
{
    struct drawing drawing;
    uint64_t growth[NODES];
    drawn__mutual_recursion(&drawing);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->node_count, NODES);
    report_moments__grow(model, before, after, growth);
    for (unsigned i = 0; i < NODES; i++)
        assert_int_equal(growth[i], expected[i]);
    report_model__free(model);
    drawing__end(&drawing);
}

static void what_only_grows(void **state)
{
    (void)state;
    assert_growth((const uint64_t[]){1, 10, 20, 30, 40, 50},
                  (const uint64_t[]){1, 15, 20, 37, 41, 50}, (const uint64_t[]){0, 5, 0, 7, 1, 0});
}

/* Samples have moved 15 of the outer b to the frames below it, which grew by 30 and 5: b and they
 * together grew by 20, which is shared out as 30 to 5, rounded down; b has what is left. */
static void what_samples_moved(void **state)
{
    (void)state;
    assert_growth((const uint64_t[]){1, 10, 20, 30, 40, 50},
                  (const uint64_t[]){1, 10, 5, 60, 40, 55}, (const uint64_t[]){0, 0, 1, 17, 0, 2});
}

static void what_shrank_is_nothing(void **state)
{
    (void)state;
    assert_growth((const uint64_t[]){1, 10, 20, 30, 40, 50}, (const uint64_t[]){0, 0, 0, 0, 0, 0},
                  (const uint64_t[]){0, 0, 0, 0, 0, 0});
}

/* The same names stand in another order, beside others; "x" came and went, so what it had is its
 * caller's; and thread "t-1" has meanwhile been folded into "t-#". */
static void nodes_are_found_by_name(void **state)
{
    struct drawing early, late;
    uint64_t left_out = 0;
    (void)state;
    drawing__begin(&early, 1u << 20);
    ledger_ref a = drawn__method(&early, "a");
    ledger_ref x = drawn__method(&early, "x");
    ledger_ref thread = drawing__thread(&early, "t-1", THREAD_PLATFORM, 1);
    drawing__thread_at(&early, thread)->java_id = 7;
    ledger_ref in_a = drawing__call(&early, drawing__root(&early, thread), a, 1, 10);
    drawing__call(&early, in_a, x, 1, 100);
    drawing__call(&early, in_a, a, 1, 1000);
    ledger_ref gone = drawing__thread(&early, "nobody", THREAD_PLATFORM, 5);
    drawing__thread_at(&early, gone)->java_id = 8;

    drawing__begin(&late, 1u << 20);
    ledger_ref b = drawn__method(&late, "b");
    ledger_ref its_a = drawn__method(&late, "a");
    ledger_ref group = drawing__thread(&late, "t-#", THREAD_PLATFORM, 2);
    drawing__thread_at(&late, group)->flags |= THREAD_GROUP;
    drawing__thread_at(&late, group)->members = 2;
    drawing__call(&late, drawing__root(&late, group), b, 1, 3);
    ledger_ref outer = drawing__call(&late, drawing__root(&late, group), its_a, 1, 20);
    drawing__call(&late, outer, its_a, 1, 2000);

    struct report_model *earlier = drawn__load(&early);
    struct report_model *last = drawn__load(&late);
    struct report_moments *moments = report_moments__new(last);
    uint32_t *node_of = report_moments__find(moments, earlier, &left_out);
    uint64_t values[4] = {0}; /* the root, b, a, a below it */
    assert_int_equal(last->node_count, 4);
    report_moments__add(values, node_of, earlier, COLUMN_CPU);
    assert_int_equal(values[0], 1);
    assert_int_equal(values[1], 0);
    assert_int_equal(values[2], 110);
    assert_int_equal(values[3], 1000);
    assert_int_equal(left_out, 1);
    free(node_of);
    report_moments__free(moments);
    report_model__free(earlier);
    report_model__free(last);
    drawing__end(&early);
    drawing__end(&late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_grows),
        cmocka_unit_test(what_samples_moved),
        cmocka_unit_test(what_shrank_is_nothing),
        cmocka_unit_test(nodes_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
