/* Samples below exact nodes: what part of a measured time each frame gets, worked out on paper. */
#include "tools/report/report_balance.h"
#include "tools/report/report_callers.h"
#include "tools/report/report_errors.h"
#include "tools/report/report_flat.h"
#include "tools/report/report_model.h"
#include "tools/report/report_samples.h"

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

#define MS UINT64_C(1000000)

struct expected_node {
    const char *name;
    const char *mark;
    uint32_t depth, level;
    uint64_t samples, cpu, wall, cum;
};

static void check_nodes(const struct report_model *model, const struct expected_node *expected,
                        uint32_t count)
{
    assert_int_equal(model->node_count, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct report_node *node = &model->nodes[i];
        assert_string_equal(model->methods[node->method].name.bytes, expected[i].name);
        assert_string_equal(report_node__mark(model, i), expected[i].mark);
        assert_int_equal(node->depth, expected[i].depth);
        assert_int_equal(node->level, expected[i].level);
        assert_int_equal(model->base[COLUMN_SAMPLES][i], expected[i].samples);
        assert_int_equal(model->base[COLUMN_CPU][i], expected[i].cpu);
        assert_int_equal(model->base[COLUMN_WALL][i], expected[i].wall);
        assert_int_equal(model->cum[COLUMN_CPU][i], expected[i].cum);
    }
}

/*
 * Exact: t (thread) base 7, a 100 called once, b below it 30. All have as much waiting as CPU.
 * Samples below a: 1 in a itself, 2 in c, of these c calls d 3 and the kernel 1; 7 in all.
 * So of a's 100: c 100*2/7 = 28.57, d 42.86, kernel 14.29, a 14.29. Running totals: c to 2/7 =
 * 28.57 -> 28; d to 5/7 = 71.43 -> 71, so 43; kernel to 6/7 = 85.71 -> 85, so 14; a the rest, 15.
 * a's wall is 200: the frames have their CPU, a its 15 and the 100 of waiting.
 * b has no samples and keeps what it has; so does t.
 */
static void sampled_frames_share_the_base_of_their_exact_node(void **state)
{
    static const struct expected_node expected[] = {
        {"(thread)", "", 0, 0, 0, 7, 14, 137}, {"a", "J", 1, 0, 1, 15, 115, 130},
        {"b", "J", 2, 0, 0, 30, 60, 30},       {"c", "J", 2, 0, 2, 28, 28, 85},
        {"d", "I", 3, 0, 3, 43, 43, 43},       {"vfs_read", "K", 3, 0, 1, 14, 14, 14},
    };
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 7));
    ledger_ref a = drawing__call(&drawing, root, drawn__method(&drawing, "a"), 1, 100);
    drawing__call(&drawing, a, drawn__method(&drawing, "b"), 2, 30);
    ledger_ref c =
        drawing__samples(&drawing, a, NODE_SAMPLED << 24, drawn__method(&drawing, "c"), 2, 0, 3);
    drawing__samples(&drawing, c, NODE_SAMPLED << 24, drawn__method(&drawing, "d"), 3, 0, 2);
    drawing__frame(&drawing, c, NODE_KERNEL,
                   drawing__symbol(&drawing, 0, "[kernel]", "vfs_read", 0), 1);
    drawing__self(&drawing, a, 1, 0);
    struct report_model *model = drawn__load(&drawing);
    check_nodes(model, expected, 6);
    assert_int_equal(model->threads[0].cpu_ns, 137);
    assert_int_equal(model->threads[0].samples, 7);
    assert_int_equal(model->threads[0].calls, 3);
    assert_int_equal(model->threads[0].wall_ns, 274);
    assert_int_equal(model->cum[COLUMN_WALL][0], 274);
    assert_int_equal(model->base[COLUMN_CALLS][3], 0);
    assert_int_equal(model->skipped, 0);
    report_model__free(model);
    drawing__end(&drawing);
}

/* Wall samples: 6 of 8 in park, 2 in the thread itself; its wall is 80, its CPU 40. One of 4 CPU
 * samples is in park. */
