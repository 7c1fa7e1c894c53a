/* Tables of a ledger: a walk finds what threads took at once, each record once. */
#include "ledger_racers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    enum ledger_table table;
    uint32_t cells;
} tables[] = {
    {LEDGER_METHODS, 1},
    {LEDGER_THREADS, sizeof(struct ledger_thread) / 64},
    {LEDGER_KERNEL_THREADS, sizeof(struct ledger_kernel_thread) / 64},
    {LEDGER_NODES, 1},
    {LEDGER_SIDES, sizeof(struct ledger_side) / 64},
    {LEDGER_RENAMES, 1},
    {LEDGER_IMAGES, 1},
    {LEDGER_CODE, 1},
    {LEDGER_PLACES, 1},
    {LEDGER_TALLIES, 1},
    {LEDGER_BLOCKS, sizeof(struct ledger_block) / 64},
    {LEDGER_LATENCIES, sizeof(struct ledger_latency) / 64},
    {LEDGER_STUCK, sizeof(struct ledger_stuck) / 64},
    {LEDGER_ORDERS, sizeof(struct ledger_order) / 64},
    {LEDGER_PARTS, sizeof(struct ledger_part) / 64},
};

#define TABLES      (sizeof tables / sizeof tables[0])
#define TAKEN       400
#define TABLE_CELLS (8192 * LEDGER_CHUNK_CELLS)

struct taker {
    struct ledger *ledger;
    pthread_barrier_t *start;
    bool shared;
    ledger_ref taken[TABLES][TAKEN];
};

static void *take_records(void *context)
{
    struct taker *taker = context;
    struct ledger_arena arenas[TABLES] = {{0}};
    (void)pthread_barrier_wait(taker->start);
    for (unsigned i = 0; i < TAKEN; i++) {
        for (size_t t = 0; t < TABLES; t++) {
            ledger_ref ref =
                taker->shared
                    ? ledger__take_shared(taker->ledger, tables[t].table, tables[t].cells)
                    : ledger__take(taker->ledger, &arenas[t], tables[t].table, tables[t].cells);
            taker->taken[t][i] = ref;
            if (ref != 0)
                memset(ledger__at(taker->ledger, ref), (int)t + 1, (size_t)tables[t].cells * 64);
        }
        /* Runs of several chunks stand between. */
        if (i % 50 == 0)
            (void)ledger__take_shared(taker->ledger, LEDGER_STRINGS, 200);
    }
    return NULL;
}

/* Everything taken is walked once, in the file's order, and nothing overlaps. */
static void check_taken(const struct ledger *ledger, const struct taker *takers, size_t t)
{
    uint8_t *owned = calloc(TABLE_CELLS, 1);
    unsigned taken = 0;
    unsigned walked = 0;
    assert_non_null(owned);
    for (int i = 0; i < RACERS; i++) {
        for (int j = 0; j < TAKEN; j++) {
            ledger_ref ref = takers[i].taken[t][j];
            if (ref == 0)
                continue;
            taken++;
            assert_true(ref < TABLE_CELLS);
            for (uint32_t cell = 0; cell < tables[t].cells; cell++) {
                const char *bytes = ledger__at(ledger, ref + cell);
                assert_int_equal(owned[ref + cell], 0);
                owned[ref + cell] = cell == 0 ? 1 : 2;
                assert_int_equal(bytes[0], t + 1);
                assert_int_equal(bytes[63], t + 1);
            }
        }
    }
    for (ledger_ref ref = 0, last = 0; (ref = ledger__next(ledger, tables[t].table, ref)) != 0;
         last = ref) {
        assert_true(ref > last);
        assert_int_equal(owned[ref], 1);
        walked++;
    }
    assert_int_equal(walked, taken);
    free(owned);
}

static void check_takers(uint64_t max_bytes, int shared, bool all)
{
    static struct taker takers[RACERS];
    pthread_barrier_t start;
    struct ledger ledger;
    create(&ledger, max_bytes);
    assert_int_equal(pthread_barrier_init(&start, NULL, RACERS), 0);
    for (int i = 0; i < RACERS; i++) {
        takers[i].ledger = &ledger;
        takers[i].start = &start;
        takers[i].shared = shared == 2 ? i % 2 == 0 : shared == 1;
    }
    race(take_records, takers, sizeof takers[0]);
    for (size_t t = 0; t < TABLES; t++) {
        check_taken(&ledger, takers, t);
        for (int i = 0; i < RACERS; i++)
            assert_true(!all || takers[i].taken[t][TAKEN - 1] != 0);
    }
    assert_int_equal(ledger.header->full_error, all ? 0 : ENOMEM);
    assert_true(ledger.header->chunks_used * 4 * KIB <= max_bytes);
    (void)pthread_barrier_destroy(&start);
    ledger__close(&ledger);
}

static void walk_finds_what_racers_took(void **state)
{
    (void)state;
    check_takers(32 * MIB, 0, true);
    check_takers(32 * MIB, 1, true);
    check_takers(32 * MIB, 2, true);
}

static void racers_fill_a_ledger_to_its_end(void **state)
{
    (void)state;
    check_takers(MIB, 0, false);
    check_takers(MIB, 1, false);
}

static void walk_of_an_empty_table_is_empty(void **state)
{
    (void)state;
    struct ledger ledger;
    create(&ledger, MIB);
    for (size_t t = 0; t < TABLES; t++)
        assert_int_equal(ledger__next(&ledger, tables[t].table, 0), 0);
    ledger__close(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walk_finds_what_racers_took),
        cmocka_unit_test(racers_fill_a_ledger_to_its_end),
        cmocka_unit_test(walk_of_an_empty_table_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
