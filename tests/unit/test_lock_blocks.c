/* Waits for locks. What blocks should have follows from the moments that each test names, in µs. */
#include "ledger_racers.h"
#include "native/thread/lock_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US      1000u
#define THREADS 8

struct stage {
    struct ledger ledger;
    struct lock_blocks blocks;
    struct lock_place places[THREADS]; /* of the threads A to H, with ids 1 to 8 */
};

static ledger_ref string(struct stage *stage, const char *text)
{
    ledger_ref ref = ledger__string(&stage->ledger, text, strlen(text));
    assert_true(ref != 0);
    return ref;
}

static ledger_ref take(struct stage *stage, enum ledger_table table, size_t bytes)
{
    ledger_ref ref =
        ledger__take_shared(&stage->ledger, table, (uint32_t)(bytes / LEDGER_CELL_BYTES));
    assert_true(ref != 0);
    return ref;
}

static ledger_ref add_method(struct stage *stage, char letter)
{
    const struct ledger_method_names names = {"X", (char[]){letter, '\0'}, "()V", NULL};
    ledger_ref ref = ledger__add_method(&stage->ledger, (uint64_t)letter, &names, 0);
    assert_true(ref != 0);
    return ref;
}

/* The thread now stands in the methods of `path`, oldest first. */
static void stand(struct stage *stage, unsigned thread, const char *path)
{
    ledger_ref above = 0;
    for (const char *letter = path; *letter != '\0'; letter++) {
        ledger_ref ref = take(stage, LEDGER_NODES, sizeof(struct ledger_node));
        struct ledger_node *node = ledger__at(&stage->ledger, ref);
        node->method = *letter == '/' ? 0 : add_method(stage, *letter);
        node->parent = above;
        above = ref;
    }
    stage->places[thread].node = above;
}

static struct stage *raise_curtain(uint64_t max_bytes)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    create(&stage->ledger, max_bytes);
    stage->blocks.ledger = &stage->ledger;
    for (unsigned i = 0; i < THREADS; i++) {
        char name[] = {'w', 'o', 'r', 'k', 'e', 'r', '-', (char)('1' + i), '\0'};
        struct ledger_thread *thread;
        stage->places[i].thread = take(stage, LEDGER_THREADS, sizeof *thread);
        thread = ledger__at(&stage->ledger, stage->places[i].thread);
        thread->name = string(stage, name);
        thread->java_id = i + 1;
        stand(stage, i, "/");
    }
    return stage;
}

static void drop_curtain(struct stage *stage)
{
    ledger__close(&stage->ledger);
    free(stage);
}

static struct lock_identity lock(struct stage *stage, const char *class_name, uint32_t identity)
{
    return (struct lock_identity){BLOCK_MONITOR, string(stage, class_name), identity};
}

static const struct lock_place nobody;

static void begin(struct stage *stage, const struct lock_identity *of, unsigned waiter,
                  struct lock_place holder, uint64_t us)
{
    lock_blocks__begin(&stage->blocks, of, stage->places[waiter], holder, us * US);
}

static void end(struct stage *stage, unsigned waiter, uint64_t us)
{
    assert_true(lock_blocks__end(&stage->blocks, stage->places[waiter].thread, 0, us * US));
}

static const struct ledger_block *next_block(const struct stage *stage, ledger_ref *ref)
{
    *ref = ledger__next(&stage->ledger, LEDGER_BLOCKS, *ref);
    return *ref ? ledger__at(&stage->ledger, *ref) : NULL;
}

static unsigned count_blocks(const struct stage *stage)
{
    ledger_ref ref = 0;
    unsigned count = 0;
    while (next_block(stage, &ref) != NULL)
        count++;
    return count;
}

/* The only block of that waiter. */
static const struct ledger_block *block_of(const struct stage *stage, uint64_t waiter_id)
{
    const struct ledger_block *found = NULL, *block;
    ledger_ref ref = 0;
    while ((block = next_block(stage, &ref)) != NULL) {
        assert_true(found == NULL || block->waiter_id != waiter_id);
        found = block->waiter_id == waiter_id ? block : found;
    }
    assert_non_null(found);
    return found;
}

static void check_string(const struct stage *stage, ledger_ref ref, const char *expected)
{
    const struct ledger_string *is = ledger__at(&stage->ledger, ref);
    assert_true(ref != 0);
    assert_int_equal(is->length, strlen(expected));
    assert_memory_equal(ledger_string__bytes(is), expected, strlen(expected));
}

