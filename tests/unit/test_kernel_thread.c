/*
 * Kernel threads that run Java threads, played by real threads. What a node should have is measured
 * by the thread's own CPU clock around the work: `least` from the reading after an event to the one
 * before the next, `most` from before to after. With the plain clock, which asks the kernel each
 * time, a node is between the two to the nanosecond; with the others within what one resync of the
 * clock may correct.
 */
#include "burn.h"
#include "java_world.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB      (UINT64_C(1) << 20)
#define SWITCHES (1u << METRIC_VOLUNTARY_SWITCHES | 1u << METRIC_INVOLUNTARY_SWITCHES)
#define FAULTS   (1u << METRIC_MINOR_FAULTS | 1u << METRIC_MAJOR_FAULTS)

static const enum ledger_clock_kind kinds[] = {LEDGER_CLOCK_PLAIN, LEDGER_CLOCK_RSEQ,
                                               LEDGER_CLOCK_PERF};

#define KINDS (sizeof kinds / sizeof kinds[0])

struct bounds {
    uint64_t least;
    uint64_t most;
};

/* Readings of the oracle around an event. */
struct moment {
    uint64_t before;
    uint64_t after;
};

struct script {
    struct java_world *world;
    void (*act)(struct script *script, struct kernel_thread *kernel_thread);
    struct moment at[8];
    pid_t tid;
    struct rusage usage[4];
};

#define EVENT(moment, call)                                                                        \
    do {                                                                                           \
        (moment).before = thread_cpu_ns();                                                         \
        call;                                                                                      \
        (moment).after = thread_cpu_ns();                                                          \
    } while (0)

static struct bounds between(const struct moment *from, const struct moment *to)
{
    return (struct bounds){to->before - from->after, to->after - from->before};
}

static struct bounds until(const struct moment *to)
{
    return (struct bounds){to->before, to->after};
}

static void check_cpu(const struct java_world *world, uint64_t cpu_ns, struct bounds bounds)
{
    uint64_t slack_ns = world->setup.clock == LEDGER_CLOCK_PLAIN ? 0 : KERNEL_CLOCK_RESYNC_NS + MS;
    if (cpu_ns + slack_ns < bounds.least || cpu_ns > bounds.most + slack_ns)
        fail_msg("%s clock: %.6f ms, expected %.6f to %.6f ms",
                 kernel_clock__name(world->setup.clock), (double)cpu_ns / 1e6,
                 (double)bounds.least / 1e6, (double)bounds.most / 1e6);
}

static void *play_script(void *context)
{
    struct script *script = context;
    struct kernel_thread *kernel_thread = kernel_thread_table__enter(&script->world->table);
    script->tid = gettid();
    if (kernel_thread != NULL && kernel_thread_table__mine() == kernel_thread &&
        kernel_thread_table__enter(&script->world->table) == kernel_thread)
        script->act(script, kernel_thread);
    return NULL;
}

