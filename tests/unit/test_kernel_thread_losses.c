/* Kernel threads and Java threads for which the ledger has no room: each is counted, and no method
 * is charged for it. */
#include "native/thread/kernel_thread_events.h"
#include "played_thread.h"

#include <errno.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_finds_no_room_is_counted),
        cmocka_unit_test(a_kernel_thread_that_finds_no_room_is_counted),
        cmocka_unit_test(what_a_lost_thread_consumes_goes_to_no_method),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
