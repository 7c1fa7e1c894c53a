/* How often samples in the kernel count, so that the kernel's frames have the kernel's time: worked
 * out on paper. */
#include "tools/report/kernel_share.h"
#include "tools/report/report_model.h"

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

#define NODES_MAX 16

struct stage {
    struct report_model model;
    struct report_node nodes[NODES_MAX];
    struct report_samples samples[NODES_MAX];
    struct report_thread threads[4];
    uint64_t cpu[NODES_MAX];
    uint64_t wall[NODES_MAX];
};

static void begin(struct stage *stage)
{
    memset(stage, 0, sizeof *stage);
    stage->model.nodes = stage->nodes;
    stage->model.samples = stage->samples;
    stage->model.threads = stage->threads;
    stage->model.base[COLUMN_CPU] = stage->cpu;
    stage->model.base[COLUMN_WALL] = stage->wall;
}

static void add_thread(struct stage *stage, uint64_t cpu_ns, uint64_t system_ns)
{
    stage->threads[stage->model.thread_count++] =
        (struct report_thread){.moded_cpu_ns = cpu_ns,
                               .moded_system_ns = system_ns,
                               .first_node = stage->model.node_count,
                               .end_node = stage->model.node_count};
}

/* Of the thread added last. parent: REPORT_NONE of a root. */
static uint32_t add(struct stage *stage, uint32_t parent, enum ledger_node_kind kind,
                    uint64_t cpu_ns, uint64_t samples)
{
    struct report_model *model = &stage->model;
    uint32_t node = model->node_count++;
    stage->nodes[node] = (struct report_node){
        .parent = parent, .end = node + 1, .thread = model->thread_count - 1, .kind = kind};
    for (uint32_t above = parent; above != REPORT_NONE; above = stage->nodes[above].parent)
        stage->nodes[above].end = node + 1;
    stage->cpu[node] = stage->wall[node] = cpu_ns;
    stage->samples[node].cpu = samples;
    stage->threads[model->thread_count - 1].end_node = node + 1;
    return node;
}

/*
 * Half of 1000 is the kernel's by its own count, by samples 200 of 1000: 800 of the user's, of
 * which 600 in f, 100 in g, and 100 in the exact node itself. So 500 and 500, each as it was shared
 * out: f 375, g 62.5, and the exact node the rest of 500.
 */
static void the_kernels_frames_have_the_kernels_time(void **state)
{
    struct stage stage;
    (void)state;
    begin(&stage);
    add_thread(&stage, 4000, 2000);
    uint32_t root = add(&stage, REPORT_NONE, NODE_ROOT, 100, 10);
    uint32_t f = add(&stage, root, NODE_NATIVE, 600, 60);
    uint32_t kernel = add(&stage, f, NODE_KERNEL, 50, 5);
    uint32_t entry = add(&stage, kernel, NODE_KERNEL, 150, 15);
    uint32_t g = add(&stage, root, NODE_SAMPLED, 100, 10);

    kernel_share__fit(&stage.model);
    assert_in_range(stage.cpu[kernel] + stage.cpu[entry], 499, 500);
    assert_in_range(stage.cpu[kernel], 124, 125);
    assert_in_range(stage.cpu[f], 375, 376);
    assert_in_range(stage.cpu[g], 62, 63);
    assert_in_range(stage.cpu[root], 62, 64);
    assert_int_equal(
        stage.cpu[root] + stage.cpu[f] + stage.cpu[kernel] + stage.cpu[entry] + stage.cpu[g], 1000);
    for (uint32_t i = 0; i < stage.model.node_count; i++)
        assert_in_range(stage.wall[i], stage.cpu[i] ? stage.cpu[i] - 1 : 0, stage.cpu[i] + 1);
}

/*
 * An exact node with less wall time than CPU time, for the clocks differ a little: 800 of wall, of
 * which f has 600 and the kernel the 200 that are its CPU time, too. The kernel is due 500, and f
 * stays: 1100 are more than there are.
 */
