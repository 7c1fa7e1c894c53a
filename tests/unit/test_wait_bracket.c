/* Waits with a reason. */
#include "native/thread/kernel_thread_events.h"
#include "waiting_actor.h"

#include <pthread.h>

/* A naps 10 ms, parks 30 ms in B, naps 10 ms: B has the park, and nothing else of it. */
static void time_between_begin_and_end_has_the_reason(void **state)
{
    (void)state;
    struct actor *actor = act();
    const struct ledger *ledger = &actor->world->ledger;
    struct bracket park;
    uint64_t a = kernel_thread__push(&actor->mine, 'A');
    nap(10 * MS);
    uint64_t b = kernel_thread__push(&actor->mine, 'B');
    burn_cpu(5 * MS);
    begin(&park, &actor->mine, METRIC_PARK);
    nap(30 * MS);
    end(&park, &actor->mine, METRIC_PARK);
    nap(10 * MS);
    kernel_thread__pop(&actor->mine, b);
    kernel_thread__pop(&actor->mine, a);

    check_bracket(value_at(ledger, actor->thread, "AB", METRIC_PARK), &park);
    assert_true(at_path(ledger, actor->thread, "AB")->wait_ns >= 40 * MS);
    check_consistent(ledger, actor->thread, "AB");
    assert_int_equal(value_at(ledger, actor->thread, "A", METRIC_PARK), 0);
    assert_int_equal(actor->thread->totals[METRIC_PARK],
                     value_at(ledger, actor->thread, "AB", METRIC_PARK));
    assert_int_equal(actor->thread->totals[METRIC_SLEEP], 0);
}

static void of_nested_brackets_the_outermost_counts(void **state)
{
    (void)state;
    struct actor *actor = act();
    const struct ledger *ledger = &actor->world->ledger;
    struct bracket outer, inner;
    wait_bracket__end(&actor->mine, METRIC_SLEEP); /* without a begin */
    begin(&outer, &actor->mine, METRIC_SLEEP);
    nap(10 * MS);
    begin(&inner, &actor->mine, METRIC_PARK);
    nap(10 * MS);
    end(&inner, &actor->mine, METRIC_PARK);
    nap(10 * MS);
    end(&outer, &actor->mine, METRIC_SLEEP);
    nap(10 * MS);
    kernel_thread__charge(&actor->mine);

    check_bracket(value_at(ledger, actor->thread, "", METRIC_SLEEP), &outer);
    check_bracket(actor->thread->totals[METRIC_SLEEP], &outer);
    assert_int_equal(actor->thread->totals[METRIC_PARK], 0);
}

/* Naps 10 ms and computes for 20 ms: what a native copies, for one, is no wait. */
static void cpu_in_a_bracket_is_no_wait(void **state)
{
    (void)state;
    struct actor *actor = act();
    const struct ledger *ledger = &actor->world->ledger;
    struct bracket read;
    begin(&read, &actor->mine, METRIC_IO_WAIT);
    burn_cpu(10 * MS);
    nap(10 * MS);
    burn_cpu(10 * MS);
    end(&read, &actor->mine, METRIC_IO_WAIT);

    check_bracket(value_at(ledger, actor->thread, "", METRIC_IO_WAIT), &read);
    check_bracket(actor->thread->totals[METRIC_IO_WAIT], &read);
    assert_true(at_path(ledger, actor->thread, "")->cpu_ns >= 20 * MS - SLACK_NS);
    check_consistent(ledger, actor->thread, "");
}

/* Begins a wait for I/O once more until the thread was not switched out since the kernel's clock
 * was read. */
static void begin_while_running(struct actor *actor, struct bracket *read, uint64_t excess_ns)
{
    for (unsigned tries = 0; tries < 1000; tries++) {
        kernel_thread__charge_slowly(&actor->mine);
        actor->record->waited_ns -= excess_ns;
        begin(read, &actor->mine, METRIC_IO_WAIT);
        if (actor->mine.uncharged_wait_ns)
            return;
        end(read, &actor->mine, METRIC_IO_WAIT);
    }
    fail_msg("the begin of each wait was charged");
}