static void wall_time_goes_by_wall_samples(void **state)
{
    static const struct expected_node expected[] = {
        {"(thread)", "", 0, 0, 5, 30, 20, 40},
        {"park", "N", 1, 0, 7, 10, 60, 10},
    };
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 40));
    ledger_ref image = drawing__image(&drawing, "/usr/lib/libjvm.so", NULL);
    drawing__samples(&drawing, root, (uint32_t)NODE_NATIVE << 24,
                     drawing__symbol(&drawing, image, "/usr/lib/libjvm.so", "park", 0), 1, 6, 0);
    drawing__samples(&drawing, root, (uint32_t)NODE_SAMPLED << 24 | NODE_SELF, 0, 3, 2, 0);
    struct report_model *model = drawn__load(&drawing);
    check_nodes(model, expected, 2);
    report_model__free(model);
    drawing__end(&drawing);
}

/* The kernel's wall can be a little less than its CPU: the frames never get more than there is. */
static void no_more_wall_time_than_there_is(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 40));
    drawing__node_at(&drawing, root)->wait_ns = 0 - (uint64_t)10;
    drawing__frame(&drawing, root, NODE_SAMPLED, drawn__method(&drawing, "a"), 3);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->base[COLUMN_CPU][1], 40);
    assert_int_equal(model->base[COLUMN_WALL][1], 30);
    assert_int_equal(model->base[COLUMN_CPU][0], 0);
    assert_int_equal(model->base[COLUMN_WALL][0], 0);
    report_model__free(model);
    drawing__end(&drawing);
}

/*
 * a exact, called 4 times, 100; below it samples: 3 in b, 1 in a deeper a (another record of the
 * same method). So b gets 75, the deeper a 25, the exact one keeps 0.
 */
static void a_method_that_is_exact_and_sampled_is_one(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref a = drawn__method(&drawing, "a");
    ledger_ref same = drawn__method(&drawing, "a");
    ledger_ref b = drawn__method(&drawing, "b");
    assert_int_not_equal(a, same);
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 0));
    ledger_ref exact = drawing__call(&drawing, root, a, 4, 100);
    ledger_ref in_b = drawing__frame(&drawing, exact, NODE_SAMPLED, b, 3);
    drawing__frame(&drawing, in_b, NODE_SAMPLED, same, 1);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->method_count, METHOD_FIRST_REAL + 2);
    assert_int_equal(model->method_record_count, 3);
    assert_int_equal(model->method_records[1].method, model->method_records[0].method);
    assert_int_equal(model->nodes[3].level, 1);
    assert_false(model->methods[METHOD_FIRST_REAL].overloaded);

    bool *selected = report_model__select(model, NULL);
    struct report_flat *flat = report_flat__new(model, selected);
    assert_int_equal(flat->row_count, 3);
    assert_int_equal(flat->rows[1].base[COLUMN_CPU], 25);
    assert_int_equal(flat->rows[1].cum[COLUMN_CPU], 100);
    assert_int_equal(flat->rows[1].base[COLUMN_CALLS], 4);
    assert_int_equal(flat->rows[1].base[COLUMN_SAMPLES], 1);
    assert_int_equal(flat->rows[1].cum[COLUMN_SAMPLES], 4);
    report_flat__free(flat);
    struct report_callers *callers = report_callers__new(model, selected, NULL);
    assert_int_equal(callers->edge_count, 3);
    report_callers__free(callers);
    free(selected);
    report_model__free(model);
    drawing__end(&drawing);
}

/* Two nodes have 2^63 samples each, in all 0 in 64 bits, and less time than the thread has. The
 * time of each is its own all the same. */
static void more_samples_than_can_be_counted_have_no_error(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref a = drawn__method(&drawing, "a");
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 0));
    for (int i = 0; i < 2; i++) {
        ledger_ref exact = drawing__call(&drawing, root, a, 1, 1000000);
        ledger_ref frame = drawing__frame(&drawing, exact, NODE_SAMPLED, a, UINT64_C(1) << 63);
        drawing__node_at(&drawing, frame)->seen_ns = 10;
    }
    drawing.ledger.header->samples = 2;
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->threads[0].cpu_ns, 2000000);
    assert_int_equal(model->skipped, 0);
    report_model__free(model);
    drawing__end(&drawing);
}

