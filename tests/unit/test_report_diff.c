/* Two ledgers laid over each other, drawn by hand; the numbers are worked out on paper. */
#include "tools/report/report_diff.h"

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

struct pair {
    struct drawing drawings[DIFF_SIDES];
    struct report_model *models[DIFF_SIDES];
    bool *selected[DIFF_SIDES];
    struct report_diff *diff;
};

static void begin(struct pair *pair)
{
    memset(pair, 0, sizeof(*pair));
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
        drawing__begin(&pair->drawings[side], 1u << 20);
}

static void lay_over(struct pair *pair, struct diff_request request, const char *glob)
{
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        pair->models[side] = drawn__load(&pair->drawings[side]);
        pair->selected[side] = report_model__select(pair->models[side], glob);
    }
    const struct report_model *const models[] = {pair->models[DIFF_A], pair->models[DIFF_B]};
    const bool *const selected[] = {pair->selected[DIFF_A], pair->selected[DIFF_B]};
    pair->diff = report_diff__new(models, selected, &request);
}

static void end(struct pair *pair)
{
    report_diff__free(pair->diff);
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        free(pair->selected[side]);
        report_model__free(pair->models[side]);
        drawing__end(&pair->drawings[side]);
    }
}

/*
 * A                       B                          (calls, base)
 * main           10       main           10
 *   a      x1   100         a      x1   120
 *     b    x2    50           b    x5    30          b by two class loaders: two records
 *     c    x3     7           b    x1     5
 *                             d    x1     9
 * worker-1        5       worker-7        3
 *   a      x1    20         a      x2    25
 * worker-2        5       extra           1
 *   b      x4    40
 */
static void draw_releases(struct pair *pair)
{
    begin(pair);
    struct drawing *drawing = &pair->drawings[DIFF_A];
    ledger_ref a = drawn__method(drawing, "a");
    ledger_ref b = drawn__method(drawing, "b");
    ledger_ref root = drawing__root(drawing, drawing__thread(drawing, "main", THREAD_PLATFORM, 10));
    ledger_ref in_a = drawing__call(drawing, root, a, 1, 100);
    drawing__call(drawing, in_a, b, 2, 50);
    drawing__call(drawing, in_a, drawn__method(drawing, "c"), 3, 7);
    root = drawing__root(drawing, drawing__thread(drawing, "worker-1", THREAD_PLATFORM, 5));
    drawing__call(drawing, root, a, 1, 20);
    root = drawing__root(drawing, drawing__thread(drawing, "worker-2", THREAD_PLATFORM, 5));
    drawing__call(drawing, root, b, 4, 40);

    drawing = &pair->drawings[DIFF_B];
    ledger_ref other_b = drawn__method(drawing, "b");
    ledger_ref d = drawn__method(drawing, "d");
    b = drawn__method(drawing, "b");
    a = drawn__method(drawing, "a");
    root = drawing__root(drawing, drawing__thread(drawing, "main", THREAD_PLATFORM, 10));
    in_a = drawing__call(drawing, root, a, 1, 120);
    drawing__call(drawing, in_a, b, 5, 30);
    drawing__call(drawing, in_a, other_b, 1, 5);
    drawing__call(drawing, in_a, d, 1, 9);
    root = drawing__root(drawing, drawing__thread(drawing, "worker-7", THREAD_PLATFORM, 3));
    drawing__call(drawing, root, a, 2, 25);
    drawing__thread(drawing, "extra", THREAD_PLATFORM, 1);
}

static const struct diff_request trees_of_cpu = {.column = COLUMN_CPU, .trees = true};