/* A millisecond after the kernel's clock was read, I/O that does not wait: no look at that clock.
 */
static void io_that_is_over_at_once_costs_no_look_at_the_kernels_clock(void **state)
{
    (void)state;
    struct actor *actor = act();
    uint64_t looked, tries = 0;
    if (actor->mine.clock.kind == LEDGER_CLOCK_PLAIN)
        skip();
    do {
        kernel_thread__charge_slowly(&actor->mine);
        looked = actor->mine.clock.suspect_after_ns;
        burn_cpu(MS);
        wait_bracket__begin(&actor->mine, METRIC_IO_WAIT);
        wait_bracket__end(&actor->mine, METRIC_IO_WAIT);
    } while (actor->mine.clock.suspect_after_ns != looked && ++tries < 1000);

    assert_true(tries < 1000);
    assert_int_equal(actor->thread->wait_reason, 0);
    assert_int_equal(actor->mine.uncharged_wait_ns, 0);
}

/* 20 ms that the counter gave to the thread, and the kernel did not, are no part of the 10 ms that
 * the thread waited for I/O afterwards; nor are they in B, entered in that wait. */
static void an_excess_of_cpu_time_is_no_part_of_a_wait(void **state)
{
    (void)state;
    struct actor *actor = act();
    const struct ledger *ledger = &actor->world->ledger;
    struct bracket read;
    if (actor->mine.clock.kind == LEDGER_CLOCK_PLAIN)
        skip();
    nap_and_charge(actor); /* what is taken back must have passed */
    begin_while_running(actor, &read, 20 * MS);
    uint64_t earlier_ns = actor->thread->totals[METRIC_IO_WAIT];
    nap(10 * MS);
    end(&read, &actor->mine, METRIC_IO_WAIT);
    check_bracket(actor->thread->totals[METRIC_IO_WAIT] - earlier_ns, &read);
    assert_true(at_path(ledger, actor->thread, "")->wait_ns >= 30 * MS - SLACK_NS);
    check_consistent(ledger, actor->thread, "");

    begin_while_running(actor, &read, 20 * MS);
    earlier_ns = actor->thread->totals[METRIC_IO_WAIT];
    nap(10 * MS);
    uint64_t b = kernel_thread__push(&actor->mine, 'B');
    nap(30 * MS);
    kernel_thread__pop(&actor->mine, b);
    end(&read, &actor->mine, METRIC_IO_WAIT);
    check_bracket(actor->thread->totals[METRIC_IO_WAIT] - earlier_ns, &read);
    assert_true(value_at(ledger, actor->thread, "B", METRIC_IO_WAIT) >= 30 * MS - SLACK_NS);
    check_consistent(ledger, actor->thread, "");
    check_consistent(ledger, actor->thread, "B");
}

/* The time goes where it is charged: 10 ms in A, 20 ms in B below it. */
static void nodes_may_change_in_a_wait(void **state)
{
    (void)state;
    struct actor *actor = act();
    const struct ledger *ledger = &actor->world->ledger;
    struct bracket sleep;
    uint64_t a = kernel_thread__push(&actor->mine, 'A');
    begin(&sleep, &actor->mine, METRIC_SLEEP);
    nap(10 * MS);
    uint64_t b = kernel_thread__push(&actor->mine, 'B');
    nap(20 * MS);
    kernel_thread__pop(&actor->mine, b);
    end(&sleep, &actor->mine, METRIC_SLEEP);
    kernel_thread__pop(&actor->mine, a);

    assert_true(value_at(ledger, actor->thread, "A", METRIC_SLEEP) >= 10 * MS - SLACK_NS);
    assert_true(value_at(ledger, actor->thread, "AB", METRIC_SLEEP) >= 20 * MS - SLACK_NS);
    check_bracket(value_at(ledger, actor->thread, "A", METRIC_SLEEP) +
                      value_at(ledger, actor->thread, "AB", METRIC_SLEEP),
                  &sleep);
    check_consistent(ledger, actor->thread, "A");
    check_consistent(ledger, actor->thread, "AB");
}

