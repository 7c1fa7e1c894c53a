/* The report's sums, on trees drawn by hand. */
#include "tools/report/report_balance.h"
#include "tools/report/report_flat.h"
#include "tools/report/report_model.h"
#include "tools/report/report_order.h"
#include "tools/report/thread_rows.h"

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

static const struct flat_row *row_of(const struct report_flat *flat, uint32_t method_index)
{
    for (uint32_t i = 0; i < flat->row_count; i++)
        if (flat->rows[i].method == method_index)
            return &flat->rows[i];
    fail_msg("no row");
    return NULL;
}

static void nodes_stand_in_tree_order(void **state)
{
    static const struct {
        const char *name;
        uint32_t depth, level, end;
        uint64_t calls, base, cum;
    } expected[] = {
        {"(thread)", 0, 0, 6, 0, 1, 151}, {"a", 1, 0, 6, 1, 10, 150}, {"b", 2, 0, 6, 2, 20, 140},
        {"a", 3, 1, 5, 3, 30, 70},        {"b", 4, 1, 5, 4, 40, 40},  {"c", 3, 0, 6, 5, 50, 50},
    };
    struct drawing drawing;
    (void)state;
    drawn__mutual_recursion(&drawing);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->node_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        const struct report_node *node = &model->nodes[i];
        assert_string_equal(model->methods[node->method].name.bytes, expected[i].name);
        assert_int_equal(node->depth, expected[i].depth);
        assert_int_equal(node->level, expected[i].level);
        assert_int_equal(node->end, expected[i].end);
        assert_int_equal(model->base[COLUMN_CALLS][i], expected[i].calls);
        assert_int_equal(model->base[COLUMN_CPU][i], expected[i].base);
        assert_int_equal(model->cum[COLUMN_CPU][i], expected[i].cum);
        assert_int_equal(model->cum[COLUMN_WALL][i], 2 * expected[i].cum);
    }
    assert_int_equal(model->threads[0].cpu_ns, 151);
    assert_int_equal(model->threads[0].calls, 15);
    assert_int_equal(model->skipped, 0);
    report_model__free(model);
    drawing__end(&drawing);
}

static void flat_counts_a_recursive_method_once(void **state)
{
    static const struct {
        const char *name;
        uint64_t calls, base, cum;
    } expected[] = {
        {"(thread)", 0, 1, 151}, {"a", 4, 40, 150}, {"b", 6, 60, 140}, {"c", 5, 50, 50}};
    struct drawing drawing;
    (void)state;
    drawn__mutual_recursion(&drawing);
    struct report_model *model = drawn__load(&drawing);
    bool *selected = report_model__select(model, NULL);
    struct report_flat *flat = report_flat__new(model, selected);
    assert_int_equal(flat->row_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct flat_row *row = row_of(flat, drawn__index_of(model, expected[i].name));
        assert_int_equal(row->base[COLUMN_CALLS], expected[i].calls);
        assert_int_equal(row->base[COLUMN_CPU], expected[i].base);
        assert_int_equal(row->cum[COLUMN_CPU], expected[i].cum);
    }
    report_flat__free(flat);
    free(selected);
    report_model__free(model);
    drawing__end(&drawing);
}

/*
 * t              siblings by cum: b (60), a (30), c (5), a's children likewise
 *   a       10
 *     c      5
 *     b     15
 *   c        5
 *   b       60
 */
