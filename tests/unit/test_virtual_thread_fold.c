/* What many threads did is the same whether they keep their rows or are folded, and the ledger does
 * not grow with them; virtual threads, and platform threads that are as short. */
#include "burn.h"
#include "carriers.h"
#include "native/snapshot/snapshot.h"
#include "native/thread/kernel_thread_events.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB      (UINT64_C(1) << 20)
#define CARRIERS 4

struct crowd {
    struct java_world *world;
    int carrier;
    uint64_t first;
    uint64_t count;
};

/* Each: A, B twice below it, parked in between; names have the number. */
static void play_one(struct kernel_thread *carrier, uint64_t id)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%s-%llu", id % 3 ? "worker" : "other",
                   (unsigned long long)id);
    ledger_ref thread = begin_virtual(carrier, name, id);
    (void)virtual_thread__mount(carrier, thread);
    uint64_t outer = kernel_thread__push(carrier, 'A');
    kernel_thread__pop(carrier, kernel_thread__push(carrier, 'B'));
    virtual_thread__unmount(carrier);
    (void)virtual_thread__mount(carrier, thread);
    kernel_thread__pop(carrier, kernel_thread__push(carrier, 'B'));
    kernel_thread__pop(carrier, outer);
    virtual_thread__end(carrier, thread);
}

static void *play_crowd(void *context)
{
    const struct crowd *crowd = context;
    char name[32];
    (void)snprintf(name, sizeof name, "carrier-%d", crowd->carrier);
    struct kernel_thread *carrier =
        enter_carrier(crowd->world, name, 1000000000u + (unsigned)crowd->carrier);
    for (uint64_t i = 0; i < crowd->count; i++)
        play_one(carrier, crowd->first + i);
    return NULL;
}