static void begin_timed(struct bracket *bracket, struct kernel_thread *mine,
                        enum ledger_metric reason)
{
    bracket->before = waited_ns();
    assert_true(wait_bracket__begin_timed(mine, reason));
    bracket->begun = waited_ns();
}

/* In A, parked for 10 ms, asleep for 20 ms, and 30 ms for no reason, all charged at once. What the
 * host stops its threads for in the sleep is no part of the rest. */
static void waits_that_are_timed_have_their_parts_of_the_next_charge(void **state)
{
    (void)state;
    struct actor *actor = act();
    const struct ledger *ledger = &actor->world->ledger;
    struct bracket park, sleep;
    uint64_t a = kernel_thread__push(&actor->mine, 'A');
    begin_timed(&park, &actor->mine, METRIC_PARK);
    assert_false(wait_bracket__begin_timed(&actor->mine, METRIC_SLEEP));
    nap(10 * MS);
    wait_bracket__end(&actor->mine, METRIC_SLEEP); /* that of another wait */
    end(&park, &actor->mine, METRIC_PARK);
    begin_timed(&sleep, &actor->mine, METRIC_SLEEP);
    stopped_ns[0] += 5 * MS;
    nap(20 * MS);
    end(&sleep, &actor->mine, METRIC_SLEEP);
    assert_int_equal(actor->thread->totals[METRIC_PARK], 0);
    nap(30 * MS);
    kernel_thread__pop(&actor->mine, a);

    check_bracket(value_at(ledger, actor->thread, "A", METRIC_PARK), &park);
    check_bracket(value_at(ledger, actor->thread, "A", METRIC_SLEEP), &sleep);
    assert_int_equal(actor->thread->totals[METRIC_SAFEPOINT], 0);
    assert_true(at_path(ledger, actor->thread, "A")->wait_ns >= 60 * MS - SLACK_NS);
    check_consistent(ledger, actor->thread, "A");
    nap_and_charge(actor);
    check_bracket(actor->thread->totals[METRIC_PARK], &park);
    check_bracket(actor->thread->totals[METRIC_SLEEP], &sleep);
}

/* 10 ms of the wait in A, 20 ms in B. A second wait, in which profiling stops, counts until then.
 */
static void a_timed_wait_goes_where_it_is_charged(void **state)
{
    (void)state;
    struct actor *actor = act();
    const struct ledger *ledger = &actor->world->ledger;
    struct bracket sleep, park;
    uint64_t a = kernel_thread__push(&actor->mine, 'A');
    begin_timed(&sleep, &actor->mine, METRIC_SLEEP);
    nap(10 * MS);
    uint64_t before_push = waited_ns();
    uint64_t b = kernel_thread__push(&actor->mine, 'B');
    uint64_t after_push = waited_ns();
    nap(20 * MS);
    uint64_t before_pop = waited_ns();
    kernel_thread__pop(&actor->mine, b);
    uint64_t after_pop = waited_ns();
    end(&sleep, &actor->mine, METRIC_SLEEP);
    kernel_thread__pop(&actor->mine, a);
    check_between(value_at(ledger, actor->thread, "A", METRIC_SLEEP),
                  before_push - sleep.begun + sleep.ending - after_pop,
                  after_push - sleep.before + sleep.ended - before_pop);
    check_bracket(value_at(ledger, actor->thread, "A", METRIC_SLEEP) +
                      value_at(ledger, actor->thread, "AB", METRIC_SLEEP),
                  &sleep);

    begin_timed(&park, &actor->mine, METRIC_PARK);
    nap(10 * MS);
    park.ending = waited_ns();
    stop(actor);
    park.ended = waited_ns();
    nap(20 * MS);
    start(actor);
    nap(30 * MS);
    wait_bracket__end(&actor->mine, METRIC_PARK);
    nap(5 * MS);
    kernel_thread__charge(&actor->mine);
    check_bracket(actor->thread->totals[METRIC_PARK], &park);
    check_consistent(ledger, actor->thread, "");
}

