/* Records that are free, in the hands of several kernel threads. */
#include "native/ledger/record_pool.h"

#include <stdlib.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define POOLS   32u
#define RECORDS (100 * RECORD_POOL_CHAIN)

#define MANY               300u /* kernel threads */
#define THREADS_OF_A_CHUNK 5u   /* records of threads: 11 of 63 cells each */

/* All that were ever made. */
static uint32_t made(const struct ledger *ledger)
{
    return ledger->header->chunks_used * LEDGER_CHUNK_CELLS;
}

static void take(struct record_pool *pool, ledger_ref *refs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        refs[i] = record_pool__node(pool);
        assert_true(refs[i] != 0);
    }
}

static void give(struct record_pool *pool, const ledger_ref *refs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        record_pool__give_node(pool, refs[i]);
}

/* One gives all, each of the others takes a single one and keeps it, and then one of them wants as
 * many as there were: what the others hold is little. */
static void who_takes_one_leaves_the_others_theirs(void **state)
{
    (void)state;
    struct ledger ledger;
    struct record_pool *pools = calloc(POOLS, sizeof(*pools));
    ledger_ref *refs = calloc(RECORDS, sizeof(*refs));
    assert_non_null(pools);
    assert_non_null(refs);
    assert_int_equal(ledger__create(&ledger, NULL, 64u << 20), 0);
    for (uint32_t i = 0; i < POOLS; i++)
        pools[i].ledger = &ledger;
    take(&pools[0], refs, RECORDS);
    uint32_t first = made(&ledger);
    for (uint32_t round = 0; round < 20; round++) {
        give(&pools[round % POOLS], refs, RECORDS);
        ledger_ref ones[POOLS];
        for (uint32_t i = 0; i < POOLS; i++)
            take(&pools[i], &ones[i], 1);
        take(&pools[(round + 17) % POOLS], refs, RECORDS);
    }
    assert_true(made(&ledger) < first * 3);
    ledger__close(&ledger);
    free(refs);
    free(pools);
}

/* Threads begin on many kernel threads, and one other gives their records up: no kernel thread
 * keeps what it does not need. */
static void what_another_gives_is_shared_by_all(void **state)
{
    (void)state;
    struct ledger ledger;
    struct record_pool *pools = calloc(MANY, sizeof(*pools));
    struct record_pool housekeeping = {.ledger = &ledger};
    assert_non_null(pools);
    assert_int_equal(ledger__create(&ledger, NULL, 64u << 20), 0);
    for (uint32_t i = 0; i < MANY; i++)
        pools[i].ledger = &ledger;
    for (uint32_t round = 0; round < 100 * MANY; round++) {
        ledger_ref ref = record_pool__thread(&pools[round * 7 % MANY]);
        assert_true(ref != 0);
        record_pool__give_thread(&housekeeping, ref);
    }
    /* What the one may keep, and a chunk for each of the others, of twice their number. */
    uint32_t chunks = 2 * (2 * RECORD_POOL_CHAIN / THREADS_OF_A_CHUNK + MANY);
    assert_true(ledger.header->chunks_used < chunks);
    ledger__close(&ledger);
    free(pools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_takes_one_leaves_the_others_theirs),
        cmocka_unit_test(what_another_gives_is_shared_by_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
