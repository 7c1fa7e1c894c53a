/* Intervals between two readings of ledgers drawn by hand; every number is worked out on paper. */
#include "tools/report/interval.h"
#include "tools/report/interval_order.h"

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

static uint64_t metric_of(const struct interval_row *row, enum ledger_metric metric)
{
    return row->value[report_column__of_metric(metric)];
}

/* 400 ms of CPU, 100 ms of run-queue delay: of 1 s the thread waited 500 ms. */
static void a_thread_s_row_is_the_difference(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref worker = draw_thread(&bench, "worker", 1, 1 * S, 1 * S);
    ledger_ref a = drawing__call(&bench.drawing, thread_at(&bench, worker)->root,
                                 drawn__method(&bench.drawing, "a"), 100, 2 * S);
    drawing__total(&bench.drawing, worker, METRIC_RUN_QUEUE_DELAY, 900 * MS);
    drawing__total(&bench.drawing, worker, METRIC_MINOR_FAULTS, 7);
    read_before(&bench);
    drawing__node_at(&bench.drawing, a)->cpu_ns = 2 * S + 300 * MS;
    drawing__node_at(&bench.drawing, a)->calls = 1600;
    root_at(&bench, worker)->cpu_ns = 1 * S + 100 * MS;
    drawing__total(&bench.drawing, worker, METRIC_RUN_QUEUE_DELAY, 1000 * MS);
    drawing__total(&bench.drawing, worker, METRIC_MINOR_FAULTS, 10);
    read_now(&bench);
    const struct interval *interval = bench.interval;
    const struct interval_row *row = row_of(&bench, "worker");
    assert_int_equal(interval->wall_ns, 1 * S);
    assert_int_equal(interval->profiled_ns, 1 * S);
    assert_int_equal(interval->cpu_ns, 2 * S);
    assert_int_equal(interval->user_ns, 1 * S);
    assert_int_equal(interval->system_ns, 1 * S);
    assert_int_equal(row->value[COLUMN_CPU], 400 * MS);
    assert_int_equal(row->value[COLUMN_CALLS], 1500);
    assert_int_equal(row->wall_ns, 1 * S);
    assert_int_equal(row->waiting_ns, 500 * MS);
    assert_int_equal(metric_of(row, METRIC_RUN_QUEUE_DELAY), 100 * MS);
    assert_int_equal(metric_of(row, METRIC_MINOR_FAULTS), 3);
    assert_int_equal(interval_row__faults(row), 3);
    assert_int_equal(interval_row__permille(interval, row), 400);
    assert_false(row->ended);
    assert_int_equal(interval->charged_ns, 400 * MS);
    assert_int_equal(interval->difference_ppm, 800000); /* 1.6 s of 2 s */
    assert_int_equal(interval->calls, 1500);
    assert_int_equal(interval->running, 1);
    assert_int_equal(interval->started, 0);
    assert_int_equal(interval->ended, 0);
    assert_int_equal(interval->cut, 0);
    end(&bench);
}

/* What began counts whole, from its begin; what ended up to its end; what was over is not there. */
static void threads_begin_and_end(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref over = draw_thread(&bench, "over", 1, 1 * S, 3 * S);
    end_thread(&bench, over, 9 * S);
    ledger_ref ending = draw_thread(&bench, "ending", 2, 1 * S, 3 * S);
    read_before(&bench);
    root_at(&bench, ending)->cpu_ns = 3 * S + 50 * MS;
    end_thread(&bench, ending, 10 * S + 200 * MS);
    draw_thread(&bench, "beginning", 3, 10 * S + 400 * MS, 70 * MS);
    ledger_ref brief = draw_thread(&bench, "brief", 4, 10 * S + 500 * MS, 30 * MS);
    end_thread(&bench, brief, 10 * S + 600 * MS);
    read_now(&bench);
    assert_null(row_of(&bench, "over"));
    assert_int_equal(cpu_of(&bench, "ending"), 50 * MS);
    assert_int_equal(row_of(&bench, "ending")->wall_ns, 200 * MS);
    assert_int_equal(row_of(&bench, "ending")->waiting_ns, 150 * MS);
    assert_true(row_of(&bench, "ending")->ended);
    assert_int_equal(cpu_of(&bench, "beginning"), 70 * MS);
    assert_int_equal(row_of(&bench, "beginning")->wall_ns, 600 * MS);
    assert_int_equal(row_of(&bench, "beginning")->before, REPORT_NONE);
    assert_int_equal(row_of(&bench, "brief")->wall_ns, 100 * MS);
    assert_int_equal(bench.interval->running, 1);
    assert_int_equal(bench.interval->started, 2);
    assert_int_equal(bench.interval->ended, 2);
    end(&bench);
}

