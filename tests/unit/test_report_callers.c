/* The callers view's rules, on trees drawn by hand, made at random, and deep. */
#include "tools/report/report_callers.h"
#include "tools/report/report_flat.h"
#include "tools/report/report_order.h"

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

#include "tests/unit/drawn_numbers.h"
#include "tests/unit/drawn_report.h"

static void assert_edge(const struct report_callers *callers, const struct report_model *model,
                        const char *caller, const char *callee, const uint64_t expected[4])
{
    uint32_t from = drawn__index_of(model, caller);
    uint32_t to = drawn__index_of(model, callee);
    size_t cpu = report_callers__index(callers, COLUMN_CPU);
    size_t calls = report_callers__index(callers, COLUMN_CALLS);
    for (uint32_t i = callers->first_parent[to]; i < callers->first_parent[to + 1]; i++) {
        const struct caller_edge *edge = &callers->by_callee[i];
        if (edge->caller != from)
            continue;
        assert_int_equal(edge->base[calls], expected[0]);
        assert_int_equal(edge->base[cpu], expected[1]);
        assert_int_equal(edge->parent_cum[cpu], expected[2]);
        assert_int_equal(edge->child_cum[cpu], expected[3]);
        return;
    }
    fail_msg("no edge %s -> %s", caller, callee);
}

/*
 * Of the tree above. a's children: b 140 + 40, less the nested a (70) that came through b: 110,
 * which is a's 150 - 40. b's children: a 70, less the nested b (40) in it, and c 50: 80 = 140 - 60.
 */
static void callers_of_mutual_recursion(void **state)
{
    struct drawing drawing;
    (void)state;
    drawn__mutual_recursion(&drawing);
    struct report_model *model = drawn__load(&drawing);
    bool *selected = report_model__select(model, NULL);
    struct report_callers *callers = report_callers__new(model, selected, NULL);
    assert_int_equal(callers->edge_count, 4);
    /* calls, base, cum as a parent, cum as a child */
    assert_edge(callers, model, "(thread)", "a", (const uint64_t[]){1, 10, 150, 150});
    assert_edge(callers, model, "b", "a", (const uint64_t[]){3, 30, 0, 30});
    assert_edge(callers, model, "a", "b", (const uint64_t[]){6, 60, 140, 110});
    assert_edge(callers, model, "b", "c", (const uint64_t[]){5, 50, 50, 50});
    report_callers__free(callers);
    free(selected);
    report_model__free(model);
    drawing__end(&drawing);
}

/*
 * t (thread)        0
 *   (between ...)   5
 *   f           1  10    f calls itself: as a child of f it adds nothing, what it cost is in f's
 *     f         1  20    own cum already; g below it is a child of f all the same
 *       g       1  30
 */
static void callers_of_direct_recursion_and_gaps(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref f = drawn__method(&drawing, "f");
    ledger_ref g = drawn__method(&drawing, "g");
    ledger_ref thread = drawing__thread(&drawing, "t", THREAD_PLATFORM, 0);
    drawing__node(&drawing, drawing__root(&drawing, thread), NODE_GAP, 0, 0, 5);
    ledger_ref f1 = drawing__call(&drawing, drawing__root(&drawing, thread), f, 1, 10);
    ledger_ref f2 = drawing__call(&drawing, f1, f, 1, 20);
    drawing__call(&drawing, f2, g, 1, 30);
    struct report_model *model = drawn__load(&drawing);
    bool *selected = report_model__select(model, NULL);
    struct report_callers *callers = report_callers__new(model, selected, NULL);
    assert_int_equal(model->threads[0].cpu_ns, 65);
    assert_edge(callers, model, "(thread)", "(between Java threads)",
                (const uint64_t[]){0, 5, 5, 5});
    assert_edge(callers, model, "(thread)", "f", (const uint64_t[]){1, 10, 60, 60});
    assert_edge(callers, model, "f", "f", (const uint64_t[]){1, 20, 0, 0});
    assert_edge(callers, model, "f", "g", (const uint64_t[]){1, 30, 30, 30});
    report_callers__free(callers);
    free(selected);
    report_model__free(model);
    drawing__end(&drawing);
}