static void siblings_go_by_weight(void **state)
{
    static const uint64_t by_cum[] = {95, 60, 30, 15, 5, 5};
    static const char *const by_name[] = {"(thread)", "a", "b", "c", "b", "c"};
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref a = drawn__method(&drawing, "a");
    ledger_ref b = drawn__method(&drawing, "b");
    ledger_ref c = drawn__method(&drawing, "c");
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 0));
    ledger_ref in_a = drawing__call(&drawing, root, a, 1, 10);
    drawing__call(&drawing, in_a, c, 1, 5);
    drawing__call(&drawing, in_a, b, 1, 15);
    drawing__call(&drawing, root, c, 1, 5);
    drawing__call(&drawing, root, b, 1, 60);
    struct report_model *model = drawn__load(&drawing);

    uint32_t *order = report_order__tree(model, 0, COLUMN_CPU, ORDER_BY_CUM);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(model->cum[COLUMN_CPU][order[i]], by_cum[i]);
    free(order);
    order = report_order__tree(model, 0, COLUMN_CPU, ORDER_BY_NAME);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(model->methods[model->nodes[order[i]].method].name.bytes, by_name[i]);
    free(order);

    bool *selected = report_model__select(model, NULL);
    bool *kept = report_order__heaviest(model, selected, COLUMN_CPU, 4);
    for (uint32_t i = 0; i < model->node_count; i++) {
        assert_int_equal(kept[i], model->cum[COLUMN_CPU][i] >= 15);
        assert_true(!kept[i] || i == 0 || kept[model->nodes[i].parent]);
    }
    free(kept);
    free(selected);
    report_model__free(model);
    drawing__end(&drawing);
}

/* What was damaged is left out, once, and the rest stays. */
static void nonsense_is_left_out_and_counted(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref a = drawn__method(&drawing, "a");
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 1));
    ledger_ref child = drawing__call(&drawing, root, a, 1, 10);
    ledger_ref other = drawing__call(&drawing, child, a, 1, 100);
    ledger_ref nameless = drawing__call(&drawing, root, root, 1, 1000);
    char where[64];

    drawing__node_at(&drawing, other)->next_sibling = child; /* a circle */
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->node_count, 4);
    assert_int_equal(model->threads[0].cpu_ns, 1111);
    assert_int_equal(model->nodes[3].method, METHOD_UNKNOWN);
    assert_int_equal(model->skipped, 2);
    snprintf(where, sizeof(where), "byte %u: a node that was met before", child * 64);
    assert_string_equal(model->skipped_where, where);
    report_model__free(model);

    drawing__node_at(&drawing, other)->next_sibling = 0;
    drawing__node_at(&drawing, other)->parent = root; /* links that disagree */
    drawing__node_at(&drawing, nameless)->kind_and_level = NODE_ROOT << 24;
    model = drawn__load(&drawing);
    assert_int_equal(model->node_count, 2);
    assert_int_equal(model->threads[0].cpu_ns, 11);
    assert_int_equal(model->skipped, 2);
    report_model__free(model);
    drawing__end(&drawing);
}

/*
 * Kernel: 1000. Charged: main 300 + virtual 200 + carrier 100, GC 250, native 50: 900.
 * Main runs from 100 to 700 with 40 in the run queue: it waits for 600 - 300 - 40 = 260.
 * GC started at 900 and has not ended at 1000; it consumed 250 by its clock: it waits for 0.
 * Native runs from 0 to 60, but its tree has 100 of wall time, the last of it after its end.
 */
static void balance_and_waiting(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    drawing.ledger.header->process_cpu_ns = 1000;
    drawing.ledger.header->asof_ns = 1000;
    ledger_ref main_thread = drawing__thread(&drawing, "main", THREAD_PLATFORM, 300);
    drawing__thread(&drawing, "virtual", THREAD_VIRTUAL, 200);
    drawing__thread(&drawing, "carrier", THREAD_CARRIER, 100);
    ledger_ref collector = drawing__thread(&drawing, "GC", THREAD_VM, 250);
    ledger_ref native = drawing__thread(&drawing, "native", THREAD_NATIVE, 50);
    drawing__node_at(&drawing, drawing__root(&drawing, collector))->wait_ns = 0 - (uint64_t)250;
    drawing__thread_at(&drawing, native)->end_ns = 60;
    drawing__thread_at(&drawing, main_thread)->start_ns = 100;
    drawing__thread_at(&drawing, main_thread)->end_ns = 700;
    drawing__thread_at(&drawing, collector)->start_ns = 900;
    drawing__total(&drawing, main_thread, METRIC_RUN_QUEUE_DELAY, 40);
    struct report_model *model = drawn__load(&drawing);
    struct report_balance balance = report_balance__of(model);
    assert_int_equal(balance.java_ns, 600);
    assert_int_equal(balance.vm_ns, 250);
    assert_int_equal(balance.native_ns, 50);
    assert_int_equal(balance.charged_ns, 900);
    assert_int_equal(balance.difference_ns, 100);
    assert_int_equal(balance.difference_ppm, 100000);
    assert_int_equal(model->threads[0].wall_ns, 600);
    assert_int_equal(report_thread__waiting_ns(model, &model->threads[0]), 260);
    assert_int_equal(model->threads[3].wall_ns, 100);
    assert_int_equal(report_thread__waiting_ns(model, &model->threads[3]), 0);
    assert_int_equal(model->threads[4].wall_ns, 100);
    report_model__free(model);

    drawing.ledger.header->process_cpu_ns = 600;
    model = drawn__load(&drawing);
    assert_int_equal(report_balance__of(model).difference_ppm, -500000);
    report_model__free(model);
    drawing.ledger.header->process_cpu_ns = 0;
    model = drawn__load(&drawing);
    assert_int_equal(report_balance__of(model).difference_ppm, 0);
    report_model__free(model);
    drawing__end(&drawing);
}