static void threads_of_one_name_are_one_row(void **state)
{
    static const struct {
        const char *name;
        uint32_t present[2];
        uint64_t value[2], calls[2];
    } expected[] = {
        {"worker-#", {2, 1}, {70, 28}, {5, 2}},
        {"main", {1, 1}, {167, 174}, {6, 8}},
        {"extra", {0, 1}, {0, 1}, {0, 0}},
    };
    struct pair pair;
    (void)state;
    draw_releases(&pair);
    lay_over(&pair, trees_of_cpu, NULL);
    assert_int_equal(pair.diff->thread_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct diff_thread *row = &pair.diff->threads[i];
        assert_string_equal(row->name.bytes, expected[i].name);
        for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
            assert_int_equal(row->present[side], expected[i].present[side]);
            assert_int_equal(row->value[side], expected[i].value[side]);
            assert_int_equal(row->calls[side], expected[i].calls[side]);
        }
    }
    assert_int_equal(pair.diff->total[DIFF_A], 237);
    assert_int_equal(pair.diff->total[DIFF_B], 203);
    assert_int_equal(pair.diff->total_calls[DIFF_A], 11);
    assert_int_equal(pair.diff->total_calls[DIFF_B], 10);
    end(&pair);
}

struct expected_node {
    const char *name;
    uint32_t depth, end;
    uint64_t calls[2], base[2], cum[2];
    bool present[2];
};

static void assert_nodes(const struct report_diff *diff, const struct expected_node *expected,
                         uint32_t count)
{
    assert_int_equal(diff->node_count, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct diff_node *node = &diff->nodes[i];
        assert_string_equal(diff->methods[node->method].name.bytes, expected[i].name);
        assert_int_equal(node->depth, expected[i].depth);
        assert_int_equal(node->end, expected[i].end);
        for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
            assert_int_equal(node->calls[side], expected[i].calls[side]);
            assert_int_equal(node->base[side], expected[i].base[side]);
            assert_int_equal(node->cum[side], expected[i].cum[side]);
            assert_int_equal(node->present[side], expected[i].present[side]);
        }
    }
}

static void nodes_meet_by_their_paths(void **state)
{
    static const struct expected_node expected[] = {
        {"(thread)", 0, 3, {0, 0}, {10, 3}, {70, 28}, {true, true}},
        {"b", 1, 2, {4, 0}, {40, 0}, {40, 0}, {true, false}},
        {"a", 1, 3, {1, 2}, {20, 25}, {20, 25}, {true, true}},
        {"(thread)", 0, 8, {0, 0}, {10, 10}, {167, 174}, {true, true}},
        {"a", 1, 8, {1, 1}, {100, 120}, {157, 164}, {true, true}},
        {"b", 2, 6, {2, 6}, {50, 35}, {50, 35}, {true, true}},
        {"d", 2, 7, {0, 1}, {0, 9}, {0, 9}, {false, true}},
        {"c", 2, 8, {3, 0}, {7, 0}, {7, 0}, {true, false}},
        {"(thread)", 0, 9, {0, 0}, {0, 1}, {0, 1}, {false, true}},
    };
    struct pair pair;
    (void)state;
    draw_releases(&pair);
    lay_over(&pair, trees_of_cpu, NULL);
    assert_nodes(pair.diff, expected, 9);
    assert_int_equal(pair.diff->threads[1].first_node, 3);
    assert_int_equal(pair.diff->threads[1].end_node, 8);
    assert_int_equal(pair.diff->nodes[5].parent, 4);
    end(&pair);
}

static void flat_rows_go_by_the_change_of_base(void **state)
{
    static const struct {
        const char *name;
        uint64_t calls[2], base[2], cum[2];
    } expected[] = {
        {"b", {6, 6}, {90, 35}, {90, 35}},
        {"a", {2, 3}, {120, 145}, {177, 189}},
        {"d", {0, 1}, {0, 9}, {0, 9}},
        {"c", {3, 0}, {7, 0}, {7, 0}},
        {"(thread)", {0, 0}, {20, 14}, {237, 203}},
    };
    struct pair pair;
    uint32_t count;
    (void)state;
    draw_releases(&pair);
    lay_over(&pair, trees_of_cpu, NULL);
    struct diff_flat_row *rows = report_diff__flat(pair.diff, &count);
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(pair.diff->methods[rows[i].method].name.bytes, expected[i].name);
        for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
            assert_int_equal(rows[i].calls[side], expected[i].calls[side]);
            assert_int_equal(rows[i].base[side], expected[i].base[side]);
            assert_int_equal(rows[i].cum[side], expected[i].cum[side]);
        }
    }
    free(rows);
    end(&pair);
}

