/*
 * Virtual threads, played on kernel threads of the test as carriers: their open frames wait for
 * them while they are unmounted, on any carrier, also when profiling is stopped and started
 * meanwhile.
 */
#include "burn.h"
#include "carriers.h"
#include "native/thread/kernel_thread_events.h"

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

struct hop {
    struct java_world *world;
    ledger_ref thread;
    uint64_t tokens[3];
};

/* On another carrier: B, which was open, calls D and returns, and so does A. */
static void *hop_on(void *context)
{
    struct hop *hop = context;
    struct kernel_thread *carrier = enter_carrier(hop->world, "carrier-2", 12);
    uint64_t own = kernel_thread__push(carrier, 'S');
    virtual_thread__mount(carrier, hop->thread);
    kernel_thread__pop(carrier, kernel_thread__push(carrier, 'D'));
    kernel_thread__pop(carrier, hop->tokens[1]);
    kernel_thread__pop(carrier, kernel_thread__push(carrier, 'E'));
    kernel_thread__pop(carrier, hop->tokens[0]);
    virtual_thread__unmount(carrier);
    virtual_thread__end(carrier, hop->thread);
    kernel_thread__pop(carrier, kernel_thread__push(carrier, 'T'));
    kernel_thread__pop(carrier, own);
    return NULL;
}

/*
 *  vt-1: A enters B on the first carrier, is unmounted, and goes on with D on the second one
 */
static void open_frames_are_found_again_on_any_carrier(void **state)
{
    (void)state;
    char text[DRAWING_BYTES];
    pthread_t other;
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    struct hop hop = {.world = world};
    const struct ledger *ledger = &world->ledger;
    struct kernel_thread *carrier = enter_carrier(world, "carrier-1", 11);
    assert_non_null(carrier);
    uint64_t own = kernel_thread__push(carrier, 'S');

    hop.thread = begin_virtual(carrier, "vt-1", 1);
    assert_true(virtual_thread__mount(carrier, hop.thread));
    assert_true(virtual_thread__is_mounted(carrier));
    hop.tokens[0] = kernel_thread__push(carrier, 'A');
    hop.tokens[1] = kernel_thread__push(carrier, 'B');
    burn_cpu(5 * MS);
    virtual_thread__unmount(carrier);
    assert_false(virtual_thread__is_mounted(carrier));
    kernel_thread__pop(carrier, kernel_thread__push(carrier, 'U'));
    nap(20 * MS);
    assert_int_equal(pthread_create(&other, NULL, hop_on, &hop), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    kernel_thread__pop(carrier, own);

    const struct ledger_thread *thread = find_thread(ledger, 1);
    assert_string_equal(draw(ledger, thread->root, text),
                        "root\n  A 1\n    B 1\n      D 1\n    E 1\n");
    assert_int_equal(thread->mounts, 2);
    assert_int_equal(thread->tid_count, 2);
    assert_true((thread->flags & THREAD_TERMINATED) != 0);
    assert_true(thread->parked_ns >= 20 * MS);
    assert_true(cpu_at(ledger, thread, "AB") >= 4 * MS);
    /* The time that it was parked passed in B. */
    ledger_ref a = child_of(ledger, thread->root, 'A');
    assert_true(node_at(ledger, child_of(ledger, a, 'B'))->wait_ns >= 20 * MS);
    assert_string_equal(draw(ledger, find_thread(ledger, 11)->root, text),
                        "root\n  S 1\n    U 1\n");
    assert_string_equal(draw(ledger, find_thread(ledger, 12)->root, text),
                        "root\n  S 1\n    T 1\n  gap\n");
    assert_int_equal(ledger->header->resynchronised, 0);
}

/* The second carrier's part after the start: B, which stays open, or C below it. */
static void *go_on_in_new_epoch(void *context)
{
    struct hop *hop = context;
    struct kernel_thread *carrier = enter_carrier(hop->world, "carrier-2", 12);
    virtual_thread__mount(carrier, hop->thread);
    if (hop->tokens[1] == 0) {
        hop->tokens[1] = kernel_thread__push(carrier, 'B');
    } else {
        kernel_thread__pop(carrier, kernel_thread__push(carrier, 'C'));
        kernel_thread__pop(carrier, hop->tokens[1]);
        kernel_thread__pop(carrier, hop->tokens[0]);
    }
    virtual_thread__unmount(carrier);
    return NULL;
}

static void run_aside(struct hop *hop)
{
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, go_on_in_new_epoch, hop), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
}

/*
 *  vt-1 is in A on the first carrier when profiling is stopped; unmounted while nobody looks, it
 *  enters B on the second one after the start. The first carrier's next event is none of vt-1's,
 * and what was used since the last event before the stop is the carrier's: vt-1's record is
 * another's.
 */
