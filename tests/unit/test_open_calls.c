/*
 * Calls of methods of latency=: L and M; all other methods are not measured. The oracle for times
 * is the test's own clocks: a call takes at least what lies inside it, and at most what lies around
 * it.
 */
#include "burn.h"
#include "carriers.h"
#include "native/thread/kernel_thread_events.h"
#include "native/thread/open_calls.h"

#include <pthread.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB (UINT64_C(1) << 20)

static ledger_ref resolve(void *context, uint64_t key)
{
    struct method_maker *maker = context;
    const struct ledger_method_names names = {"X", (char[]){(char)key, '\0'}, "()V", NULL};
    return ledger__add_method(maker->ledger, key, &names,
                              key == 'L' || key == 'M' ? METHOD_LATENCY : 0);
}

static struct java_world *make_world(uint64_t max_bytes, enum ledger_clock_kind clock)
{
    struct java_world *world = java_world__make(max_bytes, clock, 0, false);
    assert_non_null(world);
    world->setup.resolve = resolve;
    world->setup.has_latencies = true;
    return world;
}

static const struct ledger_latency *latency_of(const struct java_world *world, uint64_t key,
                                               enum ledger_latency_clock clock)
{
    ledger_ref ref = 0;
    while ((ref = ledger__next(&world->ledger, LEDGER_LATENCIES, ref)) != 0) {
        const struct ledger_latency *latency = ledger__at(&world->ledger, ref);
        if (latency->method == ledger__find_method(&world->ledger, key) && latency->clock == clock)
            return latency;
    }
    return NULL;
}

static uint64_t count_of(const struct java_world *world, uint64_t key)
{
    const struct ledger_latency *elapsed = latency_of(world, key, LATENCY_ELAPSED);
    uint64_t counts[LATENCY_CLOCKS] = {0};
    for (unsigned clock = 0; elapsed != NULL && clock < LATENCY_CLOCKS; clock++)
        for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
            counts[clock] += latency_of(world, key, clock)->buckets[i];
    assert_int_equal(counts[LATENCY_ELAPSED], counts[LATENCY_CPU]);
    return counts[LATENCY_ELAPSED];
}

static struct kernel_thread *begin_here(struct java_world *world, struct kernel_thread *mine,
                                        struct ledger_kernel_thread *record)
{
    java_world__begin_here(world, mine, record);
    assert_int_equal(start_java(mine, "main", 1), 0);
    return mine;
}

static void call(struct kernel_thread *thread, uint64_t key)
{
    kernel_thread__pop(thread, kernel_thread__push(thread, key));
}

static void each_call_is_counted_with_those_below_it(void **state)
{
    (void)state;
    for (enum ledger_clock_kind clock = LEDGER_CLOCK_PLAIN; clock <= LEDGER_CLOCK_RSEQ; clock++) {
        struct java_world *world = make_world(4 * MIB, clock);
        struct ledger_kernel_thread record;
        static struct kernel_thread mine;
        begin_here(world, &mine, &record);
        for (int i = 0; i < 100; i++) {
            uint64_t a = kernel_thread__push(&mine, 'A');
            uint64_t l = kernel_thread__push(&mine, 'L');
            call(&mine, 'B');
            call(&mine, 'M');
            call(&mine, 'L');
            kernel_thread__pop(&mine, l);
            kernel_thread__pop(&mine, l);
            kernel_thread__pop(&mine, a);
        }
        assert_int_equal(count_of(world, 'L'), 200);
        assert_int_equal(count_of(world, 'M'), 100);
        assert_null(latency_of(world, 'A', LATENCY_ELAPSED));
        assert_null(latency_of(world, 'B', LATENCY_ELAPSED));
        assert_int_equal(world->ledger.header->unmeasured_calls, 0);
        assert_int_equal(latency_of(world, 'M', LATENCY_ELAPSED)->steps, 99);
        assert_int_equal(mine.open_calls.top, 0);
        kernel_thread__end(&mine);
    }
}