/* Sampled frames where only exact ones can be, the other way round, circles, a frame that says that
 * another one is its parent, more samples than there can be. */
static void damaged_frames_are_left_out_and_counted(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref a = drawn__method(&drawing, "a");
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 10));
    ledger_ref exact = drawing__call(&drawing, root, a, 1, 100);
    ledger_ref first = drawing__frame(&drawing, exact, NODE_SAMPLED, a, 1);
    ledger_ref second = drawing__frame(&drawing, first, NODE_SAMPLED, a, 1);

    drawing__node_at(&drawing, second)->next_sibling = second; /* a circle */
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->node_count, 4);
    assert_int_equal(model->skipped, 1);
    assert_int_equal(model->threads[0].cpu_ns, 110);
    report_model__free(model);

    drawing__node_at(&drawing, second)->next_sibling = 0;
    drawing__node_at(&drawing, second)->kind_and_level = NODE_EXACT << 24; /* below a sampled one */
    drawing__node_at(&drawing, root)->sampled = exact;
    model = drawn__load(&drawing);
    assert_int_equal(model->node_count, 3);
    assert_int_equal(model->skipped, 2);
    assert_int_equal(model->threads[0].cpu_ns, 110);
    report_model__free(model);

    drawing__node_at(&drawing, root)->sampled = 0xfffffff0;
    drawing__node_at(&drawing, root)->first_child = first; /* sampled in a list of exact ones */
    model = drawn__load(&drawing);
    assert_int_equal(model->node_count, 1);
    assert_int_equal(model->skipped, 2);
    report_model__free(model);

    drawing__node_at(&drawing, root)->sampled = 0;
    drawing__node_at(&drawing, root)->first_child = exact;
    drawing__node_at(&drawing, second)->kind_and_level = NODE_SAMPLED << 24;
    drawing__node_at(&drawing, second)->cpu_samples = UINT64_MAX;
    model = drawn__load(&drawing);
    assert_int_equal(model->node_count, 4);
    assert_int_equal(model->skipped, 1);
    assert_int_equal(model->base[COLUMN_CPU][1], 100);
    assert_int_equal(model->threads[0].cpu_ns, 110);
    report_model__free(model);
    drawing__end(&drawing);
}

/* Most kernels do not say what they did: then it is the kernel's, as a whole. */
static void the_kernel_needs_no_method(void **state)
{
    struct drawing drawing;
    struct text_store store = {0};
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 40));
    drawing__frame(&drawing, root, NODE_KERNEL, 0, 3);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->skipped, 0);
    assert_int_equal(model->nodes[1].method, METHOD_OF_KERNEL);
    const struct report_method *method = &model->methods[METHOD_OF_KERNEL];
    assert_string_equal(report_method__full_name(&store, method).bytes, "[kernel]");
    assert_string_equal(method->class_name.bytes, "[kernel]");
    text_store__release(&store);
    report_model__free(model);
    drawing__end(&drawing);
}

/* A native function is named by its file and by what the ledger has, or by where it is. */
static void native_functions_have_names(void **state)
{
    static const char *const names[] = {"malloc [libc.so.6]", "libc.so.6+0x8a3f10 [libc.so.6]",
                                        "call_stub [jvm]", "0x7f0012340010 [jvm]"};
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref image = drawing__image(&drawing, "/lib/libc.so.6", "00ff");
    drawing__symbol(&drawing, image, "/lib/libc.so.6", "malloc", 0x1000);
    drawing__symbol(&drawing, image, "/lib/libc.so.6", NULL, 0x8a3f10);
    drawing__symbol(&drawing, 0, "[jvm]", "call_stub", 0);
    drawing__symbol(&drawing, 0, "[jvm]", NULL, 0x7f0012340010);
    struct report_model *model = drawn__load(&drawing);
    for (uint32_t i = 0; i < 4; i++) {
        const struct report_method *method = &model->methods[METHOD_FIRST_REAL + i];
        struct text_store store = {0};
        assert_string_equal(report_method__full_name(&store, method).bytes, names[i]);
        assert_string_equal(method->image.bytes, i < 2 ? "/lib/libc.so.6" : "[jvm]");
        text_store__release(&store);
    }
    report_model__free(model);
    drawing__end(&drawing);
}