static void play_crowds(struct java_world *world, uint64_t count)
{
    struct crowd crowds[CARRIERS];
    pthread_t threads[CARRIERS];
    for (int i = 0; i < CARRIERS; i++) {
        crowds[i] = (struct crowd){world, i, 1 + (uint64_t)i * count, count};
        assert_int_equal(pthread_create(&threads[i], NULL, play_crowd, &crowds[i]), 0);
    }
    for (int i = 0; i < CARRIERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

struct sums {
    uint64_t rows;
    uint64_t members;
    uint64_t mounts;
    uint64_t calls_a;
    uint64_t calls_b;
    uint64_t cpu_ns;
};

/* Of all virtual threads of a settled snapshot. */
static struct sums sum_up(const struct java_world *world)
{
    struct sums sums = {0};
    struct ledger copy;
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    assert_int_equal(snapshot__copy(world->ledger.fd, fd), 0);
    off_t bytes = lseek(fd, 0, SEEK_END);
    assert_int_equal(ledger__adopt(&copy, fd, (uint64_t)bytes, MIB), 0);
    ledger_ref ref = 0;
    while ((ref = ledger__next(&copy, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *thread = ledger__at(&copy, ref);
        if (thread->kind != THREAD_VIRTUAL)
            continue;
        ledger_ref a = child_of(&copy, thread->root, 'A');
        ledger_ref b = child_of(&copy, a, 'B');
        sums.rows++;
        sums.members += (thread->flags & THREAD_GROUP) != 0 ? thread->members : 1;
        sums.mounts += thread->mounts;
        sums.calls_a += node_at(&copy, a)->calls;
        sums.calls_b += node_at(&copy, b)->calls;
        sums.cpu_ns += node_at(&copy, thread->root)->cpu_ns + node_at(&copy, a)->cpu_ns +
                       node_at(&copy, b)->cpu_ns;
    }
    ledger__close(&copy);
    (void)close(fd);
    return sums;
}

static void check_exact(const struct sums *sums, uint64_t threads)
{
    assert_int_equal(sums->members, threads);
    assert_int_equal(sums->mounts, 2 * threads);
    assert_int_equal(sums->calls_a, threads);
    assert_int_equal(sums->calls_b, 2 * threads);
}

static void folded_or_not_the_sums_are_the_same(void **state)
{
    (void)state;
    for (int fold = 0; fold < 2; fold++) {
        struct java_world *world = java_world__make(64 * MIB, 0, 0, false);
        assert_non_null(world);
        world->ledger.header->fold_none = fold == 0;
        world->ledger.header->kept_threads = THREADS_KEPT - 10;
        play_crowds(world, 1000);
        struct sums sums = sum_up(world);
        check_exact(&sums, CARRIERS * 1000);
        /* Ten keep their rows; the others are in two groups, one for each name. */
        assert_int_equal(sums.rows, fold == 0 ? CARRIERS * 1000 : 10 + 2);
        assert_int_equal(world->ledger.header->dropped_enters, 0);
        assert_int_equal(world->ledger.header->dropped_threads, 0);
    }
}

/* Records are used again, also those of another carrier. */
static void the_ledger_does_not_grow_with_the_threads(void **state)
{
    (void)state;
    struct java_world *world = java_world__make(64 * MIB, 0, 0, false);
    assert_non_null(world);
    world->ledger.header->kept_threads = THREADS_KEPT;
    play_crowds(world, 500);
    uint32_t chunks = world->ledger.header->chunks_used;
    play_crowds(world, 20000);
    assert_true(world->ledger.header->chunks_used <= chunks + CARRIERS * 8);
    struct sums sums = sum_up(world);
    check_exact(&sums, CARRIERS * 20500);
}

/* One kernel thread begins them, another one ends them: the freed records come back. */
struct relay {
    struct java_world *world;
    pthread_barrier_t barrier;
    ledger_ref threads[100];
};

static void *end_them(void *context)
{
    struct relay *relay = context;
    struct kernel_thread *carrier = enter_carrier(relay->world, "ends", 2000000001u);
    for (int round = 0; round < 200; round++) {
        (void)pthread_barrier_wait(&relay->barrier);
        for (int i = 0; i < 100; i++) {
            (void)virtual_thread__mount(carrier, relay->threads[i]);
            kernel_thread__pop(carrier, kernel_thread__push(carrier, 'A'));
            virtual_thread__end(carrier, relay->threads[i]);
        }
        (void)pthread_barrier_wait(&relay->barrier);
    }
    return NULL;
}

static void records_come_back_from_other_carriers(void **state)
{
    (void)state;
    pthread_t other;
    static struct relay relay;
    relay.world = java_world__make(64 * MIB, 0, 0, false);
    assert_non_null(relay.world);
    assert_int_equal(pthread_barrier_init(&relay.barrier, NULL, 2), 0);
    relay.world->ledger.header->kept_threads = THREADS_KEPT;
    struct kernel_thread *carrier = NULL;
    uint64_t id = 1;
    uint32_t chunks = 0;
    assert_int_equal(pthread_create(&other, NULL, end_them, &relay), 0);
    /* The test's own thread is known to the table of an older world. */
    struct kernel_thread own;
    struct ledger_kernel_thread record;
    java_world__begin_here(relay.world, &own, &record);
    carrier = &own;
    assert_int_equal(start_java(carrier, "begins", 2000000000u), 0);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 100; i++, id++) {
            char name[32];
            (void)snprintf(name, sizeof name, "relay-%llu", (unsigned long long)id);
            relay.threads[i] = begin_virtual(carrier, name, id);
            assert_int_not_equal(relay.threads[i], 0);
        }
        (void)pthread_barrier_wait(&relay.barrier);
        (void)pthread_barrier_wait(&relay.barrier);
        if (round == 20)
            chunks = relay.world->ledger.header->chunks_used;
    }
    assert_int_equal(pthread_join(other, NULL), 0);
    kernel_thread__end(&own);
    assert_true(relay.world->ledger.header->chunks_used <= chunks + 8);
}

/* Platform threads, too: a name each, a few calls, and over. */
static void *short_life(void *context)
{
    const struct crowd *crowd = context;
    char name[32];
    struct kernel_thread *mine = kernel_thread_table__enter(&crowd->world->table);
    (void)snprintf(name, sizeof name, "short-%llu", (unsigned long long)crowd->first);
    (void)start_java(mine, name, crowd->first);
    kernel_thread__pop(mine, kernel_thread__push(mine, 'A'));
    return NULL;
}

static void platform_threads_fold_when_they_end(void **state)
{
    (void)state;
    struct java_world *world = java_world__make(16 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    world->ledger.header->kept_threads = THREADS_KEPT;
    for (uint64_t i = 1; i <= 300; i++) {
        struct crowd crowd = {.world = world, .first = i};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, short_life, &crowd), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    uint64_t calls = 0, members = 0;
    ledger_ref ref = 0;
    while ((ref = ledger__next(&world->ledger, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *thread = ledger__at(&world->ledger, ref);
        if (thread->kind != THREAD_PLATFORM || !LAST_DESTRUCTORS_RUN)
            continue;
        assert_true((thread->flags & THREAD_GROUP) != 0);
        assert_true(is_named(&world->ledger, thread->name, "short-#"));
        calls += node_at(&world->ledger, child_of(&world->ledger, thread->root, 'A'))->calls;
        members += thread->members;
    }
    if (LAST_DESTRUCTORS_RUN) {
        assert_int_equal(members, 300);
        assert_int_equal(calls, 300);
    }
}

/* Beyond the kept ones: "only" has no like and stays what it was; "some-1" lends its row to the
 * others. */
static void the_first_of_a_group_becomes_it(void **state)
{
    (void)state;
    char text[DRAWING_BYTES];
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    world->ledger.header->kept_threads = THREADS_KEPT;
    static const char *const names[] = {"only", "some-1", "some-22"};
    struct kernel_thread own, *carrier = &own;
    struct ledger_kernel_thread record;
    java_world__begin_here(world, &own, &record);
    assert_int_equal(start_java(&own, "carrier-1", 11), 0);
    for (uint64_t i = 0; i < 3; i++) {
        ledger_ref thread = begin_virtual(carrier, names[i], i + 1);
        assert_true(virtual_thread__mount(carrier, thread));
        kernel_thread__pop(carrier, kernel_thread__push(carrier, 'A'));
        virtual_thread__unmount(carrier);
        assert_false(virtual_thread__end(carrier, thread));
    }
    const struct ledger_thread *only = find_thread(&world->ledger, 1);
    const struct ledger_thread *some = find_thread(&world->ledger, 2);
    assert_true(is_named(&world->ledger, only->name, "only"));
    assert_int_equal(only->members, 1);
    assert_int_equal(only->tids[0], gettid());
    assert_string_equal(draw(&world->ledger, only->root, text), "root\n  A 1\n");
    assert_true(is_named(&world->ledger, some->name, "some-#"));
    assert_int_equal(some->members, 2);
    assert_string_equal(draw(&world->ledger, some->root, text), "root\n  A 2\n");
    assert_null(find_thread(&world->ledger, 3));
    kernel_thread__end(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_a_group_becomes_it),
        cmocka_unit_test(folded_or_not_the_sums_are_the_same),
        cmocka_unit_test(the_ledger_does_not_grow_with_the_threads),
        cmocka_unit_test(records_come_back_from_other_carriers),
        cmocka_unit_test(platform_threads_fold_when_they_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