/* Each time is between what the test's clocks say inside and around. */
static void times_are_those_of_the_call(void **state)
{
    (void)state;
    struct java_world *world = make_world(4 * MIB, 0);
    struct ledger_kernel_thread record;
    static struct kernel_thread mine;
    begin_here(world, &mine, &record);
    uint64_t around = read_ns(CLOCK_MONOTONIC), cpu_around = thread_cpu_ns();
    uint64_t token = kernel_thread__push(&mine, 'L');
    uint64_t inside = read_ns(CLOCK_MONOTONIC), cpu_inside = thread_cpu_ns();
    nap(20 * MS);
    burn_cpu(5 * MS);
    call(&mine, 'B');
    cpu_inside = thread_cpu_ns() - cpu_inside;
    inside = read_ns(CLOCK_MONOTONIC) - inside;
    kernel_thread__pop(&mine, token);
    cpu_around = thread_cpu_ns() - cpu_around;
    around = read_ns(CLOCK_MONOTONIC) - around;
    const struct ledger_latency *elapsed = latency_of(world, 'L', LATENCY_ELAPSED);
    const struct ledger_latency *cpu = latency_of(world, 'L', LATENCY_CPU);
    assert_int_equal(elapsed->max_ns, elapsed->sum_ns);
    assert_in_range(elapsed->max_ns, inside - MS / 10, around + MS / 10);
    assert_in_range(cpu->max_ns, cpu_inside - MS, cpu_around + MS);
    assert_int_equal(elapsed->buckets[latency__bucket(elapsed->max_ns)], 1);
    assert_int_equal(cpu->buckets[latency__bucket(cpu->max_ns)], 1);
    kernel_thread__end(&mine);
}

static void recursion_counts_each_call(void **state)
{
    (void)state;
    for (uint32_t levels = 0; levels < 3; levels++) {
        struct java_world *world = make_world(4 * MIB, 0);
        struct ledger_kernel_thread record;
        static struct kernel_thread mine;
        uint64_t tokens[301];
        world->ledger.header->recursion = levels;
        begin_here(world, &mine, &record);
        for (int i = 0; i < 300; i++)
            tokens[i] = kernel_thread__push(&mine, i % 3 ? 'L' : 'A');
        nap(MS);
        for (int i = 300; i-- > 0;)
            kernel_thread__pop(&mine, tokens[i]);
        assert_int_equal(count_of(world, 'L'), 200);
        assert_true(latency_of(world, 'L', LATENCY_ELAPSED)->sum_ns >= 200 * MS);
        assert_int_equal(mine.open_calls.top, 0);
        kernel_thread__end(&mine);
    }
}

/* L calls M and B, which both end without an exit; M's end is not known. */
static void missed_exits_are_counted(void **state)
{
    (void)state;
    struct java_world *world = make_world(4 * MIB, 0);
    struct ledger_kernel_thread record;
    static struct kernel_thread mine;
    begin_here(world, &mine, &record);
    uint64_t a = kernel_thread__push(&mine, 'A');
    uint64_t l = kernel_thread__push(&mine, 'L');
    (void)kernel_thread__push(&mine, 'M');
    (void)kernel_thread__push(&mine, 'B');
    kernel_thread__pop(&mine, l);
    assert_int_equal(count_of(world, 'L'), 1);
    assert_null(latency_of(world, 'M', LATENCY_ELAPSED));
    assert_int_equal(world->ledger.header->unmeasured_calls, 1);
    /* The exit of L itself is missed; A goes on, and calls L once more. */
    (void)kernel_thread__push(&mine, 'L');
    kernel_thread__catch(&mine, a);
    call(&mine, 'L');
    assert_int_equal(count_of(world, 'L'), 2);
    assert_int_equal(world->ledger.header->unmeasured_calls, 2);
    kernel_thread__pop(&mine, a);
    kernel_thread__end(&mine);
}

/* A call that began before profiling was stopped is not counted, and one after it is. */
static void a_stop_ends_what_is_under_way(void **state)
{
    (void)state;
    struct java_world *world = make_world(4 * MIB, 0);
    struct ledger_kernel_thread record;
    static struct kernel_thread mine;
    begin_here(world, &mine, &record);
    uint64_t old = kernel_thread__push(&mine, 'L');
    world->setup.epoch = EPOCH_STOPPED;
    call(&mine, 'L');
    world->setup.epoch = 2;
    call(&mine, 'L');
    kernel_thread__pop(&mine, old);
    assert_int_equal(count_of(world, 'L'), 1);
    assert_int_equal(mine.open_calls.top, 0);
    assert_int_equal(world->ledger.header->unmeasured_calls, 0);
    kernel_thread__end(&mine);
}

static void events_that_name_methods_measure_the_same(void **state)
{
    (void)state;
    struct java_world *world = make_world(4 * MIB, 0);
    struct ledger_kernel_thread record;
    static struct kernel_thread mine;
    world->setup.names_exits = true;
    begin_here(world, &mine, &record);
    for (int i = 0; i < 10; i++) {
        for (const char *c = "ALBbMLlmla"; *c != '\0'; c++) {
            if (*c < 'a')
                kernel_thread__enter(&mine, (uint64_t)*c);
            else
                kernel_thread__leave(&mine, (uint64_t)*c - 'a' + 'A');
        }
    }
    assert_int_equal(count_of(world, 'L'), 20);
    assert_int_equal(count_of(world, 'M'), 10);
    assert_int_equal(world->ledger.header->unmeasured_calls, 0);
    kernel_thread__end(&mine);
}