/* expected: letters, the innermost first */
static void check_path(const struct stage *stage, const ledger_ref path[BLOCK_FRAMES],
                       const char *expected)
{
    char letters[BLOCK_FRAMES + 1] = "";
    for (unsigned i = 0; i < BLOCK_FRAMES && path[i] != 0; i++)
        letters[i] = (char)((const struct ledger_method *)ledger__at(&stage->ledger, path[i]))->key;
    assert_string_equal(letters, expected);
}

static void holds_are_apart_from_waits(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(4 * MIB);
    struct lock_identity queue = lock(stage, "app.Queue", 77);
    stand(stage, 0, "/MPa");
    begin(stage, &queue, 0, stage->places[1], 10);
    end(stage, 0, 13);
    queue.kind = BLOCK_HELD_MONITOR;
    stand(stage, 1, "/MP");
    lock_blocks__held(&stage->blocks, &queue, stage->places[1], 13 * US, 18 * US);
    lock_blocks__held(&stage->blocks, &queue, stage->places[1], 20 * US, 22 * US);

    assert_int_equal(count_blocks(stage), 2);
    assert_int_equal(block_of(stage, 1)->count, 1);
    const struct ledger_block *hold = block_of(stage, 2);
    assert_int_equal(hold->kind, BLOCK_HELD_MONITOR);
    check_string(stage, hold->waiter, "worker-2");
    check_path(stage, hold->waiter_path, "PM");
    assert_int_equal(hold->holder, 0);
    assert_int_equal(hold->count, 2);
    assert_int_equal(hold->wait_ns, 7 * US);
    assert_int_equal(hold->wait_max_ns, 5 * US);
    assert_int_equal(hold->hold_ns, 0);
    assert_int_equal(hold->waits[3], 1); /* 5 µs < 2^3 */
    assert_int_equal(hold->waits[2], 1); /* 2 µs < 2^2 */
    drop_curtain(stage);
}

static void acquisitions_are_counted_where_a_wait_was(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(4 * MIB);
    struct lock_identity guard = lock(stage, "app.Guard", 77);
    guard.kind = BLOCK_PARK;
    lock_blocks__acquired(&stage->blocks, 77); /* nobody has waited yet */
    begin(stage, &guard, 0, stage->places[2], 10);
    lock_blocks__count_acquisitions(&stage->blocks, stage->places[0].thread, 77);
    lock_blocks__note_depth(&stage->blocks, stage->places[0].thread, 3);
    begin(stage, &guard, 1, stage->places[2], 11);
    lock_blocks__count_acquisitions(&stage->blocks, stage->places[1].thread, 77);
    lock_blocks__note_depth(&stage->blocks, stage->places[1].thread, 0);
    end(stage, 0, 13);
    end(stage, 1, 14);
    lock_blocks__acquired(&stage->blocks, 77);
    lock_blocks__acquired(&stage->blocks, 77);
    lock_blocks__acquired(&stage->blocks, 78); /* another lock */
    begin(stage, &guard, 0, stage->places[2], 20);
    lock_blocks__note_depth(&stage->blocks, stage->places[0].thread, 2);
    end(stage, 0, 21);
    lock_blocks__note_depth(&stage->blocks, stage->places[0].thread, 9); /* it waits no more */

    assert_int_equal(block_of(stage, 1)->acquisitions, 2);
    assert_int_equal(block_of(stage, 1)->depth_max, 3);
    assert_int_equal(block_of(stage, 2)->acquisitions, 0);
    assert_int_equal(block_of(stage, 2)->depth_max, 0);
    drop_curtain(stage);
}

static void block_says_who_waited_for_whom(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(4 * MIB);
    const struct lock_identity queue = lock(stage, "app.Queue", 77);
    stand(stage, 0, "/MPa");
    stand(stage, 1, "/abcdefghij");
    begin(stage, &queue, 0, stage->places[1], 10);
    end(stage, 0, 13);
    begin(stage, &queue, 0, stage->places[1], 20);
    end(stage, 0, 27);

    const struct ledger_block *block = block_of(stage, 1);
    check_string(stage, block->class_name, "app.Queue");
    check_string(stage, block->waiter, "worker-1");
    check_string(stage, block->holder, "worker-2");
    check_path(stage, block->waiter_path, "aPM");
    check_path(stage, block->holder_path, "jihgfedc");
    assert_int_equal(block->identity, 77);
    assert_int_equal(block->kind, BLOCK_MONITOR);
    assert_int_equal(block->holder_id, 2);
    assert_int_equal(block->count, 2);
    assert_int_equal(block->wait_ns, 10 * US);
    assert_int_equal(block->wait_max_ns, 7 * US);
    assert_int_equal(block->hold_ns, 10 * US);
    assert_int_equal(block->hold_max_ns, 7 * US);
    assert_int_equal(block->waits[2], 1); /* 3 µs < 2^2 */
    assert_int_equal(block->waits[3], 1); /* 7 µs < 2^3 */
    assert_int_equal(count_blocks(stage), 1);
    drop_curtain(stage);
}

