/* The hot path of a thread in an interval, on trees drawn by hand. */
#include "tools/report/interval.h"
#include "tools/report/interval_path.h"

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

#include "tests/unit/drawn_interval.h"

/*
 *               before        now       growth (cum)
 * worker                               1000 ms
 *   a            base 5 s     5.1 s    ( 400)     newer siblings stand first in a real ledger;
 *     c               1 s     1.3 s    ( 300)     here they are appended, which is all the same
 *   b                 1 s     1.1 s    ( 600)
 *     d         -             300 ms   ( 300)     new
 *     e               9 s     9.2 s    ( 200)
 * The path: worker, b, d.
 */
static void the_path_follows_growth(void **state)
{
    struct bench bench;
    struct drawing *drawing = &bench.drawing;
    (void)state;
    begin(&bench);
    ledger_ref worker = draw_thread(&bench, "worker", 1, 1 * S, 0);
    ledger_ref root = thread_at(&bench, worker)->root;
    ledger_ref a = drawing__call(drawing, root, drawn__method(drawing, "a"), 1, 5 * S);
    ledger_ref c = drawing__call(drawing, a, drawn__method(drawing, "c"), 1, 1 * S);
    ledger_ref b = drawing__call(drawing, root, drawn__method(drawing, "b"), 10, 1 * S);
    ledger_ref e = drawing__call(drawing, b, drawn__method(drawing, "e"), 1, 9 * S);
    read_before(&bench);
    drawing__node_at(drawing, a)->cpu_ns += 100 * MS;
    drawing__node_at(drawing, c)->cpu_ns += 300 * MS;
    drawing__node_at(drawing, b)->cpu_ns += 100 * MS;
    drawing__node_at(drawing, b)->calls = 15;
    drawing__node_at(drawing, e)->cpu_ns += 200 * MS;
    drawing__call(drawing, b, drawn__method(drawing, "d"), 4, 300 * MS);
    read_now(&bench);
    struct interval_path path = interval_path__of(bench.interval, row_of(&bench, "worker"));
    static const struct {
        const char *name;
        uint64_t calls, base_ns, cum_ns;
    } expected[] = {
        {"(thread)", 0, 0, 1000 * MS}, {"b", 5, 100 * MS, 600 * MS}, {"d", 4, 300 * MS, 300 * MS}};
    assert_int_equal(path.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t method = bench.now->nodes[path.steps[i].node].method;
        assert_string_equal(bench.now->methods[method].name.bytes, expected[i].name);
        assert_int_equal(path.steps[i].calls, expected[i].calls);
        assert_int_equal(path.steps[i].base_ns, expected[i].base_ns);
        assert_int_equal(path.steps[i].cum_ns, expected[i].cum_ns);
    }
    free(path.steps);
    end(&bench);
}

/* It ends where a method consumed more itself than any that it called; and what a copy shows twice
 * (c was charged what a had had before) does not make a step heavier than the one above. */
static void the_path_ends_and_never_widens(void **state)
{
    struct bench bench;
    struct drawing *drawing = &bench.drawing;
    (void)state;
    begin(&bench);
    ledger_ref worker = draw_thread(&bench, "worker", 1, 1 * S, 0);
    ledger_ref root = thread_at(&bench, worker)->root;
    ledger_ref a = drawing__call(drawing, root, drawn__method(drawing, "a"), 1, 5 * S);
    ledger_ref c = drawing__call(drawing, a, drawn__method(drawing, "c"), 1, 1 * S);
    ledger_ref f = drawing__call(drawing, c, drawn__method(drawing, "f"), 1, 1 * S);
    read_before(&bench);
    drawing__node_at(drawing, a)->cpu_ns -= 200 * MS;
    drawing__node_at(drawing, c)->cpu_ns += 600 * MS;
    drawing__node_at(drawing, f)->cpu_ns += 100 * MS;
    read_now(&bench);
    struct interval_path path = interval_path__of(bench.interval, row_of(&bench, "worker"));
    assert_int_equal(path.count, 3); /* not f: c itself outweighs it */
    assert_int_equal(path.steps[0].cum_ns, 500 * MS);
    assert_int_equal(path.steps[1].cum_ns, 500 * MS);
    assert_int_equal(path.steps[1].base_ns, 0);
    assert_int_equal(path.steps[2].cum_ns, 500 * MS); /* 700 ms by its own books */
    assert_int_equal(path.steps[2].base_ns, 500 * MS);
    free(path.steps);
    end(&bench);
}

static void an_idle_thread_has_no_path(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    draw_thread(&bench, "idle", 1, 1 * S, 3 * S);
    read_before(&bench);
    read_now(&bench);
    struct interval_path path = interval_path__of(bench.interval, row_of(&bench, "idle"));
    assert_int_equal(path.count, 0);
    assert_null(path.steps);
    end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_follows_growth),
        cmocka_unit_test(the_path_ends_and_never_widens),
        cmocka_unit_test(an_idle_thread_has_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