struct hop {
    struct java_world *world;
    ledger_ref thread;
    uint64_t token;
    uint64_t cpu_ns;
};

static void *hop_on(void *context)
{
    struct hop *hop = context;
    struct kernel_thread *carrier = enter_carrier(hop->world, "carrier-2", 12);
    uint64_t own = kernel_thread__push(carrier, 'M');
    burn_cpu(3 * MS);
    virtual_thread__mount(carrier, hop->thread);
    hop->cpu_ns -= thread_cpu_ns();
    burn_cpu(4 * MS);
    kernel_thread__pop(carrier, hop->token);
    hop->cpu_ns += thread_cpu_ns();
    virtual_thread__unmount(carrier);
    virtual_thread__end(carrier, hop->thread);
    kernel_thread__pop(carrier, own);
    return NULL;
}

/* vt-1 calls L on one carrier and returns on another: the time in between counts as elapsed, the
 * CPU time of the carriers in between does not count. */
static void calls_go_along_with_virtual_threads(void **state)
{
    (void)state;
    pthread_t other;
    struct java_world *world = make_world(4 * MIB, 0);
    struct hop hop = {.world = world};
    struct kernel_thread *carrier = enter_carrier(world, "carrier-1", 11);
    assert_non_null(carrier);
    uint64_t own = kernel_thread__push(carrier, 'M');
    hop.thread = begin_virtual(carrier, "vt-1", 21);
    virtual_thread__mount(carrier, hop.thread);
    hop.cpu_ns -= thread_cpu_ns();
    hop.token = kernel_thread__push(carrier, 'L');
    burn_cpu(2 * MS);
    virtual_thread__unmount(carrier);
    hop.cpu_ns += thread_cpu_ns();
    kernel_thread__pop(carrier, own);
    assert_int_equal(count_of(world, 'M'), 1);
    assert_int_equal(count_of(world, 'L'), 0);
    nap(30 * MS);
    assert_int_equal(pthread_create(&other, NULL, hop_on, &hop), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(count_of(world, 'L'), 1);
    assert_int_equal(count_of(world, 'M'), 2);
    assert_true(latency_of(world, 'L', LATENCY_ELAPSED)->max_ns >= 36 * MS);
    assert_in_range(latency_of(world, 'L', LATENCY_CPU)->max_ns, 5 * MS, hop.cpu_ns + MS);
    assert_int_equal(world->ledger.header->unmeasured_calls, 0);
}

/* Records of latencies take no more than their part of the ledger. */
static void calls_without_room_are_counted(void **state)
{
    (void)state;
    struct java_world *world = make_world(MIB / 8, 0);
    struct ledger_kernel_thread record;
    static struct kernel_thread mine;
    begin_here(world, &mine, &record);
    world->ledger.header->max_bytes = (uint64_t)3 * LATENCY_LEDGER_PART * LEDGER_CHUNK_BYTES;
    for (int i = 0; i < 5; i++) {
        call(&mine, 'L');
        call(&mine, 'M');
    }
    assert_int_equal(count_of(world, 'L'), 5);
    assert_int_equal(count_of(world, 'M'), 0);
    assert_int_equal(world->ledger.header->unmeasured_calls, 5);
    kernel_thread__end(&mine);
}

#define RACERS      4
#define RACER_CALLS 20000

static void *race(void *context)
{
    struct kernel_thread *mine = kernel_thread_table__enter(&((struct java_world *)context)->table);
    (void)start_java(mine, "racer", 7);
    for (int i = 0; i < RACER_CALLS; i++)
        call(mine, 'L');
    return NULL;
}

static void threads_share_a_histogram(void **state)
{
    (void)state;
    struct java_world *world = make_world(4 * MIB, 0);
    pthread_t racers[RACERS];
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&racers[i], NULL, race, world), 0);
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_join(racers[i], NULL), 0);
    assert_int_equal(count_of(world, 'L'), RACERS * RACER_CALLS);
    assert_int_equal(latency_of(world, 'L', LATENCY_CPU)->steps, RACERS * RACER_CALLS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_is_counted_with_those_below_it),
        cmocka_unit_test(times_are_those_of_the_call),
        cmocka_unit_test(recursion_counts_each_call),
        cmocka_unit_test(missed_exits_are_counted),
        cmocka_unit_test(a_stop_ends_what_is_under_way),
        cmocka_unit_test(events_that_name_methods_measure_the_same),
        cmocka_unit_test(calls_go_along_with_virtual_threads),
        cmocka_unit_test(calls_without_room_are_counted),
        cmocka_unit_test(threads_share_a_histogram),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