static void what_differs_has_a_block_of_its_own(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(4 * MIB);
    struct lock_identity locks[] = {lock(stage, "app.A", 1), lock(stage, "app.B", 1),
                                    lock(stage, "app.A", 2), lock(stage, "app.A", 1)};
    locks[3].kind = BLOCK_PARK;
    for (unsigned i = 0; i < 4; i++) {
        begin(stage, &locks[i], 0, stage->places[1], 0);
        end(stage, 0, 1);
    }
    assert_int_equal(count_blocks(stage), 4);
    begin(stage, &locks[0], 0, stage->places[2], 0); /* another holder, none, another waiter */
    end(stage, 0, 1);
    begin(stage, &locks[0], 0, nobody, 0);
    end(stage, 0, 1);
    begin(stage, &locks[0], 3, stage->places[1], 0);
    end(stage, 3, 1);
    assert_int_equal(count_blocks(stage), 7);
    stand(stage, 0, "/a"); /* another path of the waiter, and of the holder */
    begin(stage, &locks[0], 0, stage->places[1], 0);
    end(stage, 0, 1);
    stand(stage, 1, "/a");
    begin(stage, &locks[0], 0, stage->places[1], 0);
    end(stage, 0, 1);
    assert_int_equal(count_blocks(stage), 9);
    drop_curtain(stage);
}

/* A, B and C wait from 0, 5 and 6 to 10, 12 and 30; nobody from 30 to 40; D from 40 to 41. */
static void held_time_of_a_lock_counts_once(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(4 * MIB);
    const struct lock_identity of = lock(stage, "app.Lock", 5);
    begin(stage, &of, 0, stage->places[4], 0);
    begin(stage, &of, 1, stage->places[4], 5);
    begin(stage, &of, 2, stage->places[4], 6);
    end(stage, 0, 10);
    end(stage, 1, 12);
    end(stage, 2, 30);
    begin(stage, &of, 3, stage->places[4], 40);
    end(stage, 3, 41);

    static const struct {
        uint64_t wait, hold;
    } expected[] = {{10, 10}, {7, 2}, {24, 18}, {1, 1}};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(block_of(stage, i + 1)->wait_ns, expected[i].wait * US);
        assert_int_equal(block_of(stage, i + 1)->hold_ns, expected[i].hold * US);
    }
    drop_curtain(stage);
}

/* 3,000 locks that one thread waited for, then 500 that two wait for at once: 3 us each, not 2 and
 * 3. */
static void held_time_of_many_locks_counts_once(void **state)
{
    (void)state;
    enum { ONE = 3000, TWO = 500 };
    struct stage *stage = raise_curtain(16 * MIB);
    const struct ledger_block *block;
    uint64_t held_ns = 0;
    for (uint32_t i = 1; i <= ONE + TWO; i++) {
        const struct lock_identity of = lock(stage, "app.Row", i);
        begin(stage, &of, 0, stage->places[2], i);
        if (i > ONE)
            begin(stage, &of, 1, stage->places[2], i);
        end(stage, 0, i + 2);
        if (i > ONE)
            end(stage, 1, i + 3);
    }
    for (ledger_ref ref = 0; (block = next_block(stage, &ref)) != NULL;)
        held_ns += block->hold_ns;
    assert_int_equal(held_ns, (ONE * 2 + TWO * 3) * US);
    drop_curtain(stage);
}

/* The records of threads and nodes become those of others. */
static void block_outlives_its_threads(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(4 * MIB);
    const struct lock_identity of = lock(stage, "app.Lock", 5);
    stand(stage, 0, "/ab");
    stand(stage, 1, "/cd");
    begin(stage, &of, 0, stage->places[1], 0);
    end(stage, 0, 1);
    for (unsigned i = 0; i < 2; i++) {
        memset(ledger__at(&stage->ledger, stage->places[i].node), 0, sizeof(struct ledger_node));
        memset(ledger__at(&stage->ledger, stage->places[i].thread), 0,
               sizeof(struct ledger_thread));
    }
    const struct ledger_block *block = block_of(stage, 1);
    check_string(stage, block->waiter, "worker-1");
    check_string(stage, block->holder, "worker-2");
    check_path(stage, block->waiter_path, "ba");
    check_path(stage, block->holder_path, "dc");
    drop_curtain(stage);
}

