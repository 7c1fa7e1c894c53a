/* What a kernel thread consumes goes to the node of the Java thread that is current on it. */
#include "native/thread/kernel_thread_events.h"
#include "played_thread.h"

#include <stdlib.h>

/* Rule 1: what is consumed goes to the node that is current. Work in ms:
 *
 *  "one"       from the thread's beginning until A is entered
 *    A 1       3 before B, 1 after
 *      B 2     2 + 2
 */
static void play_calls(struct script *script, struct kernel_thread *thread)
{
    burn_cpu(MS);
    (void)start_java(thread, "one", 1);
    EVENT(script->at[0], kernel_thread__enter(thread, 'A'));
    burn_cpu(3 * MS);
    EVENT(script->at[1], kernel_thread__enter(thread, 'B'));
    burn_cpu(2 * MS);
    EVENT(script->at[2], kernel_thread__leave(thread, 'B'));
    burn_cpu(MS);
    EVENT(script->at[3], kernel_thread__enter(thread, 'B'));
    burn_cpu(2 * MS);
    EVENT(script->at[4], kernel_thread__leave(thread, 'B'));
    EVENT(script->at[5], kernel_thread__leave(thread, 'A'));
    EVENT(script->at[6], kernel_thread__end_java(thread));
}

static void deltas_go_to_the_node_that_was_current(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct script script;
        struct java_world *world = java_world__make(MIB, kinds[k], 0, false);
        run_script(&script, world, play_calls);
        const struct ledger_thread *one = thread_named(world, 1, "one");
        check_drawing(world, one, "root\n  A 1\n    B 2\n  gap\n");
        const struct moment *at = script.at;
        struct bounds first = between(&at[0], &at[1]);
        struct bounds second = between(&at[2], &at[3]);
        struct bounds third = between(&at[4], &at[5]);
        check_cpu(world, cpu_at(&world->ledger, one, "A"),
                  (struct bounds){first.least + second.least + third.least,
                                  first.most + second.most + third.most});
        first = between(&at[1], &at[2]);
        second = between(&at[3], &at[4]);
        check_cpu(world, cpu_at(&world->ledger, one, "AB"),
                  (struct bounds){first.least + second.least, first.most + second.most});
        /* Rule 2: the root has what came before, from the thread's first nanosecond on. */
        first = until(&at[0]);
        second = between(&at[5], &at[6]);
        check_cpu(world, node_at(&world->ledger, one->root)->cpu_ns,
                  (struct bounds){first.least + second.least, first.most + second.most});
        check_cpu(world, sum_cpu_ns(&world->ledger, one->root) - gap_cpu_ns(&world->ledger, one),
                  until(&at[6]));
        assert_int_equal(one->tid_count, 1);
        assert_int_equal(one->tids[0], script.tid);
    }
}

/* Wall time of the root covers what came before, so that its CPU time fits in. */
static void a_thread_began_when_its_kernel_thread_did(void **state)
{
    (void)state;
    struct script script;
    struct java_world *world = java_world__make(MIB, LEDGER_CLOCK_PLAIN, 0, false);
    run_script(&script, world, play_calls);
    const struct ledger_thread *one = thread_named(world, 1, "one");
    const struct ledger_node *root = node_at(&world->ledger, one->root);
    /* The two clocks are not read at the same moment. */
    assert_true((int64_t)root->wait_ns >= -(int64_t)MS);
    assert_true(one->end_ns >= one->start_ns + 8 * MS);
}

/* Rule 3, in ms of work:
 *
 *  "one"       A: 3      gap: 2 with reuse=previous; until the thread's end nothing else
 *  "two"       B: 1      gap: 2 with reuse=new
 */
