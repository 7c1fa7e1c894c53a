/* The table of kernel threads: an entry as long as there is the thread, however short that is, up
 * to its last destructor. */
#include "native/thread/kernel_thread_events.h"
#include "played_thread.h"

#include <stdio.h>

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
    assert_true(kernel_thread_table__bytes(&world->table) >=
                records * sizeof(struct kernel_thread));
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
        cmocka_unit_test(hundreds_of_short_threads_have_a_record_each),
        cmocka_unit_test(a_destructor_that_detaches_finds_the_entry),
    };
    return cmocka_run_group_tests(tests, make_keys, NULL);
}