static void a_path_in_a_circle_ends(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(4 * MIB);
    const struct lock_identity of = lock(stage, "app.Lock", 5);
    stand(stage, 1, "/");
    struct ledger_node *node = ledger__at(&stage->ledger, stage->places[1].node);
    node->parent = stage->places[1].node;
    begin(stage, &of, 0, stage->places[1], 0);
    end(stage, 0, 1);
    check_path(stage, block_of(stage, 1)->holder_path, "");
    drop_curtain(stage);
}

static void sum_up(const struct stage *stage, uint64_t *count, uint64_t *wait_ns)
{
    const struct ledger_block *block;
    ledger_ref ref = 0;
    *count = stage->ledger.header->lost_blocks;
    *wait_ns = stage->ledger.header->lost_blocks_ns;
    while ((block = next_block(stage, &ref)) != NULL) {
        *count += block->count;
        *wait_ns += block->wait_ns;
    }
}

/* More locks than blocks: of further locks only the class is told apart. */
static void locks_without_blocks_share_one(void **state)
{
    (void)state;
    enum { LOCKS = 3 * LOCK_BLOCKS_FINE };
    struct stage *stage = raise_curtain(16 * MIB);
    uint64_t count, wait_ns;
    for (uint32_t i = 1; i <= LOCKS; i++) {
        const struct lock_identity of = lock(stage, "app.Row", i);
        begin(stage, &of, i % 3, stage->places[3], i);
        end(stage, i % 3, i + 2);
    }
    sum_up(stage, &count, &wait_ns);
    assert_int_equal(count, LOCKS);
    assert_int_equal(wait_ns, LOCKS * 2 * US);
    assert_int_equal(stage->ledger.header->lost_blocks, 0);
    assert_int_equal(count_blocks(stage), LOCK_BLOCKS_FINE + 1);
    const struct ledger_block *block, *shared = NULL;
    for (ledger_ref ref = 0; (block = next_block(stage, &ref)) != NULL;)
        shared = block->identity == 0 ? block : shared;
    assert_non_null(shared);
    check_string(stage, shared->waiter, "worker-#");
    check_string(stage, shared->holder, "worker-#");
    assert_int_equal(shared->count, LOCKS - LOCK_BLOCKS_FINE);
    assert_int_equal(shared->waiter_id, 0);
    drop_curtain(stage);
}

/* Where many blocks are in use a class's shared block may be far from where its key belongs. */
static void shared_blocks_have_their_place_in_a_full_table(void **state)
{
    (void)state;
    enum { CLASSES = LOCK_BLOCKS_MOST - LOCK_BLOCKS_FINE - 1 };
    struct stage *stage = raise_curtain(16 * MIB);
    uint64_t count, wait_ns;
    char class_name[16];
    for (uint32_t i = 1; i <= LOCK_BLOCKS_FINE + 2 * CLASSES; i++) {
        uint32_t number = i <= LOCK_BLOCKS_FINE ? 0 : i % CLASSES + 1;
        (void)snprintf(class_name, sizeof class_name, "app.C%u", number);
        const struct lock_identity of = lock(stage, class_name, i);
        begin(stage, &of, 0, stage->places[1], i);
        end(stage, 0, i + 1);
    }
    sum_up(stage, &count, &wait_ns);
    assert_int_equal(count, LOCK_BLOCKS_FINE + 2 * CLASSES);
    assert_int_equal(stage->ledger.header->lost_blocks, 0);
    assert_int_equal(count_blocks(stage), LOCK_BLOCKS_FINE + CLASSES);
    drop_curtain(stage);
}

static void waits_without_room_are_counted(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(256 * KIB);
    uint64_t count, wait_ns;
    char class_name[16];
    for (uint32_t i = 1; i <= 1000; i++) {
        (void)snprintf(class_name, sizeof class_name, "app.C%u", i % 500);
        const struct lock_identity of = {
            BLOCK_MONITOR, ledger__string(&stage->ledger, class_name, strlen(class_name)), i};
        begin(stage, &of, 0, stage->places[1], i);
        end(stage, 0, i + 1);
    }
    sum_up(stage, &count, &wait_ns);
    assert_int_equal(count, 1000);
    assert_int_equal(wait_ns, 1000 * US);
    assert_true(stage->ledger.header->lost_blocks > 0);
    assert_true(stage->ledger.header->lost_blocks < 1000);
    drop_curtain(stage);
}

