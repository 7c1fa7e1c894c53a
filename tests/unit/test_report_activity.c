/*
 * The activity profile: logical frames of the same path are one row, whatever stands between them;
 * the largest of siblings comes first; and there may be as many siblings as a ledger has room for.
 */
#include "tools/report/report_activity.h"

#include <stdlib.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define METHOD(i) (100 + (uint32_t)(i)) /* behind the methods that are none */
#define MANY      700000u

/* A thread whose nodes are drawn by hand: the first one is its root. */
struct drawing {
    struct report_model model;
    struct report_thread thread;
};

static struct drawing *begin(uint32_t room)
{
    struct drawing *drawing = calloc(1, sizeof *drawing);
    drawing->model.threads = &drawing->thread;
    drawing->model.thread_count = 1;
    drawing->model.nodes = calloc(room, sizeof *drawing->model.nodes);
    drawing->model.base[COLUMN_CALLS] = calloc(room, sizeof(uint64_t));
    drawing->model.base[COLUMN_WALL] = calloc(room, sizeof(uint64_t));
    return drawing;
}

static uint32_t add(struct drawing *drawing, uint32_t parent, enum ledger_node_kind kind,
                    uint32_t method, uint64_t wall_ns)
{
    uint32_t index = drawing->model.node_count++;
    drawing->model.nodes[index] =
        (struct report_node){.parent = parent, .kind = kind, .method = method};
    drawing->model.base[COLUMN_CALLS][index] = 1;
    drawing->model.base[COLUMN_WALL][index] = wall_ns;
    drawing->thread.end_node = index + 1;
    return index;
}

static struct report_activity *profile(const struct drawing *drawing)
{
    const bool all = true;
    return report_activity__new(&drawing->model, &all);
}

static void end(struct drawing *drawing, struct report_activity *activity)
{
    report_activity__free(activity);
    free(drawing->model.nodes);
    free(drawing->model.base[COLUMN_CALLS]);
    free(drawing->model.base[COLUMN_WALL]);
    free(drawing);
}

static void rows_by_path_and_time(void **state)
{
    (void)state;
    struct drawing *drawing = begin(10);
    uint32_t root = add(drawing, REPORT_NONE, NODE_ROOT, METHOD_OF_THREAD, 1);
    uint32_t a = add(drawing, root, NODE_LOGICAL, METHOD(0), 10);
    add(drawing, a, NODE_LOGICAL, METHOD(2), 5);
    uint32_t java = add(drawing, a, NODE_EXACT, METHOD(9), 3);
    add(drawing, java, NODE_LOGICAL, METHOD(2), 4);
    add(drawing, java, NODE_LOGICAL, METHOD(3), 50);
    uint32_t other = add(drawing, root, NODE_EXACT, METHOD(8), 2);
    add(drawing, other, NODE_LOGICAL, METHOD(1), 200);
    struct report_activity *activity = profile(drawing);
    static const struct {
        uint32_t method, depth, parent;
        uint64_t calls, base_ns, cum_ns;
    } expected[] = {
        {METHOD_OF_THREAD, 0, REPORT_NONE, 0, 3, 275},
        {METHOD(1), 1, 0, 1, 200, 200},
        {METHOD(0), 1, 0, 1, 13, 72},
        {METHOD(3), 2, 2, 1, 50, 50},
        {METHOD(2), 2, 2, 2, 9, 9},
    };
    assert_int_equal(activity->count, sizeof expected / sizeof expected[0]);
    for (uint32_t i = 0; i < activity->count; i++) {
        assert_int_equal(activity->rows[i].method, expected[i].method);
        assert_int_equal(activity->rows[i].depth, expected[i].depth);
        assert_int_equal(activity->rows[i].parent, expected[i].parent);
        assert_int_equal(activity->rows[i].calls, expected[i].calls);
        assert_int_equal(activity->rows[i].base.wall_ns, expected[i].base_ns);
        assert_int_equal(activity->rows[i].cum.wall_ns, expected[i].cum_ns);
    }
    end(drawing, activity);
}

/* Each below the same frame: no row is looked for among all others. */
static void many_siblings(void **state)
{
    (void)state;
    struct drawing *drawing = begin(2 * MANY + 1);
    uint32_t root = add(drawing, REPORT_NONE, NODE_ROOT, METHOD_OF_THREAD, 0);
    for (uint32_t turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < MANY; i++)
            add(drawing, root, NODE_LOGICAL, METHOD(i), i + turn);
    struct report_activity *activity = profile(drawing);
    assert_int_equal(activity->count, MANY + 1);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(activity->rows[i + 1].method, METHOD(MANY - 1 - i));
        assert_int_equal(activity->rows[i + 1].cum.wall_ns, 2 * (uint64_t)(MANY - 1 - i) + 1);
    }
    end(drawing, activity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_by_path_and_time),
        cmocka_unit_test(many_siblings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