/* The largest changes of cum: worker-#'s root 42, b below it 40, b in main 15. */
static void the_largest_changes_hang_together(void **state)
{
    struct pair pair;
    (void)state;
    draw_releases(&pair);
    lay_over(&pair, trees_of_cpu, NULL);
    bool *shown = report_diff__changed(pair.diff, 2);
    const bool two[] = {true, true, false, false, false, false, false, false, false};
    assert_memory_equal(shown, two, sizeof(two));
    free(shown);
    shown = report_diff__changed(pair.diff, 3);
    const bool three[] = {true, true, false, true, true, true, false, false, false};
    assert_memory_equal(shown, three, sizeof(three));
    free(shown);
    end(&pair);
}

static void only_selected_threads_count(void **state)
{
    struct pair pair;
    (void)state;
    draw_releases(&pair);
    lay_over(&pair, trees_of_cpu, "worker-1");
    assert_int_equal(pair.diff->thread_count, 1);
    assert_string_equal(pair.diff->threads[0].name.bytes, "worker-1");
    assert_int_equal(pair.diff->total[DIFF_A], 25);
    assert_int_equal(pair.diff->total[DIFF_B], 0);
    assert_int_equal(pair.diff->node_count, 2);
    end(&pair);
}

/*
 * A: t, x x10 30 and y x10 70: 100 in 20 calls. B: x x5 120, y x35 80: 200 in 40 calls. A twice:
 * x x20 60, y x20 140.
 */
static void scaled_to_the_other_total(void **state)
{
    static const struct expected_node expected[] = {
        {"(thread)", 0, 3, {0, 0}, {0, 0}, {200, 200}, {true, true}},
        {"x", 1, 2, {20, 5}, {60, 120}, {60, 120}, {true, true}},
        {"y", 1, 3, {20, 35}, {140, 80}, {140, 80}, {true, true}},
    };
    static const uint64_t calls[][2] = {{10, 10}, {5, 35}};
    static const uint64_t cpu_ns[][2] = {{30, 70}, {120, 80}};
    struct pair pair;
    (void)state;
    begin(&pair);
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        struct drawing *drawing = &pair.drawings[side];
        ledger_ref root = drawing__root(drawing, drawing__thread(drawing, "t", THREAD_VM, 0));
        drawing__call(drawing, root, drawn__method(drawing, "x"), calls[side][0], cpu_ns[side][0]);
        drawing__call(drawing, root, drawn__method(drawing, "y"), calls[side][1], cpu_ns[side][1]);
    }
    struct diff_request request = trees_of_cpu;
    request.normalize = true;
    lay_over(&pair, request, NULL);
    /* x and y changed as much, and their calls too: then by name */
    assert_nodes(pair.diff, expected, 3);
    assert_int_equal(pair.diff->threads[0].value[DIFF_A], 200);
    assert_int_equal(pair.diff->threads[0].calls[DIFF_A], 40);
    assert_int_equal(pair.diff->total[DIFF_A], 100);
    end(&pair);
}

static void a_ledger_and_itself_do_not_differ(void **state)
{
    struct pair pair;
    (void)state;
    memset(&pair, 0, sizeof(pair));
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
        drawn__mutual_recursion(&pair.drawings[side]);
    lay_over(&pair, (struct diff_request){.column = COLUMN_WALL, .trees = true, .normalize = true},
             NULL);
    bool *shown = report_diff__changed(pair.diff, 0);
    assert_int_equal(pair.diff->node_count, 6);
    for (uint32_t i = 0; i < pair.diff->node_count; i++) {
        const struct diff_node *node = &pair.diff->nodes[i];
        assert_false(shown[i]);
        assert_int_equal(node->level, pair.models[DIFF_A]->nodes[i].level);
        assert_int_equal(node->cum[DIFF_A], node->cum[DIFF_B]);
        assert_int_equal(node->cum[DIFF_A], pair.models[DIFF_A]->cum[COLUMN_WALL][i]);
    }
    free(shown);
    end(&pair);
}