static void an_ended_thread_waits_no_more(void **state)
{
    (void)state;
    struct actor *actor = act();
    struct bracket wait;
    begin(&wait, &actor->mine, METRIC_OBJECT_WAIT);
    nap(20 * MS);
    wait.ending = waited_ns();
    kernel_thread__end_java(&actor->mine);
    wait.ended = waited_ns();
    nap(20 * MS);
    wait_bracket__end(&actor->mine, METRIC_OBJECT_WAIT);
    assert_int_equal(start_java(&actor->mine, "next", 2), 0);
    nap(5 * MS);
    kernel_thread__charge(&actor->mine);

    check_bracket(actor->thread->totals[METRIC_OBJECT_WAIT], &wait);
    assert_int_equal(actor->thread->wait_reason, 0);
    assert_int_equal(find_thread(&actor->world->ledger, 2)->totals[METRIC_OBJECT_WAIT], 0);
}

/* Parked for 10 ms, stopped for 20 ms, and parked for 30 ms more: nobody says what for. */
static void a_stop_ends_what_is_known_of_a_wait(void **state)
{
    (void)state;
    struct actor *actor = act();
    struct bracket park;
    begin(&park, &actor->mine, METRIC_PARK);
    nap(10 * MS);
    park.ending = waited_ns();
    stop(actor);
    park.ended = waited_ns();
    nap(20 * MS);
    start(actor);
    nap(30 * MS);
    wait_bracket__end(&actor->mine, METRIC_PARK);
    nap(5 * MS);
    kernel_thread__charge(&actor->mine);

    check_bracket(actor->thread->totals[METRIC_PARK], &park);
    assert_true(at_path(&actor->world->ledger, actor->thread, "")->wait_ns >= 45 * MS);
    check_consistent(&actor->world->ledger, actor->thread, "");
}

/* As before, but placed in B below A, in a sleep, which ends with the thread's first event. */
static void place_in_a_wait(bool timed)
{
    struct actor *actor = act();
    const struct ledger *ledger = &actor->world->ledger;
    static const uint64_t keys[] = {'A', 'B'};
    struct bracket park, sleep;
    if (timed)
        begin_timed(&park, &actor->mine, METRIC_PARK);
    else
        begin(&park, &actor->mine, METRIC_PARK);
    nap(10 * MS);
    park.ending = waited_ns();
    stop(actor);
    park.ended = waited_ns();
    kernel_thread__place(&actor->mine, 2, keys, 2);
    wait_bracket__place(&actor->mine, 2, METRIC_SLEEP);
    nap(20 * MS);
    sleep.before = waited_ns();
    start(actor);
    sleep.begun = waited_ns();
    nap(30 * MS);
    sleep.ending = waited_ns();
    wait_bracket__end(&actor->mine, METRIC_SLEEP);
    sleep.ended = waited_ns();
    nap(10 * MS);
    kernel_thread__charge(&actor->mine);
    wait_bracket__place(&actor->mine, 2, METRIC_SLEEP); /* too late */

    check_bracket(actor->thread->totals[METRIC_PARK], &park);
    check_bracket(value_at(ledger, actor->thread, "AB", METRIC_SLEEP), &sleep);
    assert_int_equal(actor->thread->wait_reason, 0);
    check_consistent(ledger, actor->thread, "AB");
}

static void a_thread_may_be_placed_in_a_wait(void **state)
{
    (void)state;
    place_in_a_wait(false);
    place_in_a_wait(true);
}

