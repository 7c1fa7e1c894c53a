/* Hazards in records that make sense, and in some that make none: what is a pair of locks is worked
 * out on paper. */
#include "merged_drawings.h"
#include "tools/report/report_hazards.h"

#define MANY 3000u

static void *record(struct drawing *drawing, enum ledger_table table, size_t bytes)
{
    ledger_ref ref =
        ledger__take_shared(&drawing->ledger, table, (uint32_t)(bytes / LEDGER_CELL_BYTES));
    drawing__check(ref != 0, "no room");
    return ledger__at(&drawing->ledger, ref);
}

static void draw(struct drawing *drawing)
{
    drawing__begin(drawing, 16u << 20);
    drawing->ledger.header->asof_ns = 10 * S;
    (void)drawing__root(drawing, drawing__thread(drawing, "t", THREAD_PLATFORM, 0));
}

static struct ledger_order *order(struct drawing *drawing, uint64_t thread, uint32_t held,
                                  uint32_t taken)
{
    struct ledger_order *made = record(drawing, LEDGER_ORDERS, sizeof *made);
    made->key = 1;
    made->thread_id = thread;
    made->thread = drawing__string(drawing, "t");
    made->class_name[0] = made->class_name[1] = drawing__string(drawing, "Lock");
    made->identity[0] = held;
    made->identity[1] = taken;
    return made;
}

static struct ledger_stuck *stuck(struct drawing *drawing, uint64_t deadlock, uint32_t position,
                                  uint32_t threads)
{
    struct ledger_stuck *made = record(drawing, LEDGER_STUCK, sizeof *made);
    made->deadlock = deadlock;
    made->position = position;
    made->threads = threads;
    made->thread = drawing__string(drawing, "t");
    return made;
}

static void count(struct drawing *drawing, uint32_t deadlocks, uint32_t pairs, uint32_t ended)
{
    struct report_model *model = drawn__load(drawing);
    struct report_hazards *hazards = report_hazards__new(model);
    assert_int_equal(hazards->deadlock_count, deadlocks);
    assert_int_equal(hazards->pair_count, pairs);
    assert_int_equal(hazards->ended, ended);
    assert_int_equal(report_hazards__are_bad(hazards), deadlocks + pairs > 0);
    report_hazards__free(hazards);
    report_model__free(model);
    drawing__end(drawing);
}

static void nothing(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    count(&drawing, 0, 0, 0);
}

static void a_pair_needs_two_threads_and_both_orders(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    (void)order(&drawing, 1, 10, 11);
    (void)order(&drawing, 1, 11, 10);
    (void)order(&drawing, 2, 10, 11);
    (void)order(&drawing, 1, 20, 21);
    (void)order(&drawing, 2, 20, 21);
    (void)order(&drawing, 1, 30, 31);
    (void)order(&drawing, 1, 31, 30);
    count(&drawing, 0, 1, 0);
}

static void a_common_gate_makes_it_none(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    const uint32_t locks[][2] = {{10, 11}, {11, 10}, {20, 21}, {21, 20}};
    const uint32_t gates[][ORDER_GATES] = {{1, 2}, {3, 2}, {1, 2, 3, 4}, {5, 6, 7, 8}};
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++) {
        struct ledger_order *gated = order(&drawing, i % 2 + 1, locks[i][0], locks[i][1]);
        for (size_t gate = 0; gate < ORDER_GATES; gate++) {
            gated->gate[gate] = gates[i][gate];
            gated->gate_class[gate] = gates[i][gate] ? drawing__string(&drawing, "Gate") : 0;
        }
    }
    count(&drawing, 0, 1, 0);
}

static struct ledger_order *seen_in(struct drawing *drawing, struct ledger_order *made,
                                    const char *method, uint32_t flags, uint32_t gate)
{
    made->path[0] = drawing__string(drawing, method);
    made->flags = flags;
    made->gate[0] = gate;
    return made;
}

/* Nobody has waited for the gate, whose class is not known. */
static void a_gate_that_is_known_later_makes_it_none(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    (void)seen_in(&drawing, order(&drawing, 1, 10, 11), "forward", 0, 0);
    (void)seen_in(&drawing, order(&drawing, 2, 11, 10), "backward", 0, 0);
    (void)seen_in(&drawing, order(&drawing, 3, 10, 11), "forward", ORDER_LOCKS_KNOWN, 1);
    seen_in(&drawing, order(&drawing, 4, 11, 10), "backward", ORDER_LOCKS_KNOWN, 1)->gate_class[0] =
        drawing__string(&drawing, "Gate");
    count(&drawing, 0, 0, 0);
}