/* Plays it on a thread of its own and waits for that one's end. */
static void run_script(struct script *script, struct java_world *world,
                       void (*act)(struct script *script, struct kernel_thread *kernel_thread))
{
    pthread_t thread;
    assert_non_null(world);
    *script = (struct script){.world = world, .act = act};
    assert_int_equal(pthread_create(&thread, NULL, play_script, script), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static const struct ledger_thread *thread_named(const struct java_world *world, uint64_t java_id,
                                                const char *name)
{
    const struct ledger_thread *thread = find_thread(&world->ledger, java_id);
    assert_non_null(thread);
    assert_true(is_named(&world->ledger, thread->name, name));
    return thread;
}

static void check_drawing(const struct java_world *world, const struct ledger_thread *thread,
                          const char *drawing)
{
    char text[DRAWING_BYTES];
    assert_string_equal(draw(&world->ledger, thread->root, text), drawing);
}

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

#define SHORT_THREADS 300
#define AT_ONCE       20

struct short_thread {
    struct java_world *world;
    pthread_barrier_t *all_run;
    uint64_t java_id;
    struct moment end;
    uint64_t last_look_ns; /* by the last destructor of all */
    pid_t tid;
    bool known;
};

static pthread_key_t last_look;
static __thread unsigned last_look_rounds;

/* After the table's destructor, which waits for the third round. */
static void look_last(void *value)
{
    struct short_thread *thread = value;
    if (++last_look_rounds < 4)
        (void)pthread_setspecific(last_look, value);
    thread->last_look_ns = thread_cpu_ns();
}

static void *run_short_thread(void *context)
{
    struct short_thread *thread = context;
    struct kernel_thread *kernel_thread = kernel_thread_table__enter(&thread->world->table);
    char name[32];
    thread->tid = gettid();
    (void)snprintf(name, sizeof name, "short-%u", (unsigned)thread->java_id);
    if (LAST_DESTRUCTORS_RUN)
        (void)pthread_setspecific(last_look, thread);
    (void)start_java(kernel_thread, name, thread->java_id);
    (void)pthread_barrier_wait(thread->all_run);
    for (unsigned i = 0; i < thread->java_id; i++) {
        kernel_thread__enter(kernel_thread, 'A' + i % 5);
        kernel_thread__leave(kernel_thread, 'A' + i % 5);
    }
    burn_cpu(MS / 2);
    thread->known = kernel_thread_table__runs_java(&thread->world->table, thread->tid);
    EVENT(thread->end, kernel_thread__end_java(kernel_thread));
    thread->last_look_ns = thread->end.after + 10 * MS;
    return NULL;
}

static uint64_t count_calls(const struct ledger *ledger, const struct ledger_thread *thread)
{
    uint64_t calls = 0;
    for (ledger_ref ref = node_at(ledger, thread->root)->first_child; ref != 0;
         ref = node_at(ledger, ref)->next_sibling)
        calls += node_at(ledger, ref)->calls;
    return calls;
}

static void check_short_thread(const struct java_world *world, const struct short_thread *thread)
{
    char name[32];
    (void)snprintf(name, sizeof name, "short-%u", (unsigned)thread->java_id);
    const struct ledger_thread *record = thread_named(world, thread->java_id, name);
    assert_int_equal(record->flags, THREAD_TERMINATED);
    assert_int_equal(record->tids[0], thread->tid);
    assert_int_equal(count_calls(&world->ledger, record), thread->java_id);
    assert_true(thread->known);
    uint64_t all_ns = sum_cpu_ns(&world->ledger, record->root);
    check_cpu(world, all_ns - gap_cpu_ns(&world->ledger, record), until(&thread->end));
    /* With its way out. */
    check_cpu(world, all_ns, (struct bounds){thread->end.after, thread->last_look_ns});
}

static void run_batch(struct short_thread *batch)
{
    pthread_t threads[AT_ONCE];
    for (unsigned i = 0; i < AT_ONCE; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_short_thread, &batch[i]), 0);
    for (unsigned i = 0; i < AT_ONCE; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void check_short_threads(enum ledger_clock_kind kind)
{
    static struct short_thread threads[SHORT_THREADS];
    struct java_world *world = java_world__make(8 * MIB, kind, SWITCHES | FAULTS, false);
    pthread_barrier_t all_run;
    uint64_t sum_ns = 0;
    uint64_t ends_ns = 0;
    uint64_t looks_ns = 0;
    unsigned records = 0;
    unsigned generations = 0;
    assert_non_null(world);
    assert_int_equal(pthread_barrier_init(&all_run, NULL, AT_ONCE), 0);
    uint64_t process_ns = process_cpu_ns();
    uint64_t main_ns = thread_cpu_ns();
    for (unsigned i = 0; i < SHORT_THREADS; i++)
        threads[i] = (struct short_thread){.world = world, .all_run = &all_run, .java_id = i + 1};
    for (unsigned i = 0; i < SHORT_THREADS; i += AT_ONCE)
        run_batch(&threads[i]);
    main_ns = thread_cpu_ns() - main_ns;
    process_ns = process_cpu_ns() - process_ns;
    for (unsigned i = 0; i < SHORT_THREADS; i++) {
        check_short_thread(world, &threads[i]);
        assert_false(kernel_thread_table__runs_java(&world->table, threads[i].tid));
        sum_ns += sum_cpu_ns(&world->ledger, find_thread(&world->ledger, i + 1)->root);
        ends_ns += threads[i].end.after;
        looks_ns += threads[i].last_look_ns;
    }
    for (ledger_ref ref = 0; (ref = ledger__next(&world->ledger, LEDGER_KERNEL_THREADS, ref)) != 0;
         records++) {
        const struct ledger_kernel_thread *record = ledger__at(&world->ledger, ref);
        generations += record->generation;
    }
    /* As many kernel threads as ran at once, and as may have ended meanwhile, used again and again.
     */
    assert_in_range(records, AT_ONCE, AT_ONCE + KERNEL_THREADS_ENDED_MAX);
    assert_int_equal(generations, SHORT_THREADS);
    /* The process: us, all of them, and their last moments in the kernel, however long they are. */
    assert_true(!LAST_DESTRUCTORS_RUN || main_ns + looks_ns <= process_ns);
    check_cpu(world, sum_ns, (struct bounds){ends_ns, looks_ns});
    (void)pthread_barrier_destroy(&all_run);
}

static void hundreds_of_short_threads_have_a_record_each(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        check_short_threads(kinds[k]);
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
static void play_nothing(struct script *script, struct kernel_thread *thread)
{
    (void)script;
    (void)start_java(thread, "one", 1);
    for (int i = 0; i < 10; i++) {
        kernel_thread__enter(thread, 'A');
        kernel_thread__leave(thread, 'A');
    }
    kernel_thread__end_java(thread);
}

static void what_is_not_asked_for_has_no_side_records(void **state)
{
    (void)state;
    struct script script;
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    run_script(&script, world, play_nothing);
    assert_int_equal(ledger__next(&world->ledger, LEDGER_SIDES, 0), 0);
    check_drawing(world, thread_named(world, 1, "one"), "root\n  A 10\n  gap\n");
}

static void wait_and_end(struct script *script, struct kernel_thread *thread)
{
    kernel_thread__enter(thread, 'A');
    burn_cpu(MS);
    nap(MS);
    kernel_thread__leave(thread, 'A');
    kernel_thread__end_java(thread);
    script->at[6].after = 1;
}

static void play_in_a_full_ledger(struct script *script, struct kernel_thread *thread)
{
    script->at[1].after = start_java(thread, "lost", 9) == -ENOMEM;
    wait_and_end(script, thread);
}

static void *enter_only(void *context)
{
    struct java_world *world = context;
    return kernel_thread_table__enter(&world->table);
}

static void fill(struct ledger *ledger)
{
    struct ledger_arena arena = {0};
    while (ledger__take(ledger, &arena, LEDGER_NODES, 1) != 0)
        ;
}

static void a_thread_that_finds_no_room_is_counted(void **state)
{
    (void)state;
    struct script script;
    struct java_world *world = java_world__make(MIB, 0, SWITCHES, false);
    /* A kernel thread's record is there; a Java thread's is not to be had. */
    run_script(&script, world, play_nothing);
    fill(&world->ledger);
    unsigned threads = 0;
    do {
        uint64_t dropped = world->ledger.header->dropped_threads;
        script.at[1].after = 0;
        run_script(&script, world, play_in_a_full_ledger);
        assert_int_equal(script.at[6].after, 1);
        assert_int_equal(world->ledger.header->dropped_threads, dropped + script.at[1].after);
    } while (script.at[1].after == 0 && threads++ < 100);
    assert_int_equal(script.at[1].after, 1);
    assert_null(find_thread(&world->ledger, 10));
    check_drawing(world, thread_named(world, 1, "one"), "root\n  A 10\n  gap\n");
}

static void a_kernel_thread_that_finds_no_room_is_counted(void **state)
{
    (void)state;
    struct java_world *world = java_world__make(MIB, 0, SWITCHES, false);
    assert_non_null(world);
    fill(&world->ledger);
    for (uint64_t i = 1; i <= 3; i++) {
        pthread_t thread;
        void *entry = world;
        assert_int_equal(pthread_create(&thread, NULL, enter_only, world), 0);
        assert_int_equal(pthread_join(thread, &entry), 0);
        assert_null(entry);
        assert_int_equal(world->ledger.header->dropped_threads, i);
    }
}

/* One Java thread has its record; the next on the same kernel thread finds no room. */
static void play_until_full(struct script *script, struct kernel_thread *thread)
{
    (void)start_java(thread, "one", 1);
    EVENT(script->at[0], kernel_thread__enter(thread, 'A'));
    burn_cpu(MS);
    EVENT(script->at[1], kernel_thread__leave(thread, 'A'));
    kernel_thread__end_java(thread);
    fill(&script->world->ledger);
    while (ledger__take(&script->world->ledger, &thread->tree.pool.nodes, LEDGER_NODES, 1) != 0)
        ;
    script->at[2].after = start_java(thread, "two", 2) == -ENOMEM;
    wait_and_end(script, thread);
}

static void what_a_lost_thread_consumes_goes_to_no_method(void **state)
{
    (void)state;
    struct script script;
    struct java_world *world = java_world__make(MIB, LEDGER_CLOCK_PLAIN, 0, false);
    run_script(&script, world, play_until_full);
    assert_int_equal(script.at[2].after, 1);
    const struct ledger_thread *one = thread_named(world, 1, "one");
    check_drawing(world, one, "root\n  A 1\n  gap\n");
    check_cpu(world, cpu_at(&world->ledger, one, "A"), between(&script.at[0], &script.at[1]));
    assert_true(gap_cpu_ns(&world->ledger, one) >= MS);
}

/* A destructor of thread-local data runs Java once more, as a library that detaches late does. */
static pthread_key_t late_user;

static void use_late(void *value)
{
    struct script *script = value;
    struct kernel_thread *mine = kernel_thread_table__mine();
    script->at[7].after = mine != NULL;
    if (mine != NULL)
        kernel_thread__end_java(mine);
}

static void play_late_detach(struct script *script, struct kernel_thread *thread)
{
    (void)start_java(thread, "one", 1);
    kernel_thread__enter(thread, 'A');
    (void)pthread_setspecific(late_user, script);
}

static void a_destructor_that_detaches_finds_the_entry(void **state)
{
    (void)state;
    struct script script;
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    run_script(&script, world, play_late_detach);
    assert_int_equal(script.at[7].after, 1);
    const struct ledger_thread *one = thread_named(world, 1, "one");
    assert_int_equal(one->flags, THREAD_TERMINATED);
    assert_int_not_equal(one->end_ns, 0);
}

static int make_keys(void **state)
{
    (void)state;
    return pthread_key_create(&last_look, look_last) | pthread_key_create(&late_user, use_late);
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
        cmocka_unit_test(hundreds_of_short_threads_have_a_record_each),
        cmocka_unit_test(metrics_are_consumed_once_by_the_node_that_was_current),
        cmocka_unit_test(what_is_not_asked_for_has_no_side_records),
        cmocka_unit_test(a_thread_that_finds_no_room_is_counted),
        cmocka_unit_test(a_kernel_thread_that_finds_no_room_is_counted),
        cmocka_unit_test(what_a_lost_thread_consumes_goes_to_no_method),
        cmocka_unit_test(a_destructor_that_detaches_finds_the_entry),
    };
    return cmocka_run_group_tests(tests, make_keys, NULL);
}