static void who_was_mounted_before_a_stop_may_be_elsewhere(void **state)
{
    (void)state;
    char text[DRAWING_BYTES];
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    struct hop hop = {.world = world};
    struct kernel_thread own;
    struct ledger_kernel_thread record;
    java_world__begin_here(world, &own, &record);
    assert_int_equal(start_java(&own, "carrier-1", 11), 0);

    hop.thread = begin_virtual(&own, "vt-1", 1);
    assert_true(virtual_thread__mount(&own, hop.thread));
    uint64_t all_ns = thread_cpu_ns();
    hop.tokens[0] = kernel_thread__push(&own, 'A');
    burn_cpu(5 * MS);
    world->setup.epoch = EPOCH_STOPPED;
    world->setup.epoch = 2;
    run_aside(&hop);
    kernel_thread__pop(&own, kernel_thread__push(&own, 'S'));
    virtual_thread__unmount(&own);
    run_aside(&hop);

    const struct ledger_thread *thread = find_thread(&world->ledger, 1);
    assert_string_equal(draw(&world->ledger, thread->root, text), "root\n  A 1\n  B 1\n    C 1\n");
    all_ns = thread_cpu_ns() - all_ns;
    /* What was burned is not in it. */
    assert_true(cpu_at(&world->ledger, thread, "A") + 5 * MS <= all_ns);
    const struct ledger_thread *carrier = find_thread(&world->ledger, 11);
    assert_string_equal(draw(&world->ledger, carrier->root, text), "root\n  S 1\n");
    assert_true(node_at(&world->ledger, carrier->root)->cpu_ns >= 4 * MS);
    kernel_thread__end(&own);
}

/* vt-1, mounted in A, enters B after it was looked at and before the epoch begins, which nobody
 * tells, and is silent then. Looked at once more it stands in B, and what it uses goes there. Once
 * it has had an event that is no look's matter; nor does an event count in the midst of one. */
static void who_went_on_before_the_epoch_began_is_placed_again(void **state)
{
    (void)state;
    static const uint64_t keys[] = {'A', 'B'};
    char text[DRAWING_BYTES];
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    struct kernel_thread own;
    struct ledger_kernel_thread record;
    java_world__begin_here(world, &own, &record);
    assert_int_equal(start_java(&own, "carrier-1", 11), 0);
    uint64_t all_ns = thread_cpu_ns();
    ledger_ref virtual = begin_virtual(&own, "vt-1", 1);
    assert_true(virtual_thread__mount(&own, virtual));
    (void)kernel_thread__push(&own, 'A');

    world->setup.epoch = EPOCH_STOPPED;
    own.unidentified = true; /* as of every carrier at a start */
    assert_int_equal(virtual_thread__place(&own, 2, virtual, NULL, keys, 1), virtual);
    world->setup.epoch = 2;
    burn_cpu(5 * MS);
    assert_true(kernel_thread__is_silent(&own, 2));
    kernel_thread__place_again(&own, 2, keys, 2);
    burn_cpu(10 * MS);
    virtual_thread__identify(&own, virtual);
    assert_false(kernel_thread__is_silent(&own, 2));
    kernel_thread__place_again(&own, 2, keys, 1);
    kernel_thread__pop(&own, kernel_thread__push(&own, 'C'));

    const struct ledger_thread *thread = find_thread(&world->ledger, 1);
    assert_string_equal(draw(&world->ledger, thread->root, text),
                        "root\n  A 1\n    B 0\n      C 1\n");
    all_ns = thread_cpu_ns() - all_ns;
    /* The first burn, and not the second. */
    assert_in_range(cpu_at(&world->ledger, thread, "A"), 4 * MS, all_ns - 10 * MS);
    assert_true(cpu_at(&world->ledger, thread, "AB") >= 9 * MS);

    own.unidentified = true;
    own.placing = true;
    virtual_thread__identify(&own, virtual);
    assert_true(kernel_thread__is_unidentified(&own));
    own.placing = false;
    virtual_thread__identify(&own, virtual);
    assert_false(kernel_thread__is_unidentified(&own));
    kernel_thread__end(&own);
}

/*
 * vt-1 is looked at on the carrier; before the epoch begins vt-2 takes its place, which nobody
 * tells, and is silent then. Looked at once more, all since the epoch began is vt-2's, where it
 * stands. The same if it has no record, and the carrier is there in its stead; and if vt-2 comes to
 * a carrier on which vt-1 was mounted at the stop, and nobody at the first look.
 */