static void readers_keep_no_readers_out(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    (void)seen_in(&drawing, order(&drawing, 1, 10, 11), "read", ORDER_READ_GATE, 1);
    (void)seen_in(&drawing, order(&drawing, 2, 11, 10), "read", ORDER_READ_GATE, 1);
    (void)seen_in(&drawing, order(&drawing, 1, 20, 21), "read", ORDER_READ_GATE, 1);
    (void)seen_in(&drawing, order(&drawing, 2, 21, 20), "written", 0, 1);
    count(&drawing, 0, 1, 0);
}

static void another_path_may_have_no_gate(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    (void)seen_in(&drawing, order(&drawing, 1, 10, 11), "forward", 0, 0);
    (void)seen_in(&drawing, order(&drawing, 2, 11, 10), "other", 0, 0);
    (void)seen_in(&drawing, order(&drawing, 1, 10, 11), "forward", ORDER_LOCKS_KNOWN, 1);
    (void)seen_in(&drawing, order(&drawing, 2, 11, 10), "backward", ORDER_LOCKS_KNOWN, 1);
    struct report_model *model = drawn__load(&drawing);
    struct report_hazards *hazards = report_hazards__new(model);
    assert_int_equal(hazards->pair_count, 1);
    assert_false(hazards->pairs[0].is_sure);
    report_hazards__free(hazards);
    report_model__free(model);
    drawing__end(&drawing);
}

/* Of one process; and locks without an identity are any locks of the class. */
static void other_locks_are_none(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    order(&drawing, 1, 10, 11)->process = 1;
    order(&drawing, 2, 11, 10)->process = 2;
    order(&drawing, 1, 20, 21)->class_name[0] = drawing__string(&drawing, "Other");
    (void)order(&drawing, 2, 21, 20);
    (void)order(&drawing, 1, 0, 31);
    (void)order(&drawing, 2, 31, 0);
    (void)order(&drawing, 1, 41, 41);
    (void)order(&drawing, 2, 41, 41);
    order(&drawing, 1, 50, 51)->key = 0;
    (void)order(&drawing, 2, 51, 50);
    count(&drawing, 0, 0, 0);
}

/* An enemy's: comparing each with each would take hours. */
static void many_of_the_same_locks(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    for (uint32_t i = 0; i < MANY; i++)
        (void)order(&drawing, i, 10, 11);
    count(&drawing, 0, 0, 0);
}

static void deadlocks_that_make_no_sense(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    (void)stuck(&drawing, 1, 1, 2);
    (void)stuck(&drawing, 1, 0, 2);
    (void)stuck(&drawing, 2, 0, 2);
    (void)stuck(&drawing, 3, 0, 2);
    (void)stuck(&drawing, 3, 0, 2);
    (void)stuck(&drawing, 4, 0, 2);
    (void)stuck(&drawing, 4, 1, 3);
    (void)stuck(&drawing, 5, UINT32_MAX, UINT32_MAX);
    (void)stuck(&drawing, 5, 0, UINT32_MAX);
    (void)stuck(&drawing, UINT64_MAX, 0, 1);
    (void)stuck(&drawing, UINT64_MAX, 1, 1);
    stuck(&drawing, 7, 0, 2)->process = 1;
    stuck(&drawing, 7, 1, 2)->process = 2;
    stuck(&drawing, 8, 0, 2)->ended_ns = 1;
    stuck(&drawing, 8, 1, 2)->ended_ns = 1;
    count(&drawing, 1, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(a_pair_needs_two_threads_and_both_orders),
        cmocka_unit_test(a_common_gate_makes_it_none),
        cmocka_unit_test(a_gate_that_is_known_later_makes_it_none),
        cmocka_unit_test(another_path_may_have_no_gate),
        cmocka_unit_test(readers_keep_no_readers_out),
        cmocka_unit_test(other_locks_are_none),
        cmocka_unit_test(many_of_the_same_locks),
        cmocka_unit_test(deadlocks_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