/* The copy has what was waited until then; the ledger itself has it when the wait is over. */
static void a_snapshot_has_a_wait_until_then(void **state)
{
    (void)state;
    struct actor *actor = act();
    struct bracket wait;
    uint64_t a = kernel_thread__push(&actor->mine, 'A');
    begin(&wait, &actor->mine, METRIC_MONITOR_WAIT);
    nap(20 * MS);
    wait.ending = waited_ns();
    assert_int_equal(snapshot__write(actor->world->ledger.fd, target), 0);
    wait.ended = waited_ns();
    assert_int_equal(actor->thread->totals[METRIC_MONITOR_WAIT], 0);
    wait_bracket__end(&actor->mine, METRIC_MONITOR_WAIT);
    kernel_thread__pop(&actor->mine, a);

    struct ledger_reader *reader = open_snapshot(target);
    ledger_ref ref = ledger_reader__next(reader, LEDGER_THREADS, 0);
    const struct ledger_thread *thread = ledger_reader__thread(reader, ref);
    while (thread->java_id != 1) {
        ref = ledger_reader__next(reader, LEDGER_THREADS, ref);
        thread = ledger_reader__thread(reader, ref);
    }
    const struct ledger_node *root = ledger_reader__node(reader, thread->root);
    const struct ledger_node *node = ledger_reader__node(reader, root->first_child);
    const struct ledger_side *side = ledger_reader__side(reader, node->side);
    check_bracket(thread->totals[METRIC_MONITOR_WAIT], &wait);
    assert_int_equal(side->value[METRIC_MONITOR_WAIT], thread->totals[METRIC_MONITOR_WAIT]);
    check_between(side->value[METRIC_MONITOR_WAIT], 0, node->wait_ns);
    ledger_reader__close(reader);
}

struct hop {
    struct java_world *world;
    ledger_ref thread;
    uint64_t token;
    uint64_t ended_ns;
};

static void *wake_elsewhere(void *context)
{
    struct hop *hop = context;
    struct kernel_thread *carrier = enter_carrier(hop->world, "carrier-2", 12);
    virtual_thread__mount(carrier, hop->thread);
    wait_bracket__end(carrier, METRIC_MONITOR_WAIT);
    hop->ended_ns = read_ns(CLOCK_MONOTONIC);
    nap(10 * MS);
    kernel_thread__pop(carrier, hop->token);
    virtual_thread__unmount(carrier);
    nap(10 * MS);
    virtual_thread__mount(carrier, hop->thread);
    virtual_thread__end(carrier, hop->thread);
    return NULL;
}

/* It waits for a monitor in A on one carrier, is unmounted, and gets the monitor on another one: no
 * wait that one kernel thread can time. */
static void a_virtual_thread_changes_carriers_in_its_wait(void **state)
{
    (void)state;
    pthread_t other;
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    struct hop hop = {.world = world};
    struct kernel_thread *carrier = enter_carrier(world, "carrier-1", 11);
    hop.thread = begin_virtual(carrier, "vt-1", 1);
    assert_true(virtual_thread__mount(carrier, hop.thread));
    hop.token = kernel_thread__push(carrier, 'A');
    uint64_t begun_ns = read_ns(CLOCK_MONOTONIC);
    assert_false(wait_bracket__begin_timed(carrier, METRIC_MONITOR_WAIT));
    wait_bracket__begin(carrier, METRIC_MONITOR_WAIT);
    virtual_thread__unmount(carrier);
    nap(20 * MS);
    assert_int_equal(pthread_create(&other, NULL, wake_elsewhere, &hop), 0);
    assert_int_equal(pthread_join(other, NULL), 0);

    const struct ledger_thread *thread = find_thread(&world->ledger, 1);
    check_between(value_at(&world->ledger, thread, "A", METRIC_MONITOR_WAIT), 20 * MS,
                  hop.ended_ns - begun_ns);
    assert_int_equal(thread->totals[METRIC_MONITOR_WAIT],
                     value_at(&world->ledger, thread, "A", METRIC_MONITOR_WAIT));
    check_consistent(&world->ledger, thread, "A");
    assert_int_equal(find_thread(&world->ledger, 11)->totals[METRIC_MONITOR_WAIT], 0);
    assert_int_equal(find_thread(&world->ledger, 12)->totals[METRIC_MONITOR_WAIT], 0);
}

