/* Counters that each thread has for itself. What threads counted is known from how often they did;
 * they add as the class of the hooks does: to their own block, or else atomically to the shared
 * one. */
#include "agent/methods/thread_counters.h"

#include <pthread.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define CALLS   100000u
#define THREADS 8u

static struct thread_counters counters;

static int begin(void **state)
{
    (void)state;
    return thread_counters__begin(&counters);
}

static int end(void **state)
{
    (void)state;
    thread_counters__end(&counters);
    return 0;
}

static uint64_t *block_of(uint64_t tid)
{
    const struct counting_thread *place = &counters.threads[tid % THREAD_COUNTERS_PLACES];

    return __atomic_load_n(&place->tid, __ATOMIC_RELAXED) == tid
               ? (uint64_t *)(uintptr_t)place->block
               : NULL;
}

static void count(uint64_t tid, uint32_t number)
{
    uint64_t *own = block_of(tid);

    if (own)
        __atomic_store_n(&own[number], own[number] + 1, __ATOMIC_RELAXED);
    else
        thread_counters__add(&counters, number, 1);
}

/* A life: shared at first, then with a block, which it gives back. */
static void *live(void *tid)
{
    for (uint32_t i = 0; i < CALLS; i++) {
        count((uintptr_t)tid, 1 + i % 2);
        if (i == CALLS / 4)
            thread_counters__claim(&counters, (uintptr_t)tid);
    }
    thread_counters__release(&counters, (uintptr_t)tid);
    return NULL;
}

/* Several generations of threads, two of each with the same place in the table. */
static void no_call_is_lost_and_none_counted_twice(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    assert_int_equal(thread_counters__number(&counters), 1);
    assert_int_equal(thread_counters__number(&counters), 2);
    for (uint64_t generation = 1; generation <= 20; generation++) {
        for (uintptr_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, live,
                                            (void *)(generation * 2 * THREAD_COUNTERS_PLACES +
                                                     i / 2 + i % 2 * THREAD_COUNTERS_PLACES)),
                             0);
        for (uintptr_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (uint32_t number = 1; number <= 2; number++)
            assert_int_equal(thread_counters__read(&counters, number),
                             generation * THREADS * CALLS / 2);
    }
    assert_false(thread_counters__has_owners(&counters));
}

static void each_thread_has_its_own_block(void **state)
{
    (void)state;
    for (uint64_t tid = 1; tid < THREAD_COUNTERS_BLOCKS; tid++) {
        thread_counters__claim(&counters, tid);
        assert_non_null(block_of(tid));
        assert_ptr_not_equal(block_of(tid), counters.blocks);
        for (uint64_t other = 1; other < tid; other++)
            assert_ptr_not_equal(block_of(other), block_of(tid));
    }
    thread_counters__claim(&counters, 1); /* it has one */
    thread_counters__release(&counters, 5);
    thread_counters__claim(&counters, 1000);
    assert_non_null(block_of(1000));
}

static void without_a_block_a_thread_shares(void **state)
{
    (void)state;
    for (uint64_t tid = 1; tid < THREAD_COUNTERS_BLOCKS; tid++)
        thread_counters__claim(&counters, tid);
    thread_counters__claim(&counters, 100);
    assert_null(block_of(100));
    thread_counters__release(&counters, 100); /* of another's block nothing is released */
    thread_counters__release(&counters, 1);
    thread_counters__claim(&counters, 2 + THREAD_COUNTERS_PLACES); /* the place of thread 2 */
    assert_null(block_of(2 + THREAD_COUNTERS_PLACES));
    assert_non_null(block_of(2));
    thread_counters__claim(&counters, 100);
    assert_non_null(block_of(100));
    thread_counters__claim(&counters, 0); /* nobody's */
    assert_int_equal(counters.taken, UINT64_MAX);
}

/* Tids that are multiples of the table's size have the place of 0, too. */
static void without_a_tid_a_thread_shares(void **state)
{
    (void)state;
    assert_int_not_equal(counters.threads[0].tid, 0);
    thread_counters__claim(&counters, 0);
    thread_counters__claim(&counters, THREAD_COUNTERS_PLACES);
    thread_counters__release(&counters, 0);
    assert_int_not_equal(counters.threads[0].tid, 0);
    assert_null(block_of(THREAD_COUNTERS_PLACES));
    assert_false(thread_counters__has_owners(&counters));
}

static void numbers_end(void **state)
{
    (void)state;
    for (uint32_t number = 1; number < THREAD_COUNTERS_MAX; number++)
        assert_int_equal(thread_counters__number(&counters), number);
    assert_int_equal(thread_counters__number(&counters), 0);
    assert_int_equal(thread_counters__given(&counters), THREAD_COUNTERS_MAX - 1);
}

static void notes_are_kept(void **state)
{
    (void)state;
    assert_int_equal(thread_counters__note(&counters, 1), 0);
    thread_counters__set_note(&counters, 1, 42);
    assert_int_equal(thread_counters__note(&counters, 1), 42);
    assert_int_equal(thread_counters__note(&counters, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_call_is_lost_and_none_counted_twice, begin, end),
        cmocka_unit_test_setup_teardown(each_thread_has_its_own_block, begin, end),
        cmocka_unit_test_setup_teardown(without_a_block_a_thread_shares, begin, end),
        cmocka_unit_test_setup_teardown(without_a_tid_a_thread_shares, begin, end),
        cmocka_unit_test_setup_teardown(numbers_end, begin, end),
        cmocka_unit_test_setup_teardown(notes_are_kept, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