static void frames_have_no_more_wall_time_than_there_is(void **state)
{
    struct stage stage;
    (void)state;
    begin(&stage);
    add_thread(&stage, 4000, 2000);
    uint32_t root = add(&stage, REPORT_NONE, NODE_ROOT, 100, 10);
    uint32_t f = add(&stage, root, NODE_NATIVE, 700, 70);
    uint32_t kernel = add(&stage, f, NODE_KERNEL, 200, 20);
    stage.wall[root] = 0;
    stage.wall[f] = 600;

    kernel_share__fit(&stage.model);
    assert_in_range(stage.cpu[kernel], 499, 500);
    assert_in_range(stage.wall[f], 436, 437); /* 800 * 600 / 1100 */
    assert_in_range(stage.wall[kernel], 362, 364);
    assert_int_equal(stage.wall[root] + stage.wall[f] + stage.wall[kernel], 800);
    assert_in_range(stage.wall[root], 0, 1);
}

/*
 * Two exact nodes of 1000: a has the kernel in half of its samples, b nowhere. The kernel counts
 * 1/8 of 2000: 250, all of it a's, whose user frame so has 750. What an exact node has in all does
 * not change.
 */
static void the_time_of_exact_nodes_stays(void **state)
{
    struct stage stage;
    (void)state;
    begin(&stage);
    add_thread(&stage, 800, 100);
    uint32_t root = add(&stage, REPORT_NONE, NODE_ROOT, 0, 0);
    uint32_t a = add(&stage, root, NODE_EXACT, 0, 0);
    uint32_t of_a = add(&stage, a, NODE_SAMPLED, 500, 50);
    uint32_t kernel = add(&stage, of_a, NODE_KERNEL, 500, 50);
    uint32_t b = add(&stage, root, NODE_EXACT, 0, 0);
    uint32_t of_b = add(&stage, b, NODE_SAMPLED, 1000, 100);

    kernel_share__fit(&stage.model);
    assert_in_range(stage.cpu[kernel], 249, 250);
    assert_int_equal(stage.cpu[a] + stage.cpu[of_a] + stage.cpu[kernel], 1000);
    assert_int_equal(stage.cpu[of_b], 1000);
    assert_int_equal(stage.cpu[b] + stage.cpu[root], 0);
}

/*
 * Of few samples: two threads of 100, in one of which the kernel was met, in 40, in the other not.
 * Together they have 30 in the kernel by its own count, which is then all in the first.
 */
static void threads_with_few_samples_are_taken_together(void **state)
{
    struct stage stage;
    (void)state;
    begin(&stage);
    add_thread(&stage, 100, 20);
    uint32_t first = add(&stage, REPORT_NONE, NODE_ROOT, 60, 6);
    uint32_t kernel = add(&stage, first, NODE_KERNEL, 40, 4);
    add_thread(&stage, 100, 10);
    uint32_t second = add(&stage, REPORT_NONE, NODE_ROOT, 0, 0);
    uint32_t of_second = add(&stage, second, NODE_NATIVE, 100, 10);

    kernel_share__fit(&stage.model);
    assert_in_range(stage.cpu[kernel], 29, 30);
    assert_in_range(stage.cpu[first], 70, 71);
    assert_int_equal(stage.cpu[of_second], 100);
}

/* A ledger that does not say how the kernel divides, and a thread in which the kernel was not met.
 */
static void what_cannot_be_fitted_stays(void **state)
{
    struct stage stage;
    (void)state;
    begin(&stage);
    add_thread(&stage, 0, 0);
    uint32_t root = add(&stage, REPORT_NONE, NODE_ROOT, 60, 60);
    uint32_t kernel = add(&stage, root, NODE_KERNEL, 140, 140);
    add_thread(&stage, 1000, 500);
    uint32_t other = add(&stage, REPORT_NONE, NODE_ROOT, 0, 0);
    uint32_t native = add(&stage, other, NODE_NATIVE, 300, 300);

    kernel_share__fit(&stage.model);
    assert_int_equal(stage.cpu[root], 60);
    assert_int_equal(stage.cpu[kernel], 140);
    assert_int_equal(stage.cpu[native], 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernels_frames_have_the_kernels_time),
        cmocka_unit_test(frames_have_no_more_wall_time_than_there_is),
        cmocka_unit_test(the_time_of_exact_nodes_stays),
        cmocka_unit_test(threads_with_few_samples_are_taken_together),
        cmocka_unit_test(what_cannot_be_fitted_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