static void play_reuse(struct script *script, struct kernel_thread *thread)
{
    (void)start_java(thread, "one", 1);
    EVENT(script->at[0], kernel_thread__enter(thread, 'A'));
    burn_cpu(3 * MS);
    EVENT(script->at[1], kernel_thread__leave(thread, 'A'));
    EVENT(script->at[2], kernel_thread__end_java(thread));
    /* No Java thread: calls do not count. */
    kernel_thread__enter(thread, 'Z');
    burn_cpu(2 * MS);
    kernel_thread__leave(thread, 'Z');
    EVENT(script->at[3], (void)start_java(thread, "two", 2));
    EVENT(script->at[4], kernel_thread__enter(thread, 'B'));
    burn_cpu(MS);
    EVENT(script->at[5], kernel_thread__leave(thread, 'B'));
    EVENT(script->at[6], kernel_thread__end_java(thread));
}

static void check_reuse(enum ledger_clock_kind kind, bool reuse_new)
{
    struct script script;
    struct java_world *world = java_world__make(MIB, kind, 0, reuse_new);
    run_script(&script, world, play_reuse);
    const struct ledger_thread *one = thread_named(world, 1, "one");
    const struct ledger_thread *two = thread_named(world, 2, "two");
    const struct moment *at = script.at;
    assert_int_equal(one->flags, THREAD_TERMINATED);
    assert_int_equal(two->flags, THREAD_TERMINATED);
    assert_int_equal(one->tids[0], two->tids[0]);
    assert_true(one->end_ns > one->start_ns && two->start_ns >= one->end_ns);
    check_drawing(world, one, "root\n  A 1\n  gap\n");
    check_drawing(world, two, reuse_new ? "root\n  gap\n  B 1\n  gap\n" : "root\n  B 1\n  gap\n");
    check_cpu(world, cpu_at(&world->ledger, one, "A"), between(&at[0], &at[1]));
    check_cpu(world, cpu_at(&world->ledger, two, "B"), between(&at[4], &at[5]));
    struct bounds gap = between(&at[2], &at[3]);
    if (!reuse_new) {
        check_cpu(world, gap_cpu_ns(&world->ledger, one), gap);
        return;
    }
    /* The second gap has the thread's end. */
    assert_int_equal(gap_cpu_ns(&world->ledger, one), 0);
    ledger_ref first_gap = node_at(&world->ledger, two->root)->first_child;
    while (node_at(&world->ledger, first_gap)->next_sibling != 0)
        first_gap = node_at(&world->ledger, first_gap)->next_sibling;
    assert_int_equal(ledger_node__kind(node_at(&world->ledger, first_gap)), NODE_GAP);
    check_cpu(world, node_at(&world->ledger, first_gap)->cpu_ns, gap);
}

static void the_gap_goes_to_the_previous_thread(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        check_reuse(kinds[k], false);
}

static void the_gap_goes_to_the_new_thread_if_asked(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        check_reuse(kinds[k], true);
}

/* A second Java thread starts and nobody said that the first one had ended. */
static void play_missed_end(struct script *script, struct kernel_thread *thread)
{
    (void)start_java(thread, "one", 1);
    EVENT(script->at[0], kernel_thread__enter(thread, 'A'));
    burn_cpu(2 * MS);
    EVENT(script->at[1], (void)start_java(thread, "two", 2));
    EVENT(script->at[2], kernel_thread__enter(thread, 'A'));
    burn_cpu(MS);
    EVENT(script->at[3], kernel_thread__end_java(thread));
}

static void a_thread_that_another_took_the_place_of_is_over(void **state)
{
    (void)state;
    struct script script;
    struct java_world *world = java_world__make(MIB, LEDGER_CLOCK_PLAIN, 0, false);
    run_script(&script, world, play_missed_end);
    const struct ledger_thread *one = thread_named(world, 1, "one");
    const struct ledger_thread *two = thread_named(world, 2, "two");
    check_drawing(world, one, "root\n  A 1\n");
    check_drawing(world, two, "root\n  A 1\n  gap\n");
    check_cpu(world, cpu_at(&world->ledger, one, "A"), between(&script.at[0], &script.at[1]));
    check_cpu(world, cpu_at(&world->ledger, two, "A"), between(&script.at[2], &script.at[3]));
    assert_int_equal(one->flags, THREAD_TERMINATED);
    /* 0 would say that it still runs. */
    assert_int_not_equal(one->end_ns, 0);
}