/* The larger change of calls first: worker-# 5 to 2, main 6 to 8, extra 0 to 0. */
static void a_steady_order_is_that_of_no_column(void **state)
{
    static const enum report_column columns[] = {COLUMN_CPU, COLUMN_WALL, COLUMN_CALLS};
    static const char *const names[] = {"worker-#", "main", "extra"};
    struct diff_node first[16];
    (void)state;
    for (size_t column = 0; column < 3; column++) {
        struct pair pair;
        struct diff_request request = {.column = columns[column], .trees = true, .steady = true};
        draw_releases(&pair);
        lay_over(&pair, request, NULL);
        assert_in_range(pair.diff->node_count, 8, 16);
        for (size_t i = 0; i < 3; i++)
            assert_string_equal(pair.diff->threads[i].name.bytes, names[i]);
        for (uint32_t i = 0; i < pair.diff->node_count; i++) {
            const struct diff_node *node = &pair.diff->nodes[i];
            if (column == 0)
                first[i] = *node;
            assert_int_equal(node->method, first[i].method);
            assert_int_equal(node->parent, first[i].parent);
            assert_int_equal(node->calls[DIFF_B], first[i].calls[DIFF_B]);
        }
        end(&pair);
    }
}

/* f(int) is in A only, f(long) in B only: together they need their parameters. */
static void overloads_of_both_sides_are_told_apart(void **state)
{
    static const char *const signatures[] = {"(I)V", "(J)V"};
    struct text_store store = {0};
    struct pair pair;
    (void)state;
    begin(&pair);
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        struct drawing *drawing = &pair.drawings[side];
        ledger_ref f = drawing__method(drawing, "T", "f", signatures[side]);
        ledger_ref root = drawing__root(drawing, drawing__thread(drawing, "t", THREAD_PLATFORM, 0));
        drawing__call(drawing, root, f, 1, 10 + side);
    }
    lay_over(&pair, trees_of_cpu, NULL);
    const struct diff_node *node = &pair.diff->nodes[1];
    assert_string_equal(report_method__full_name(&store, &pair.diff->methods[node->method]).bytes,
                        "T.f(long)");
    node = &pair.diff->nodes[2];
    assert_string_equal(report_method__full_name(&store, &pair.diff->methods[node->method]).bytes,
                        "T.f(int)");
    text_store__release(&store);
    end(&pair);
}

/* So deep would be a stack overflow if anything here were recursive. */
static void deep_trees_are_walked_by_loops(void **state)
{
    enum { DEPTH = 200000 };
    struct pair pair;
    (void)state;
    memset(&pair, 0, sizeof(pair));
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        struct drawing *drawing = &pair.drawings[side];
        drawing__begin(drawing, 64u << 20);
        ledger_ref a = drawn__method(drawing, "a");
        ledger_ref node = drawing__root(drawing, drawing__thread(drawing, "t", THREAD_PLATFORM, 0));
        for (unsigned i = 0; i < DEPTH; i++)
            node = drawing__call(drawing, node, a, 1, 1 + side);
    }
    lay_over(&pair, trees_of_cpu, NULL);
    assert_int_equal(pair.diff->node_count, DEPTH + 1);
    assert_int_equal(pair.diff->nodes[0].cum[DIFF_A], DEPTH);
    assert_int_equal(pair.diff->nodes[0].cum[DIFF_B], 2 * DEPTH);
    assert_int_equal(pair.diff->nodes[DEPTH].level, DEPTH - 1);
    end(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_one_name_are_one_row),
        cmocka_unit_test(nodes_meet_by_their_paths),
        cmocka_unit_test(flat_rows_go_by_the_change_of_base),
        cmocka_unit_test(the_largest_changes_hang_together),
        cmocka_unit_test(only_selected_threads_count),
        cmocka_unit_test(scaled_to_the_other_total),
        cmocka_unit_test(a_ledger_and_itself_do_not_differ),
        cmocka_unit_test(a_steady_order_is_that_of_no_column),
        cmocka_unit_test(overloads_of_both_sides_are_told_apart),
        cmocka_unit_test(deep_trees_are_walked_by_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