static ledger_ref draw_group(struct bench *bench, const char *name, uint64_t members,
                             uint64_t cpu_ns)
{
    ledger_ref ref = draw_thread(bench, name, 0, 1 * S, cpu_ns);
    thread_at(bench, ref)->flags |= THREAD_GROUP | THREAD_TERMINATED;
    thread_at(bench, ref)->members = members;
    return ref;
}

static void take_out(struct bench *bench, ledger_ref thread)
{
    thread_at(bench, thread)->kind = 0;
}

/* pool-1 had 5 s, consumed 200 ms more and was folded; so were two that came and went, 30 ms. The
 * group had 10 s: it has 15.23 s now, of which 230 ms are new. */
static void a_folded_thread_is_taken_off_its_group(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref group = draw_group(&bench, "pool-#", 5, 10 * S);
    ledger_ref member = draw_thread(&bench, "pool-1", 7, 2 * S, 5 * S);
    read_before(&bench);
    take_out(&bench, member);
    root_at(&bench, group)->cpu_ns = 15 * S + 230 * MS;
    thread_at(&bench, group)->members = 8;
    read_now(&bench);
    assert_int_equal(bench.interval->rows, 1);
    assert_int_equal(cpu_of(&bench, "pool-#"), 230 * MS);
    assert_int_equal(bench.interval->charged_ns, 230 * MS);
    assert_int_equal(bench.interval->cut, 0);
    assert_int_equal(bench.interval->running, 0);
    assert_int_equal(bench.interval->started, 2);
    assert_int_equal(bench.interval->ended, 3);
    end(&bench);
}

/* The first of its kind becomes the group where it is: 5 s of 5.1 s are old. */
static void a_thread_that_becomes_a_group_keeps_its_past(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref member = draw_thread(&bench, "pool-1", 7, 2 * S, 5 * S);
    read_before(&bench);
    struct ledger_thread *thread = thread_at(&bench, member);
    thread->name = drawing__string(&bench.drawing, "pool-#");
    thread->flags |= THREAD_GROUP | THREAD_TERMINATED;
    thread->members = 1;
    root_at(&bench, member)->cpu_ns = 5 * S + 100 * MS;
    read_now(&bench);
    assert_int_equal(cpu_of(&bench, "pool-#"), 100 * MS);
    assert_int_equal(bench.interval->started, 0);
    assert_int_equal(bench.interval->ended, 1);
    end(&bench);
}

/* A thread that ended before and is folded only now has consumed nothing. */
static void a_late_fold_is_no_consumption(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref group = draw_group(&bench, "pool-#", 1, 1 * S);
    ledger_ref member = draw_thread(&bench, "pool-1", 7, 2 * S, 5 * S);
    end_thread(&bench, member, 9 * S);
    read_before(&bench);
    take_out(&bench, member);
    root_at(&bench, group)->cpu_ns = 6 * S;
    thread_at(&bench, group)->members = 2;
    read_now(&bench);
    assert_int_equal(bench.interval->rows, 0);
    assert_int_equal(bench.interval->charged_ns, 0);
    assert_int_equal(bench.interval->started, 0);
    assert_int_equal(bench.interval->ended, 0);
    end(&bench);
}

/* The same record, another thread: nothing of the first is subtracted from the second. */
static void a_recycled_record_is_another_thread(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref group = draw_group(&bench, "w-#", 1, 1 * S);
    ledger_ref record = draw_thread(&bench, "w-1", 7, 2 * S, 4 * S);
    read_before(&bench);
    root_at(&bench, group)->cpu_ns = 5 * S + 10 * MS;
    thread_at(&bench, group)->members = 2;
    struct ledger_thread *thread = thread_at(&bench, record);
    thread->java_id = 9;
    thread->start_ns = 10 * S + 500 * MS;
    thread->name = drawing__string(&bench.drawing, "w-2");
    root_at(&bench, record)->cpu_ns = 60 * MS;
    read_now(&bench);
    assert_int_equal(cpu_of(&bench, "w-2"), 60 * MS);
    assert_int_equal(cpu_of(&bench, "w-#"), 10 * MS);
    assert_int_equal(bench.interval->started, 1);
    assert_int_equal(bench.interval->ended, 1);
    end(&bench);
}