static void who_came_before_the_epoch_began_is_placed_again(void **state)
{
    (void)state;
    static const uint64_t keys[] = {'A', 'B', 'C'};
    char text[DRAWING_BYTES];
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    struct kernel_thread own;
    struct ledger_kernel_thread record;
    java_world__begin_here(world, &own, &record);
    assert_int_equal(start_java(&own, "carrier-1", 11), 0);
    own.thread->kind = THREAD_CARRIER;
    ledger_ref first = begin_virtual(&own, "vt-1", 1), second = begin_virtual(&own, "vt-2", 2);
    const struct ledger_thread *one = find_thread(&world->ledger, 1);
    const struct ledger_thread *two = find_thread(&world->ledger, 2);
    const struct ledger_thread *carrier = find_thread(&world->ledger, 11);
    assert_true(virtual_thread__mount(&own, first));

    world->setup.epoch = EPOCH_STOPPED;
    own.unidentified = true; /* as of every carrier at a start */
    assert_int_equal(virtual_thread__place(&own, 2, first, NULL, &keys[0], 1), first);
    world->setup.epoch = 2;
    burn_cpu(5 * MS);
    virtual_thread__place_again(&own, 2, second, &keys[1], 1);
    burn_cpu(5 * MS);
    virtual_thread__place_again(&own, 2, second, &keys[1], 1);
    assert_string_equal(draw(&world->ledger, one->root, text), "root\n  A 0\n");
    assert_string_equal(draw(&world->ledger, two->root, text), "root\n  B 0\n");
    assert_int_equal(cpu_at(&world->ledger, one, "A"), 0);
    assert_true(cpu_at(&world->ledger, two, "B") >= 9 * MS);

    virtual_thread__place_again(&own, 2, 0, &keys[2], 1);
    burn_cpu(5 * MS);
    virtual_thread__place_again(&own, 2, 0, &keys[2], 1);
    assert_string_equal(draw(&world->ledger, carrier->root, text), "root\n  C 0\n");
    assert_true(cpu_at(&world->ledger, carrier, "C") >= 4 * MS);

    virtual_thread__identify(&own, 0);
    assert_true(virtual_thread__mount(&own, first));
    world->setup.epoch = EPOCH_STOPPED;
    own.unidentified = true;
    kernel_thread__place(&own, 3, &keys[2], 1);
    world->setup.epoch = 3;
    burn_cpu(5 * MS);
    uint64_t before_ns = cpu_at(&world->ledger, two, "B");
    virtual_thread__place_again(&own, 3, second, &keys[1], 1);
    virtual_thread__place_again(&own, 3, second, &keys[1], 1);
    assert_true(cpu_at(&world->ledger, two, "B") >= before_ns + 4 * MS);
    virtual_thread__identify(&own, second);
    virtual_thread__place_again(&own, 3, first, &keys[0], 1);
    kernel_thread__pop(&own, kernel_thread__push(&own, 'D'));
    assert_string_equal(draw(&world->ledger, one->root, text), "root\n  A 0\n");
    assert_string_equal(draw(&world->ledger, two->root, text), "root\n  B 0\n    D 1\n");
    kernel_thread__end(&own);
}

/* JVMTI's exits of frames that were entered before the stop are no loss, on whatever carrier and
 * after whatever mount; one that cannot be explained so is. */
static void exits_of_frames_nobody_saw_are_no_loss(void **state)
{
    (void)state;
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    const struct ledger_header *header = world->ledger.header;
    struct kernel_thread own;
    struct ledger_kernel_thread record;
    java_world__begin_here(world, &own, &record);
    assert_int_equal(start_java(&own, "carrier-1", 11), 0);
    ledger_ref thread = begin_virtual(&own, "vt-1", 1);

    (void)virtual_thread__mount(&own, thread);
    kernel_thread__enter(&own, 'A');
    kernel_thread__enter(&own, 'B');
    kernel_thread__enter(&own, 'C');
    virtual_thread__unmount(&own);
    world->setup.epoch = EPOCH_STOPPED;
    world->setup.epoch = 2;
    for (const char *key = "CB"; *key != '\0'; key++) {
        (void)virtual_thread__mount(&own, thread);
        kernel_thread__leave(&own, (uint64_t)*key);
        virtual_thread__unmount(&own);
    }
    assert_int_equal(header->resynchronised, 0);
    (void)virtual_thread__mount(&own, thread);
    kernel_thread__enter(&own, 'D');
    kernel_thread__enter(&own, 'E');
    kernel_thread__leave(&own, 'D');
    kernel_thread__leave(&own, 'F');
    virtual_thread__unmount(&own);
    assert_int_equal(header->resynchronised, 1);
    kernel_thread__end(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_frames_are_found_again_on_any_carrier),
        cmocka_unit_test(who_was_mounted_before_a_stop_may_be_elsewhere),
        cmocka_unit_test(who_went_on_before_the_epoch_began_is_placed_again),
        cmocka_unit_test(who_came_before_the_epoch_began_is_placed_again),
        cmocka_unit_test(exits_of_frames_nobody_saw_are_no_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