/* Not mounted for 20 ms, nobody says why; then, and in a snapshot meanwhile, that is a reason. */
static void a_virtual_thread_without_a_carrier_has_that_as_a_reason(void **state)
{
    (void)state;
    struct actor *actor = act();
    actor->world->ledger.header->metrics_charged |= UINT64_C(1) << METRIC_UNMOUNTED;
    ledger_ref ref = begin_virtual(&actor->mine, "vt-1", 22);
    const struct ledger_thread *thread = ledger__at(&actor->world->ledger, ref);
    assert_true(virtual_thread__mount(&actor->mine, ref));
    uint64_t before_begin_ns = thread->totals[METRIC_UNMOUNTED];
    uint64_t before_ns = read_ns(CLOCK_MONOTONIC);
    virtual_thread__unmount(&actor->mine);
    nap(20 * MS);
    assert_int_equal(snapshot__write(actor->world->ledger.fd, target), 0);
    assert_true(virtual_thread__mount(&actor->mine, ref));
    uint64_t most_ns = read_ns(CLOCK_MONOTONIC) - before_ns;

    check_between(thread->totals[METRIC_UNMOUNTED] - before_begin_ns, 20 * MS, most_ns);
    check_consistent(&actor->world->ledger, thread, "");
    struct ledger_reader *reader = open_snapshot(target);
    check_between(ledger_reader__thread(reader, ref)->totals[METRIC_UNMOUNTED] - before_begin_ns,
                  20 * MS, most_ns);
    ledger_reader__close(reader);
}

/* The same of a wait with a reason, in a snapshot before the thread is mounted again. */
static void a_snapshot_has_the_wait_of_an_unmounted_thread(void **state)
{
    (void)state;
    struct actor *actor = act();
    ledger_ref ref = begin_virtual(&actor->mine, "vt-1", 21);
    assert_true(virtual_thread__mount(&actor->mine, ref));
    uint64_t before_ns = read_ns(CLOCK_MONOTONIC);
    wait_bracket__begin(&actor->mine, METRIC_PARK);
    virtual_thread__unmount(&actor->mine);
    nap(20 * MS);
    assert_int_equal(snapshot__write(actor->world->ledger.fd, target), 0);
    uint64_t most_ns = read_ns(CLOCK_MONOTONIC) - before_ns;

    struct ledger_reader *reader = open_snapshot(target);
    const struct ledger_thread *thread = ledger_reader__thread(reader, ref);
    const struct ledger_node *root = ledger_reader__node(reader, thread->root);
    check_between(thread->totals[METRIC_PARK], 20 * MS, most_ns);
    assert_true(thread->totals[METRIC_PARK] <= root->wait_ns);
    ledger_reader__close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_between_begin_and_end_has_the_reason),
        cmocka_unit_test(cpu_in_a_bracket_is_no_wait),
        cmocka_unit_test(io_that_is_over_at_once_costs_no_look_at_the_kernels_clock),
        cmocka_unit_test(an_excess_of_cpu_time_is_no_part_of_a_wait),
        cmocka_unit_test(of_nested_brackets_the_outermost_counts),
        cmocka_unit_test(nodes_may_change_in_a_wait),
        cmocka_unit_test(waits_that_are_timed_have_their_parts_of_the_next_charge),
        cmocka_unit_test(a_timed_wait_goes_where_it_is_charged),
        cmocka_unit_test(an_ended_thread_waits_no_more),
        cmocka_unit_test(a_stop_ends_what_is_known_of_a_wait),
        cmocka_unit_test(a_thread_may_be_placed_in_a_wait),
        cmocka_unit_test(a_snapshot_has_a_wait_until_then),
        cmocka_unit_test(a_virtual_thread_changes_carriers_in_its_wait),
        cmocka_unit_test(a_virtual_thread_without_a_carrier_has_that_as_a_reason),
        cmocka_unit_test(a_snapshot_has_the_wait_of_an_unmounted_thread),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
