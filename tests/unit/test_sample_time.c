/* What time samples stand for, worked out on paper. */
#include "native/sampling/sample_time.h"

#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static void count(struct sample_time *time, struct ledger_thread *thread, struct ledger_node *top,
                  struct sample sample)
{
    sample_time__count(time, &sample, thread, top);
}

static void cpu_samples_bring_their_time(void **state)
{
    struct sample_time time = {0};
    struct ledger_thread thread = {0};
    struct ledger_node top = {0};
    (void)state;
    count(&time, &thread, &top, (struct sample){.tid = 1, .seen_ns = 10});
    count(&time, &thread, &top, (struct sample){.tid = 1, .seen_ns = 35});
    assert_int_equal(top.cpu_samples, 2);
    assert_int_equal(top.seen_ns, 45);
    assert_int_equal(top.wall_samples, 0);
    assert_int_equal(thread.seen_wall_ns, 0);
    sample_time__release(&time);
}

/* Samples from 100 on. One thread was there: turns at 110 and 150. Another came at 120: turns at
 * 125 and 150. At 200 they are started again: a turn at 230 sees 30. */
static void wall_samples_stand_for_what_is_since_the_turn_before(void **state)
{
    struct sample_time time = {0};
    struct ledger_thread first = {.start_ns = 5}, second = {.start_ns = 120};
    struct ledger_node top = {0};
    (void)state;
    sample_time__start(&time, 100);
    count(&time, &first, &top, (struct sample){.flags = SAMPLE_IS_WALL, .tid = 1, .when_ns = 110});
    assert_int_equal(first.seen_wall_ns, 10);
    count(&time, &second, &top, (struct sample){.flags = SAMPLE_IS_WALL, .tid = 2, .when_ns = 125});
    assert_int_equal(second.seen_wall_ns, 5);
    count(&time, &first, &top, (struct sample){.flags = SAMPLE_IS_WALL, .tid = 1, .when_ns = 150});
    count(&time, &second, &top, (struct sample){.flags = SAMPLE_IS_WALL, .tid = 2, .when_ns = 150});
    assert_int_equal(first.seen_wall_ns, 50);
    assert_int_equal(second.seen_wall_ns, 30);
    sample_time__start(&time, 200);
    count(&time, &first, &top, (struct sample){.flags = SAMPLE_IS_WALL, .tid = 1, .when_ns = 230});
    assert_int_equal(first.seen_wall_ns, 80);
    assert_int_equal(top.wall_samples, 5);
    assert_int_equal(top.cpu_samples, 0);
    assert_int_equal(top.seen_ns, 0);
    sample_time__release(&time);
}

/* A kernel thread's number may be another one's by now: what was before that began is not its. */
static void a_tid_that_is_used_again_has_no_turn_before_its_thread(void **state)
{
    struct sample_time time = {0};
    struct ledger_thread old = {.start_ns = 5}, young = {.start_ns = 160};
    struct ledger_node top = {0};
    (void)state;
    count(&time, &old, &top, (struct sample){.flags = SAMPLE_IS_WALL, .tid = 1, .when_ns = 150});
    count(&time, &young, &top, (struct sample){.flags = SAMPLE_IS_WALL, .tid = 1, .when_ns = 170});
    assert_int_equal(young.seen_wall_ns, 10);
    sample_time__release(&time);
}

/* Tids that are nobody's are forgotten, this process's own is not. */
static void tids_of_ended_threads_are_forgotten(void **state)
{
    struct sample_time time = {0};
    struct ledger_thread thread = {.start_ns = 5};
    struct ledger_node top = {0};
    (void)state;
    count(&time, &thread, &top,
          (struct sample){.flags = SAMPLE_IS_WALL, .tid = getpid(), .when_ns = 50});
    for (int32_t i = 0; i < 3000; i++)
        count(&time, &thread, &top,
              (struct sample){.flags = SAMPLE_IS_WALL, .tid = 0x40000000 + i, .when_ns = 60});
    assert_in_range(time.swept, 1, 2);
    thread.seen_wall_ns = 0;
    count(&time, &thread, &top,
          (struct sample){.flags = SAMPLE_IS_WALL, .tid = getpid(), .when_ns = 70});
    assert_int_equal(thread.seen_wall_ns, 20);
    sample_time__release(&time);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_samples_bring_their_time),
        cmocka_unit_test(wall_samples_stand_for_what_is_since_the_turn_before),
        cmocka_unit_test(a_tid_that_is_used_again_has_no_turn_before_its_thread),
        cmocka_unit_test(tids_of_ended_threads_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