/* 1.96 sqrt(0.02 * 0.98 / 10 000) = 0.002744; of a half and 100 samples 0.098; of all or none 0. */
static void error_of_a_share(void **state)
{
    (void)state;
    assert_int_equal(report_samples__error_ppm(200, 10000), 2744);
    assert_int_equal(report_samples__error_ppm(50, 100), 98000);
    assert_int_equal(report_samples__error_ppm(100, 100), 0);
    assert_int_equal(report_samples__error_ppm(0, 100), 0);
    assert_int_equal(report_samples__error_ppm(0, 0), 0);
    assert_int_equal(report_samples__error_ppm(UINT64_MAX / 2, UINT64_MAX), 0);
    struct ledger_header header = {.samples = 10010, .dropped_samples = 7, .homeless_samples = 3};
    assert_int_equal(report_samples__error_of_2_percent_ppm(&header), 2744);
    header.samples = 10;
    assert_int_equal(report_samples__error_of_2_percent_ppm(&header), 0);
}

/* A sampled frame whose samples stand for 10 ms each. */
static ledger_ref add_seen(struct drawing *drawing, ledger_ref above, const char *name,
                           uint64_t samples)
{
    ledger_ref frame =
        drawing__frame(drawing, above, NODE_SAMPLED, drawn__method(drawing, name), samples);
    drawing__node_at(drawing, frame)->seen_ns = samples * 10 * MS;
    return frame;
}

/* 644 ms, of which 25 samples of 10 ms saw 250: 20 in c, 5 in the thread itself. What chance
 * explains is one sample's time, for all samples of the thread are below one node. */
static void what_no_sample_saw_is_a_row_of_its_own(void **state)
{
    static const struct expected_node expected[] = {
        {"(thread)", "", 0, 0, 5, 50 * MS, 694 * MS, 644 * MS},
        {"c", "J", 1, 0, 20, 200 * MS, 200 * MS, 200 * MS},
        {"(not sampled)", "", 1, 0, 0, 394 * MS, 394 * MS, 394 * MS},
    };
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref root =
        drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 644 * MS));
    add_seen(&drawing, root, "c", 20);
    ledger_ref self =
        drawing__samples(&drawing, root, (uint32_t)NODE_SAMPLED << 24 | NODE_SELF, 0, 5, 0, 0);
    drawing__node_at(&drawing, self)->seen_ns = 50 * MS;
    struct report_model *model = drawn__load(&drawing);
    check_nodes(model, expected, 3);
    assert_int_equal(model->nodes[2].kind, NODE_UNSEEN);
    struct report_errors *errors = report_errors__of_nodes(model, COLUMN_CPU);
    assert_non_null(errors);
    assert_int_equal(errors->cum[2], 10 * MS);
    assert_int_equal(errors->cum[0], 0);
    /* 20 of 25: Wilson's interval is 0.6087 to 0.9114; the farther end is 0.1913 of 250 ms. */
    assert_in_range(errors->cum[1], 47800000, 47850000);
    report_errors__free(errors);
    report_model__free(model);
    drawing__end(&drawing);
}

/* One sample of 10 ms in 12; and 45 and 55 samples in two nodes of 500 ms each: nothing is missing
 * but by chance, and all is shared out. */
static void chance_makes_no_row(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref first =
        drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 12 * MS));
    add_seen(&drawing, first, "c", 1);
    ledger_ref second = drawing__root(&drawing, drawing__thread(&drawing, "u", THREAD_PLATFORM, 0));
    ledger_ref a = drawing__call(&drawing, second, drawn__method(&drawing, "a"), 1, 500 * MS);
    ledger_ref b = drawing__call(&drawing, second, drawn__method(&drawing, "b"), 1, 500 * MS);
    add_seen(&drawing, a, "c", 45);
    add_seen(&drawing, b, "c", 55);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->node_count, 7);
    for (uint32_t i = 0; i < model->node_count; i++)
        if (model->nodes[i].kind == NODE_SAMPLED)
            assert_int_equal(model->base[COLUMN_CPU][i], i == 1 ? 12 * MS : 500 * MS);
    report_model__free(model);
    drawing__end(&drawing);
}

