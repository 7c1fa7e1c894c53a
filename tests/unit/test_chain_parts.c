/* The ring of parts of chains in a ledger: what is whole, what gives way, what many threads do. */
#include "native/ledger/chain_parts.h"

#include <pthread.h>
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

struct ring {
    struct ledger ledger;
    struct chain_parts parts;
};

static struct ring *new_ring(uint32_t most)
{
    struct ring *ring = calloc(1, sizeof *ring);

    assert_non_null(ring);
    assert_int_equal(ledger__create(&ring->ledger, NULL, 64u << 20), 0);
    assert_int_equal(ledger__reserve_ahead(&ring->ledger, 8u << 20), 0);
    chain_parts__init(&ring->parts, &ring->ledger);
    ring->parts.most = most;
    return ring;
}

static void free_ring(struct ring *ring)
{
    ledger__close(&ring->ledger);
    free(ring);
}

static ledger_ref begin(struct ring *ring, uint64_t number)
{
    struct ledger_part part = {.id = {number, ~number}, .begin_ns = number, .pid = 1};

    return chain_parts__begin(&ring->parts, &part);
}

static const struct ledger_part *at(const struct ring *ring, ledger_ref ref)
{
    return ledger__at(&ring->ledger, ref);
}

static void a_part_is_whole_while_it_lasts_and_then(void **state)
{
    (void)state;
    struct ring *ring = new_ring(4);
    ledger_ref ref = begin(ring, 5);

    assert_int_equal(ledger_part__state(at(ring, ref)), PART_OPEN);
    assert_true(ledger_part__is_whole(at(ring, ref)));
    chain_part__end(&ring->ledger, ref, 100, 40);
    assert_int_equal(ledger_part__state(at(ring, ref)), PART_DONE);
    assert_true(ledger_part__is_whole(at(ring, ref)));
    assert_int_equal(at(ring, ref)->elapsed_ns, 100);
    assert_int_equal(at(ring, ref)->cpu_ns, 40);
    assert_int_equal(at(ring, ref)->id[1], ~UINT64_C(5));
    ref = begin(ring, 6);
    chain_part__give_up(&ring->ledger, ref);
    assert_int_equal(at(ring, ref)->flags, PART_UNENDED);
    assert_true(ledger_part__is_whole(at(ring, ref)));
    free_ring(ring);
}

static void any_changed_word_is_seen(void **state)
{
    (void)state;
    struct ring *ring = new_ring(4);
    ledger_ref ref = begin(ring, 5);
    struct ledger_part part;

    chain_part__end(&ring->ledger, ref, 100, 40);
    for (size_t i = 0; i < offsetof(struct ledger_part, thread) / 4; i++) {
        uint32_t words[sizeof part / 4];

        memcpy(words, at(ring, ref), sizeof words);
        words[i] ^= 1u << i % 32;
        memcpy(&part, words, sizeof part);
        if (ledger_part__is_whole(&part))
            fail_msg("word %zu", i);
    }
    free_ring(ring);
}

/* On paper: parts 1 to 4 fill the ring, 1 is open; 5, 6 and 7 take the places of 2, 3 and 4. */
static void what_is_over_gives_way_and_is_summed(void **state)
{
    (void)state;
    struct ring *ring = new_ring(4);
    const struct ledger_header *header = ring->ledger.header;
    ledger_ref first = begin(ring, 1), ref;

    for (uint64_t i = 2; i <= 7; i++) {
        ref = begin(ring, i);
        assert_int_not_equal(ref, first);
        if (i == 3)
            chain_part__give_up(&ring->ledger, ref);
        else
            chain_part__end(&ring->ledger, ref, i * 10, i);
    }
    assert_int_equal(header->other_parts, 3);
    assert_int_equal(header->other_parts_unended, 1);
    assert_int_equal(header->other_parts_ns, 20 + 40);
    assert_int_equal(header->other_parts_cpu_ns, 2 + 4);
    assert_int_equal(header->lost_parts, 0);
    assert_int_equal(at(ring, first)->id[0], 1);
    /* All four under way: there is no room for a fifth. */
    for (uint64_t i = 8; i <= 10; i++)
        assert_int_not_equal(begin(ring, i), 0);
    assert_int_equal(begin(ring, 11), 0);
    assert_int_equal(header->lost_parts, 1);
    chain_part__end(&ring->ledger, first, 1, 1);
    assert_int_equal(begin(ring, 12), first);
    free_ring(ring);
}

static void a_full_ledger_has_no_room(void **state)
{
    (void)state;
    struct ring *ring = calloc(1, sizeof *ring);

    assert_non_null(ring);
    assert_int_equal(ledger__create(&ring->ledger, NULL, 64u << 10), 0);
    chain_parts__init(&ring->parts, &ring->ledger);
    while (ledger__take_shared(&ring->ledger, LEDGER_NODES, 1))
        continue;
    assert_int_equal(begin(ring, 1), 0);
    assert_int_equal(ring->ledger.header->lost_parts, 1);
    free_ring(ring);
}

#define RACERS 4u
#define TURNS  20000u

struct racer {
    struct ring *ring;
    uint64_t first;
    uint64_t lost;
};

/* Each part's numbers belong together as long as its thread has it. */
static void *race(void *context)
{
    struct racer *racer = context;

    for (uint64_t i = 0; i < TURNS; i++) {
        ledger_ref ref = begin(racer->ring, racer->first + i);

        if (!ref) {
            racer->lost++;
            continue;
        }
        if (at(racer->ring, ref)->id[0] != racer->first + i ||
            !ledger_part__is_whole(at(racer->ring, ref)))
            abort();
        chain_part__end(&racer->ring->ledger, ref, 3, 2);
    }
    return NULL;
}

static void threads_lose_nothing(void **state)
{
    (void)state;
    struct ring *ring = new_ring(16);
    struct racer racers[RACERS];
    pthread_t threads[RACERS];
    uint64_t parts = 0, lost = 0;
    ledger_ref ref = 0;

    for (unsigned i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){.ring = ring, .first = (uint64_t)i << 32};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (unsigned i = 0; i < RACERS; i++) {
        pthread_join(threads[i], NULL);
        lost += racers[i].lost;
    }
    while ((ref = ledger__next(&ring->ledger, LEDGER_PARTS, ref)) != 0)
        parts += at(ring, ref)->state != 0;
    assert_true(parts <= 16);
    assert_int_equal(ring->ledger.header->lost_parts, lost);
    assert_int_equal(ring->ledger.header->other_parts + parts + lost, RACERS * TURNS);
    assert_int_equal(ring->ledger.header->other_parts_ns, 3 * ring->ledger.header->other_parts);
    assert_int_equal(ring->ledger.header->other_parts_cpu_ns, 2 * ring->ledger.header->other_parts);
    free_ring(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_whole_while_it_lasts_and_then),
        cmocka_unit_test(any_changed_word_is_seen),
        cmocka_unit_test(what_is_over_gives_way_and_is_summed),
        cmocka_unit_test(a_full_ledger_has_no_room),
        cmocka_unit_test(threads_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