static void what_is_under_way_at_a_stop_counts_until_then(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(4 * MIB);
    const struct lock_identity of = lock(stage, "app.Lock", 5);
    begin(stage, &of, 0, stage->places[1], 10);
    lock_blocks__settle(&stage->blocks, 15 * US);
    assert_false(lock_blocks__end(&stage->blocks, stage->places[0].thread, 20 * US, 30 * US));
    assert_int_equal(block_of(stage, 1)->wait_ns, 5 * US);
    /* One that the stop missed. */
    begin(stage, &of, 0, stage->places[1], 16);
    assert_true(lock_blocks__end(&stage->blocks, stage->places[0].thread, 20 * US, 30 * US));
    assert_int_equal(block_of(stage, 1)->wait_ns, 5 * US);
    assert_int_equal(stage->ledger.header->lost_blocks, 1);
    drop_curtain(stage);
}

/* It has no block, and hides none. */
static void a_wait_that_is_not_heard_is_only_under_way(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(4 * MIB);
    const struct lock_identity of = lock(stage, "app.Lock", 5);
    struct ledger_thread *waiter = ledger__at(&stage->ledger, stage->places[0].thread);
    lock_blocks__begin_unheard(waiter, 10 * US);
    assert_true(waiter->block != 0 && !lock_blocks__is_block(waiter->block));
    assert_int_equal(waiter->blocked_ns, 10 * US);
    assert_false(lock_blocks__end(&stage->blocks, stage->places[0].thread, 0, 12 * US));
    lock_blocks__begin_unheard(waiter, 13 * US);
    lock_blocks__end_unheard(waiter);
    assert_int_equal(waiter->block, 0);
    lock_blocks__begin_unheard(waiter, 14 * US); /* its end is missed */
    begin(stage, &of, 0, stage->places[1], 20);
    lock_blocks__begin_unheard(waiter, 21 * US);
    lock_blocks__end_unheard(waiter);
    end(stage, 0, 23);
    assert_int_equal(count_blocks(stage), 1);
    assert_int_equal(block_of(stage, 1)->wait_ns, 3 * US);
    lock_blocks__begin_unheard(waiter, 30 * US);
    lock_blocks__settle(&stage->blocks, 31 * US);
    assert_int_equal(waiter->block, 0);
    assert_int_equal(stage->ledger.header->lost_blocks, 0);
    drop_curtain(stage);
}

struct waiter {
    struct stage *stage;
    struct lock_identity of;
    unsigned number;
};

#define TURNS 2000

static void *wait_often(void *context)
{
    const struct waiter *waiter = context;
    for (unsigned i = 0; i < TURNS; i++) {
        begin(waiter->stage, &waiter->of, waiter->number, waiter->stage->places[5], i);
        end(waiter->stage, waiter->number, i + 3);
    }
    return NULL;
}

/* The lock has no identity, so all of them write one block. */
static void waits_at_once_all_count(void **state)
{
    (void)state;
    struct stage *stage = raise_curtain(4 * MIB);
    static struct waiter waiters[RACERS];
    uint64_t count, wait_ns;
    assert_true(RACERS <= THREADS);
    for (unsigned i = 0; i < RACERS; i++)
        waiters[i] = (struct waiter){stage, lock(stage, "app.Lock", 0), i};
    race(wait_often, waiters, sizeof waiters[0]);
    sum_up(stage, &count, &wait_ns);
    assert_int_equal(count, RACERS * TURNS);
    assert_int_equal(wait_ns, (uint64_t)RACERS * TURNS * 3 * US);
    assert_int_equal(stage->ledger.header->lost_blocks, 0);
    drop_curtain(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_says_who_waited_for_whom),
        cmocka_unit_test(what_differs_has_a_block_of_its_own),
        cmocka_unit_test(held_time_of_a_lock_counts_once),
        cmocka_unit_test(held_time_of_many_locks_counts_once),
        cmocka_unit_test(block_outlives_its_threads),
        cmocka_unit_test(a_path_in_a_circle_ends),
        cmocka_unit_test(locks_without_blocks_share_one),
        cmocka_unit_test(holds_are_apart_from_waits),
        cmocka_unit_test(acquisitions_are_counted_where_a_wait_was),
        cmocka_unit_test(shared_blocks_have_their_place_in_a_full_table),
        cmocka_unit_test(waits_without_room_are_counted),
        cmocka_unit_test(what_is_under_way_at_a_stop_counts_until_then),
        cmocka_unit_test(a_wait_that_is_not_heard_is_only_under_way),
        cmocka_unit_test(waits_at_once_all_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