/* Rule 4: after the end nothing goes to a method, and an end is told once. */
static void play_after_the_end(struct script *script, struct kernel_thread *thread)
{
    (void)start_java(thread, "one", 1);
    EVENT(script->at[0], kernel_thread__enter(thread, 'A'));
    burn_cpu(MS);
    EVENT(script->at[1], kernel_thread__end_java(thread));
    burn_cpu(2 * MS);
    kernel_thread__enter(thread, 'A');
    burn_cpu(2 * MS);
    kernel_thread__leave(thread, 'A');
    EVENT(script->at[2], kernel_thread__end_java(thread));
}

static void after_the_end_no_method_is_charged(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct script script;
        struct java_world *world = java_world__make(MIB, kinds[k], 0, false);
        run_script(&script, world, play_after_the_end);
        const struct ledger_thread *one = thread_named(world, 1, "one");
        check_drawing(world, one, "root\n  A 1\n  gap\n");
        check_cpu(world, cpu_at(&world->ledger, one, "A"), between(&script.at[0], &script.at[1]));
        struct bounds gap = between(&script.at[1], &script.at[2]);
        gap.most = UINT64_MAX / 2; /* and the end of the kernel thread */
        check_cpu(world, gap_cpu_ns(&world->ledger, one), gap);
    }
}

/* Rule 5: it was "one" while it ran. */
static void play_rename(struct script *script, struct kernel_thread *thread)
{
    (void)start_java(thread, "one", 1);
    ledger__rename_thread(&script->world->ledger, thread->thread, "uno", 3, 7);
    kernel_thread__enter(thread, 'A');
    kernel_thread__leave(thread, 'A');
    kernel_thread__end_java(thread);
    (void)start_java(thread, "one", 2);
    kernel_thread__end_java(thread);
}

static void a_thread_keeps_the_name_it_had(void **state)
{
    (void)state;
    struct script script;
    struct java_world *world = java_world__make(MIB, LEDGER_CLOCK_PLAIN, 0, false);
    run_script(&script, world, play_rename);
    const struct ledger_thread *one = thread_named(world, 1, "one");
    const struct ledger_rename *rename = ledger__at(&world->ledger, one->renames);
    assert_int_equal(one->rename_count, 1);
    assert_true(is_named(&world->ledger, rename->name, "uno"));
    assert_int_equal(thread_named(world, 2, "one")->rename_count, 0);
}

static uint64_t side_value(const struct ledger *ledger, ledger_ref node, enum ledger_metric metric)
{
    ledger_ref ref = node_at(ledger, node)->side;
    const struct ledger_side *side = ledger__at(ledger, ref);
    if (ref == 0)
        return 0;
    assert_int_equal(side->node, node);
    return side->value[metric];
}

static uint64_t sum_side_values(const struct ledger *ledger, ledger_ref ref,
                                enum ledger_metric metric)
{
    uint64_t sum = side_value(ledger, ref, metric);
    for (ledger_ref child = node_at(ledger, ref)->first_child; child != 0;
         child = node_at(ledger, child)->next_sibling)
        sum += sum_side_values(ledger, child, metric);
    return sum;
}

/*
 *  "one"
 *    S 5       sleeps once a call: five voluntary switches
 *    B 1       does not wait: no side record for it, but for being interrupted
 *    F 1       touches 64 new pages
 */