/* Samples began when a had had 900 ms and b, below it, 50: of 1070 ms they saw 120. In a they saw
 * 100 of 1000, in d all of 20. b had none and keeps what is its own. */
static void what_was_before_samples_began_is_whose_it_was(void **state)
{
    static const struct expected_node expected[] = {
        {"(thread)", "", 0, 0, 0, 0, 0, 1070 * MS},
        {"d", "J", 1, 0, 0, 0, 20 * MS, 20 * MS},
        {"c", "J", 2, 0, 2, 20 * MS, 20 * MS, 20 * MS},
        {"a", "J", 1, 0, 0, 0, 1000 * MS, 1050 * MS},
        {"b", "J", 2, 0, 0, 50 * MS, 100 * MS, 50 * MS},
        {"c", "J", 2, 0, 10, 100 * MS, 100 * MS, 100 * MS},
        {"(not sampled)", "", 2, 0, 0, 900 * MS, 900 * MS, 900 * MS},
    };
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 0));
    ledger_ref a = drawing__call(&drawing, root, drawn__method(&drawing, "a"), 1, 1000 * MS);
    drawing__call(&drawing, a, drawn__method(&drawing, "b"), 1, 50 * MS);
    ledger_ref d = drawing__call(&drawing, root, drawn__method(&drawing, "d"), 1, 20 * MS);
    add_seen(&drawing, a, "c", 10);
    add_seen(&drawing, d, "c", 2);
    struct report_model *model = drawn__load(&drawing);
    bool turned = strcmp(model->methods[model->nodes[1].method].name.bytes, "a") == 0;
    if (!turned)
        check_nodes(model, expected, 7);
    uint32_t in_a = turned ? 1 : 3;
    assert_int_equal(model->node_count, 7);
    assert_int_equal(model->nodes[in_a].end, in_a + 4);
    assert_int_equal(model->nodes[in_a + 3].kind, NODE_UNSEEN);
    assert_int_equal(model->nodes[in_a + 3].parent, in_a);
    assert_int_equal(model->base[COLUMN_CPU][in_a + 3], 900 * MS);
    assert_int_equal(model->base[COLUMN_CPU][in_a + 2], 100 * MS);
    assert_int_equal(model->nodes[0].end, 7);
    assert_int_equal(model->threads[0].end_node, 7);
    assert_int_equal(model->threads[0].cpu_ns, 1070 * MS);
    report_model__free(model);
    drawing__end(&drawing);
}

/* Without samples there is no such column, and nothing is looked for. */
static void ledgers_without_samples_have_no_column(void **state)
{
    struct drawing drawing;
    (void)state;
    drawn__mutual_recursion(&drawing);
    struct report_model *model = drawn__load(&drawing);
    assert_null(model->samples);
    assert_null(model->base[COLUMN_SAMPLES]);
    report_model__free(model);
    drawing__end(&drawing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_frames_share_the_base_of_their_exact_node),
        cmocka_unit_test(wall_time_goes_by_wall_samples),
        cmocka_unit_test(no_more_wall_time_than_there_is),
        cmocka_unit_test(a_method_that_is_exact_and_sampled_is_one),
        cmocka_unit_test(more_samples_than_can_be_counted_have_no_error),
        cmocka_unit_test(damaged_frames_are_left_out_and_counted),
        cmocka_unit_test(the_kernel_needs_no_method),
        cmocka_unit_test(native_functions_have_names),
        cmocka_unit_test(error_of_a_share),
        cmocka_unit_test(what_no_sample_saw_is_a_row_of_its_own),
        cmocka_unit_test(chance_makes_no_row),
        cmocka_unit_test(what_was_before_samples_began_is_whose_it_was),
        cmocka_unit_test(ledgers_without_samples_have_no_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