/* The four rules of the callers view, on every method and column. */
static void assert_rules(const struct report_model *model, const bool *selected)
{
    struct report_flat *flat = report_flat__new(model, selected);
    struct report_callers *callers = report_callers__new(model, selected, NULL);
    size_t calls = report_callers__index(callers, COLUMN_CALLS);
    for (uint32_t i = 0; i < flat->row_count; i++) {
        const struct flat_row *self = &flat->rows[i];
        if (self->method == METHOD_OF_THREAD)
            continue;
        for (size_t column = 0; column < callers->column_count; column++) {
            uint64_t parent_calls = 0;
            uint64_t parent_base = 0;
            uint64_t parent_cum = 0;
            uint64_t child_cum = 0;
            for (uint32_t j = callers->first_parent[self->method];
                 j < callers->first_parent[self->method + 1]; j++) {
                parent_calls += callers->by_callee[j].base[calls];
                parent_base += callers->by_callee[j].base[column];
                parent_cum += callers->by_callee[j].parent_cum[column];
            }
            for (uint32_t j = callers->first_child[self->method];
                 j < callers->first_child[self->method + 1]; j++) {
                child_cum += callers->by_caller[j].child_cum[column];
                assert_true(callers->by_caller[j].child_cum[column] < UINT64_MAX / 2);
            }
            enum report_column which = callers->columns[column];
            assert_int_equal(parent_calls, self->base[COLUMN_CALLS]);
            assert_int_equal(parent_base, self->base[which]);
            assert_int_equal(parent_cum, self->cum[which]);
            assert_int_equal(child_cum, self->cum[which] - self->base[which]);
        }
    }
    report_callers__free(callers);
    report_flat__free(flat);
}

static void draw_random(struct drawing *drawing, uint64_t *seed)
{
    ledger_ref methods[7];
    ledger_ref nodes[300];
    char name[16];
    for (unsigned i = 0; i < 7; i++) {
        snprintf(name, sizeof(name), "m%u", i);
        methods[i] = drawn__method(drawing, name);
    }
    unsigned method_count = 1 + (unsigned)(next_random(seed) % 7);
    for (unsigned thread = 0; thread < 3; thread++) {
        snprintf(name, sizeof(name), "thread-%u", thread);
        ledger_ref row = drawing__thread(drawing, name, THREAD_PLATFORM, next_random(seed) % 10);
        unsigned count = 1;
        unsigned wanted = 1 + (unsigned)(next_random(seed) % 299);
        nodes[0] = drawing__root(drawing, row);
        drawing__node(drawing, nodes[0], NODE_GAP, 0, 0, next_random(seed) % 100);
        while (count < wanted) {
            /* Half of them below the newest: deep trees, so that recursion nests. */
            unsigned at = next_random(seed) % 2 ? count - 1 : (unsigned)(next_random(seed) % count);
            ledger_ref which = methods[next_random(seed) % method_count];
            nodes[count] = drawing__call(drawing, nodes[at], which, next_random(seed) % 50,
                                         next_random(seed) % 1000000);
            if (next_random(seed) % 4 == 0)
                drawing__side(drawing, nodes[count], METRIC_MINOR_FAULTS, next_random(seed) % 9);
            count++;
        }
    }
}

static void the_rules_hold_on_random_trees(void **state)
{
    uint64_t seed = 20240229;
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        struct drawing drawing;
        drawing__begin(&drawing, 4u << 20);
        draw_random(&drawing, &seed);
        struct report_model *model = drawn__load(&drawing);
        assert_int_equal(model->skipped, 0);
        bool *selected = report_model__select(model, NULL);
        assert_rules(model, selected);
        free(selected);
        selected = report_model__select(model, "*-[12]");
        assert_false(selected[0]);
        assert_true(selected[2]);
        assert_rules(model, selected);
        free(selected);
        report_model__free(model);
        drawing__end(&drawing);
    }
}

static void a_deep_tree_needs_no_stack(void **state)
{
    enum { DEPTH = 100000 };
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 16u << 20);
    ledger_ref methods[3] = {drawn__method(&drawing, "a"), drawn__method(&drawing, "b"),
                             drawn__method(&drawing, "c")};
    ledger_ref thread = drawing__thread(&drawing, "deep", THREAD_PLATFORM, 0);
    ledger_ref node = drawing__root(&drawing, thread);
    for (unsigned i = 0; i < DEPTH; i++)
        node = drawing__call(&drawing, node, methods[i % 3], 1, 7);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->node_count, DEPTH + 1);
    assert_int_equal(model->nodes[DEPTH].depth, DEPTH);
    assert_int_equal(model->nodes[DEPTH].level, (DEPTH - 1) / 3);
    assert_int_equal(model->threads[0].cpu_ns, UINT64_C(7) * DEPTH);
    bool *selected = report_model__select(model, NULL);
    assert_rules(model, selected);
    uint32_t *order = report_order__tree(model, 0, COLUMN_CPU, ORDER_BY_CUM);
    assert_int_equal(order[DEPTH], DEPTH);
    free(order);
    free(selected);
    report_model__free(model);
    drawing__end(&drawing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callers_of_mutual_recursion),
        cmocka_unit_test(callers_of_direct_recursion_and_gaps),
        cmocka_unit_test(the_rules_hold_on_random_trees),
        cmocka_unit_test(a_deep_tree_needs_no_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