static void play_metrics(struct script *script, struct kernel_thread *thread)
{
    (void)start_java(thread, "one", 1);
    kernel_thread__charge_slowly(thread);
    (void)getrusage(RUSAGE_THREAD, &script->usage[0]);
    for (int i = 0; i < 5; i++) {
        kernel_thread__enter(thread, 'S');
        nap(MS);
        kernel_thread__leave(thread, 'S');
    }
    (void)getrusage(RUSAGE_THREAD, &script->usage[1]);
    kernel_thread__enter(thread, 'B');
    burn_cpu(MS);
    kernel_thread__leave(thread, 'B');
    (void)getrusage(RUSAGE_THREAD, &script->usage[2]);
    kernel_thread__enter(thread, 'F');
    char *pages = malloc(256 * 4096);
    for (int i = 0; pages != NULL && i < 256; i++)
        ((volatile char *)pages)[(size_t)i * 4096] = 1;
    free(pages);
    nap(20 * MS);
    kernel_thread__leave(thread, 'F');
    kernel_thread__end_java(thread);
    (void)getrusage(RUSAGE_THREAD, &script->usage[3]);
}

static void metrics_are_consumed_once_by_the_node_that_was_current(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct script script;
        struct java_world *world = java_world__make(MIB, kinds[k], SWITCHES | FAULTS, false);
        run_script(&script, world, play_metrics);
        const struct ledger *ledger = &world->ledger;
        const struct ledger_thread *one = thread_named(world, 1, "one");
        const struct rusage *usage = script.usage;
        check_drawing(world, one, "root\n  S 5\n  B 1\n  F 1\n  gap\n");
        ledger_ref sleeper = child_of(ledger, one->root, 'S');
        uint64_t slept = side_value(ledger, sleeper, METRIC_VOLUNTARY_SWITCHES);
        assert_true(slept >= 5);
        assert_true(slept <= (uint64_t)(usage[1].ru_nvcsw - usage[0].ru_nvcsw));
        ledger_ref busy = child_of(ledger, one->root, 'B');
        assert_true(side_value(ledger, busy, METRIC_VOLUNTARY_SWITCHES) <=
                    (uint64_t)(usage[2].ru_nvcsw - usage[1].ru_nvcsw));
        for (unsigned metric = METRIC_VOLUNTARY_SWITCHES; metric <= METRIC_MAJOR_FAULTS; metric++)
            assert_int_equal(sum_side_values(ledger, one->root, (enum ledger_metric)metric),
                             one->totals[metric]);
        /* All of them, from the thread's first one on; what the reading itself adds is not known.
         */
        assert_true(one->totals[METRIC_VOLUNTARY_SWITCHES] >= 5);
        assert_in_range(one->totals[METRIC_MINOR_FAULTS],
                        (uint64_t)(usage[3].ru_minflt - usage[2].ru_minflt > 4
                                       ? usage[3].ru_minflt - usage[2].ru_minflt - 4
                                       : 0),
                        (uint64_t)usage[3].ru_minflt + 100);
        assert_int_equal(world->ledger.header->dropped_side_values, 0);
    }
}

/* Nodes where nothing happened have no side record. */
static void what_is_not_asked_for_has_no_side_records(void **state)
{
    (void)state;
    struct script script;
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    run_script(&script, world, play_nothing);
    assert_int_equal(ledger__next(&world->ledger, LEDGER_SIDES, 0), 0);
    check_drawing(world, thread_named(world, 1, "one"), "root\n  A 10\n  gap\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_go_to_the_node_that_was_current),
        cmocka_unit_test(a_thread_began_when_its_kernel_thread_did),
        cmocka_unit_test(the_gap_goes_to_the_previous_thread),
        cmocka_unit_test(the_gap_goes_to_the_new_thread_if_asked),
        cmocka_unit_test(a_thread_that_another_took_the_place_of_is_over),
        cmocka_unit_test(after_the_end_no_method_is_charged),
        cmocka_unit_test(a_thread_keeps_the_name_it_had),
        cmocka_unit_test(metrics_are_consumed_once_by_the_node_that_was_current),
        cmocka_unit_test(what_is_not_asked_for_has_no_side_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