/* A kernel thread's row had 500 ms when a Java thread was found on it. */
static void a_kernel_thread_s_row_goes_on_in_its_java_thread(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref native = draw_thread(&bench, "native", 0, 1 * S, 500 * MS);
    thread_at(&bench, native)->kind = THREAD_NATIVE;
    thread_at(&bench, native)->tids[0] = 555;
    read_before(&bench);
    thread_at(&bench, native)->flags |= THREAD_HIDDEN;
    ledger_ref java = draw_thread(&bench, "attached", 8, 10 * S + 100 * MS, 520 * MS);
    thread_at(&bench, java)->tids[0] = 555;
    read_now(&bench);
    assert_int_equal(bench.interval->rows, 1);
    assert_int_equal(cpu_of(&bench, "attached"), 20 * MS);
    end(&bench);
}

/* A reading may be off by a tick: what is smaller than before has not moved. */
static void nothing_is_negative(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref worker = draw_thread(&bench, "worker", 1, 1 * S, 2 * S);
    drawing__total(&bench.drawing, worker, METRIC_MINOR_FAULTS, 7);
    read_before(&bench);
    root_at(&bench, worker)->cpu_ns = 2 * S - 3 * MS;
    drawing__total(&bench.drawing, worker, METRIC_MINOR_FAULTS, 5);
    bench.drawing.ledger.header->process_cpu_ns = 19 * S;
    read_now(&bench);
    const struct interval_row *row = row_of(&bench, "worker");
    assert_int_equal(row->value[COLUMN_CPU], 0);
    assert_int_equal(metric_of(row, METRIC_MINOR_FAULTS), 0);
    assert_int_equal(bench.interval->cpu_ns, 0);
    assert_int_equal(bench.interval->difference_ppm, 0);
    end(&bench);
}

/* No thread consumes 5 s in 1 s, nor a group more than the process: it was caught being folded. A
 * tick too much is the clock's. */
static void what_cannot_be_is_cut(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref torn = draw_thread(&bench, "torn", 1, 1 * S, 0);
    ledger_ref busy = draw_thread(&bench, "busy", 2, 1 * S, 0);
    ledger_ref group = draw_group(&bench, "pool-#", 5, 10 * S);
    read_before(&bench);
    root_at(&bench, torn)->cpu_ns = 5 * S;
    root_at(&bench, busy)->cpu_ns = 1004 * MS;
    root_at(&bench, group)->cpu_ns = 15 * S;
    read_now(&bench);
    assert_int_equal(cpu_of(&bench, "torn"), 1 * S);
    assert_int_equal(cpu_of(&bench, "busy"), 1004 * MS);
    assert_int_equal(cpu_of(&bench, "pool-#"), 2 * S);
    assert_int_equal(bench.interval->cut, 2);
    assert_int_equal(interval_row__permille(bench.interval, row_of(&bench, "busy")), 1000);
    assert_int_equal(interval_row__permille(bench.interval, row_of(&bench, "pool-#")), 2000);
    assert_int_equal(row_of(&bench, "busy")->waiting_ns, 0);
    end(&bench);
}

static void virtual_threads_have_mounts(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref request = draw_thread(&bench, "request", 5, 1 * S, 10 * MS);
    struct ledger_thread *thread = thread_at(&bench, request);
    thread->kind = THREAD_VIRTUAL;
    thread->mounts = 100;
    thread->pinned = 1;
    thread->parked_ns = 4 * S;
    read_before(&bench);
    thread->mounts = 350;
    thread->pinned = 3;
    thread->parked_ns = 4 * S + 900 * MS;
    read_now(&bench);
    const struct interval_row *row = row_of(&bench, "request");
    assert_int_equal(row->mounts, 250);
    assert_int_equal(row->pinned, 2);
    assert_int_equal(row->parked_ns, 900 * MS);
    end(&bench);
}

/* Stopped at 10.25 s: 250 ms were profiled. */
static void profiling_stops_in_between(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    ledger_ref worker = draw_thread(&bench, "worker", 1, 1 * S, 2 * S);
    read_before(&bench);
    bench.drawing.ledger.header->profiling = 0;
    bench.drawing.ledger.header->since_ns = 10 * S + 250 * MS;
    root_at(&bench, worker)->cpu_ns = 2 * S + 100 * MS;
    read_now(&bench);
    assert_int_equal(bench.interval->profiled_ns, 250 * MS);
    assert_int_equal(cpu_of(&bench, "worker"), 100 * MS);
    assert_int_equal(row_of(&bench, "worker")->waiting_ns, 150 * MS);
    end(&bench);
}