static void renames_and_parents(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref first = drawing__thread(&drawing, "first", THREAD_PLATFORM, 0);
    ledger_ref second = drawing__thread(&drawing, "second", THREAD_PLATFORM, 0);
    drawing__thread_at(&drawing, second)->parent = first;
    ledger__rename_thread(&drawing.ledger, drawing__thread_at(&drawing, second), "newer", 5, 1);
    ledger__rename_thread(&drawing.ledger, drawing__thread_at(&drawing, second), "newest", 6, 2);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->threads[0].parent, REPORT_NONE);
    assert_int_equal(model->threads[1].parent, 0);
    assert_string_equal(model->threads[1].name.bytes, "second");
    assert_int_equal(model->threads[1].rename_count, 2);
    assert_string_equal(model->threads[1].renames[0].bytes, "newer");
    assert_string_equal(model->threads[1].renames[1].bytes, "newest");
    report_model__free(model);
    drawing__end(&drawing);
}

/* A method's ref where a thread's belongs: there are more methods than threads to point at. */
static void a_method_is_no_thread(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    drawn__method(&drawing, "a");
    ledger_ref b = drawn__method(&drawing, "b");
    ledger_ref thread = drawing__thread(&drawing, "t", THREAD_PLATFORM, 1);
    ledger_ref ref = ledger__take_shared(&drawing.ledger, LEDGER_KERNEL_THREADS,
                                         sizeof(struct ledger_kernel_thread) / LEDGER_CELL_BYTES);
    struct ledger_kernel_thread *kernel_thread = ledger__at(&drawing.ledger, ref);
    kernel_thread->tid = 1;
    kernel_thread->kernel_cpu_ns = 1;
    kernel_thread->thread = b;
    drawing__thread_at(&drawing, thread)->parent = b;
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->kernel_thread_count, 1);
    assert_int_equal(model->kernel_threads[0].thread, REPORT_NONE);
    assert_int_equal(model->threads[0].parent, REPORT_NONE);
    report_model__free(model);
    drawing__end(&drawing);
}

/* What folding took away is no damage; where nothing was folded it is. */
static void who_started_a_thread_may_be_folded_away(void **state)
{
    (void)state;
    for (uint64_t folded = 0; folded <= 1; folded++) {
        struct drawing drawing;
        drawing__begin(&drawing, 1u << 20);
        ledger_ref gone = drawing__thread(&drawing, "gone", THREAD_PLATFORM, 0);
        ledger_ref child = drawing__thread(&drawing, "child", THREAD_PLATFORM, 0);
        drawing__thread_at(&drawing, child)->parent = gone;
        drawing__thread_at(&drawing, child)->parent_id = 7;
        memset(drawing__thread_at(&drawing, gone), 0, sizeof(struct ledger_thread));
        drawing.ledger.header->folded_threads = folded;
        struct report_model *model = drawn__load(&drawing);
        assert_int_equal(model->thread_count, 1);
        assert_int_equal(model->threads[0].parent, REPORT_NONE);
        assert_int_equal(model->skipped, folded == 0);
        report_model__free(model);
        drawing__end(&drawing);
    }
}

/* Folded: pool-1-thread-1, pool-2-thread-13 and pool-10-thread-2 are one row; a virtual thread of
 * such a name is not, and a single one keeps its name. */
static void rows_fold_by_digits(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    drawing__thread(&drawing, "pool-1-thread-1", THREAD_PLATFORM, 1);
    drawing__thread(&drawing, "alone-7", THREAD_PLATFORM, 50);
    drawing__thread(&drawing, "pool-2-thread-13", THREAD_PLATFORM, 10);
    drawing__thread(&drawing, "pool-3-thread-1", THREAD_VIRTUAL, 1000);
    drawing__thread(&drawing, "pool-10-thread-2", THREAD_PLATFORM, 100);
    struct report_model *model = drawn__load(&drawing);
    bool *selected = report_model__select(model, NULL);

    struct thread_rows *rows = thread_rows__new(model, selected, true);
    thread_rows__sort(rows, SORT_BY_COLUMN, COLUMN_CPU);
    assert_int_equal(rows->count, 3);
    assert_string_equal(rows->rows[0].name.bytes, "pool-3-thread-1");
    assert_string_equal(rows->rows[1].name.bytes, "pool-#-thread-#");
    assert_int_equal(rows->rows[1].count, 3);
    assert_int_equal(rows->rows[1].running, 3);
    assert_int_equal(rows->rows[1].value[COLUMN_CPU], 111);
    assert_string_equal(rows->rows[2].name.bytes, "alone-7");
    thread_rows__free(rows);

    rows = thread_rows__new(model, selected, false);
    thread_rows__sort(rows, SORT_BY_NAME, COLUMN_CPU);
    assert_int_equal(rows->count, 5);
    assert_string_equal(rows->rows[0].name.bytes, "alone-7");
    assert_string_equal(rows->rows[1].name.bytes, "pool-1-thread-1");
    thread_rows__free(rows);
    free(selected);
    report_model__free(model);
    drawing__end(&drawing);
}

static void only_what_is_charged_is_loaded(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 1));
    ledger_ref node = drawing__call(&drawing, root, drawn__method(&drawing, "a"), 1, 1);
    drawing__side(&drawing, node, METRIC_MAJOR_FAULTS, 3);
    struct report_model *model = drawn__load(&drawing);
    enum report_column major = report_column__of_metric(METRIC_MAJOR_FAULTS);
    enum report_column minor = report_column__of_metric(METRIC_MINOR_FAULTS);
    assert_non_null(model->base[major]);
    assert_int_equal(model->cum[major][0], 3);
    assert_null(model->base[minor]);
    report_model__free(model);
    drawing__end(&drawing);
}

static void overloaded_methods_show_their_parameters(void **state)
{
    static const struct {
        const char *name, *signature, *shown;
    } methods[] = {
        {"put", "(Ljava/lang/Object;I)V", "demo.Map.put(Object, int)"},
        {"put", "([[J[Ldemo/Map$Node;)V", "demo.Map.put(long[][], Map$Node[])"},
        {"put", "()V", "demo.Map.put()"},
        {"put", "(Lbroken", "demo.Map.put()"},
        {"get", "(I)V", "demo.Map.get"},
    };
    struct drawing drawing;
    struct text_store texts = {0};
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        drawing__method(&drawing, "demo.Map", methods[i].name, methods[i].signature);
    struct report_model *model = drawn__load(&drawing);
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        struct text name = report_method__full_name(&texts, &model->methods[METHOD_FIRST_REAL + i]);
        assert_string_equal(name.bytes, methods[i].shown);
    }
    text_store__release(&texts);
    report_model__free(model);
    drawing__end(&drawing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_stand_in_tree_order),
        cmocka_unit_test(flat_counts_a_recursive_method_once),
        cmocka_unit_test(siblings_go_by_weight),
        cmocka_unit_test(nonsense_is_left_out_and_counted),
        cmocka_unit_test(balance_and_waiting),
        cmocka_unit_test(renames_and_parents),
        cmocka_unit_test(a_method_is_no_thread),
        cmocka_unit_test(who_started_a_thread_may_be_folded_away),
        cmocka_unit_test(rows_fold_by_digits),
        cmocka_unit_test(only_what_is_charged_is_loaded),
        cmocka_unit_test(overloaded_methods_show_their_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