static void other_ledgers_and_times_make_no_interval(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench);
    draw_thread(&bench, "worker", 1, 1 * S, 2 * S);
    read_before(&bench);
    read_now(&bench);
    assert_non_null(bench.interval);
    assert_null(interval__new(bench.now, bench.before));
    bench.now->header.epoch_ns++;
    assert_null(interval__new(bench.before, bench.now));
    end(&bench);
}

static const struct interval_sort *sort_by(const char *name)
{
    for (size_t i = 0; i < interval_sort_count; i++)
        if (strcmp(interval_sorts[i].name, name) == 0)
            return &interval_sorts[i];
    fail_msg("no sort key %s", name);
    return NULL;
}

static void check_order(const struct bench *bench, const char *glob, const char *key,
                        const char *expected)
{
    uint32_t count;
    uint32_t *order = interval_order__of(bench->interval, glob, sort_by(key), &count);
    char names[64] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(
            names + used, sizeof(names) - used, "%s%s", i ? " " : "",
            interval__thread(bench->interval, &bench->interval->row[order[i]])->name.bytes);
    }
    assert_string_equal(names, expected);
    free(order);
}

/*      CPU     calls   switches  began  */
/* b   200 ms    0       5 + 0     3 s   */
/* a   300 ms    7       1 + 1     2 s   */
/* c     0       9       3 + 3     1 s   */
static void rows_are_sorted_and_chosen(void **state)
{
    struct bench bench;
    ledger_ref refs[3];
    static const char *const names[] = {"b", "a", "c"};
    static const uint64_t cpu_ms[] = {200, 300, 0}, calls[] = {0, 7, 9};
    static const uint64_t voluntary[] = {5, 1, 3}, involuntary[] = {0, 1, 3};
    (void)state;
    begin(&bench);
    for (unsigned i = 0; i < 3; i++)
        refs[i] = draw_thread(&bench, names[i], i + 1, (3 - i) * S, 1 * S);
    read_before(&bench);
    for (unsigned i = 0; i < 3; i++) {
        root_at(&bench, refs[i])->cpu_ns += cpu_ms[i] * MS;
        drawing__call(&bench.drawing, thread_at(&bench, refs[i])->root,
                      drawn__method(&bench.drawing, names[i]), calls[i], 0);
        drawing__total(&bench.drawing, refs[i], METRIC_VOLUNTARY_SWITCHES, voluntary[i]);
        drawing__total(&bench.drawing, refs[i], METRIC_INVOLUNTARY_SWITCHES, involuntary[i]);
    }
    read_now(&bench);
    check_order(&bench, NULL, "cpu", "a b c");
    check_order(&bench, NULL, "calls", "c a b");
    check_order(&bench, NULL, "switches", "c b a");
    check_order(&bench, NULL, "waiting", "c b a");
    check_order(&bench, NULL, "name", "a b c");
    check_order(&bench, NULL, "start", "c a b");
    check_order(&bench, NULL, "mounts", "b a c"); /* all the same: as they stand */
    check_order(&bench, "[ab]", "cpu", "a b");
    check_order(&bench, "x*", "cpu", "");
    end(&bench);
}

static void rates_are_rounded(void **state)
{
    struct interval interval = {.wall_ns = 1500 * MS};
    (void)state;
    assert_int_equal(interval__per_second(&interval, 0), 0);
    assert_int_equal(interval__per_second(&interval, 3), 2);
    assert_int_equal(interval__per_second(&interval, 4), 3); /* 2.67 */
    assert_int_equal(interval__per_second(&interval, UINT64_MAX), UINT64_MAX / 3 * 2);
    interval.wall_ns = 0;
    assert_int_equal(interval__per_second(&interval, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_s_row_is_the_difference),
        cmocka_unit_test(threads_begin_and_end),
        cmocka_unit_test(a_folded_thread_is_taken_off_its_group),
        cmocka_unit_test(a_thread_that_becomes_a_group_keeps_its_past),
        cmocka_unit_test(a_late_fold_is_no_consumption),
        cmocka_unit_test(a_recycled_record_is_another_thread),
        cmocka_unit_test(a_kernel_thread_s_row_goes_on_in_its_java_thread),
        cmocka_unit_test(nothing_is_negative),
        cmocka_unit_test(what_cannot_be_is_cut),
        cmocka_unit_test(virtual_threads_have_mounts),
        cmocka_unit_test(profiling_stops_in_between),
        cmocka_unit_test(other_ledgers_and_times_make_no_interval),
        cmocka_unit_test(rows_are_sorted_and_chosen),
        cmocka_unit_test(rates_are_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
