/* Waits for stops of the host. */
#include "native/thread/kernel_thread_events.h"
#include "native/thread/stopped_waits.h"
#include "waiting_actor.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Of naps of 20 ms without a reason: 5 ms in one counter and 2 in the other; more than the nap, of
 * which no more than the nap counts; none. A nap with a reason has that. */
static void stops_of_the_host_have_waits_without_a_reason(void **state)
{
    (void)state;
    struct actor *actor = act();
    const uint64_t *total = &actor->thread->totals[METRIC_SAFEPOINT];
    struct bracket park, longer;
    stopped_ns[0] += 5 * MS;
    stopped_ns[1] += 2 * MS;
    nap_and_charge(actor);
    assert_int_equal(*total, 7 * MS);
    begin(&park, &actor->mine, METRIC_PARK);
    stopped_ns[0] += 3 * MS;
    nap(20 * MS);
    end(&park, &actor->mine, METRIC_PARK);
    nap_and_charge(actor);
    assert_int_equal(*total, 7 * MS);
    check_bracket(actor->thread->totals[METRIC_PARK], &park);
    stopped_ns[1] += 1000 * MS;
    longer.before = waited_ns();
    longer.begun = waited_ns();
    nap(20 * MS);
    longer.ending = waited_ns();
    kernel_thread__charge(&actor->mine);
    longer.ended = waited_ns();
    check_bracket(*total - 7 * MS, &longer);
    assert_int_equal(value_at(&actor->world->ledger, actor->thread, "", METRIC_SAFEPOINT), *total);
    check_consistent(&actor->world->ledger, actor->thread, "");
}

/* A nap of 20 ms in A; the host counts its stop of 5 ms when the thread is in B. */
static void a_stop_that_is_counted_late_goes_where_the_wait_was(void **state)
{
    (void)state;
    struct actor *actor = act();
    const struct ledger *ledger = &actor->world->ledger;
    uint64_t a = kernel_thread__push(&actor->mine, 'A');
    nap_and_charge(actor);
    uint64_t b = kernel_thread__push(&actor->mine, 'B');
    stopped_ns[0] += 5 * MS;
    nap(MS / 10);
    kernel_thread__pop(&actor->mine, b);
    kernel_thread__pop(&actor->mine, a);

    assert_int_equal(actor->thread->totals[METRIC_SAFEPOINT], 5 * MS);
    /* The wait in B, which is as long as the machine likes, explains what it can first. */
    uint64_t in_b_ns = value_at(ledger, actor->thread, "AB", METRIC_SAFEPOINT);
    assert_true(in_b_ns <= at_path(ledger, actor->thread, "AB")->wait_ns);
    assert_int_equal(value_at(ledger, actor->thread, "A", METRIC_SAFEPOINT) + in_b_ns, 5 * MS);
    check_consistent(ledger, actor->thread, "A");
    check_consistent(ledger, actor->thread, "AB");
}

/* What the host stops its threads for while profiling is off counts nowhere. */
static void stops_of_the_host_while_profiling_is_off_do_not_count(void **state)
{
    (void)state;
    struct actor *actor = act();
    nap_and_charge(actor);
    stop(actor);
    stopped_ns[0] += 10 * MS;
    nap(20 * MS);
    start(actor);
    nap_and_charge(actor);
    assert_int_equal(actor->thread->totals[METRIC_SAFEPOINT], 0);
}

static bool burning;

static void *burn(void *unused)
{
    while (__atomic_load_n(&burning, __ATOMIC_ACQUIRE))
        ;
    return unused;
}

/* On the processor of the calling thread, and only there. */
static pthread_t begin_rival(void)
{
    pthread_t rival;
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
    __atomic_store_n(&burning, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&rival, NULL, burn, NULL), 0);
    return rival;
}

static void end_rival(pthread_t rival)
{
    __atomic_store_n(&burning, false, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(rival, NULL), 0);
}

/* The calling thread's run queue delay, as the kernel tells it. */
static uint64_t delay_ns(void)
{
    char text[80], *end;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    assert_int_equal(fclose(file), 0);
    assert_true(strtoull(text, &end, 10) > 0 && *end == ' ');
    return strtoull(end, &end, 10);
}

/* As if the actor began here: waits until now are charged, and delays until now do not count. */
static void begin_with_delay(struct actor *actor)
{
    uint64_t *reading = &actor->record->readings[METRIC_RUN_QUEUE_DELAY];

    do {
        *reading = delay_ns();
        kernel_thread__charge_all(&actor->mine);
    } while (*reading != delay_ns());
    stopped_waits__pass(&actor->mine);
    stopped_waits__read(&actor->mine, 0);
}

/* The thread computes beside a rival on one processor, and naps 20 ms; the host says that all of
 * its threads were stopped for far longer. The nap may have been a stop; when the thread was ready
 * to run, it was not stopped. */
static void a_thread_that_is_ready_to_run_is_not_stopped(void **state)
{
    (void)state;
    struct actor *actor = act();
    const uint64_t *total = &actor->thread->totals[METRIC_SAFEPOINT];
    actor->world->setup.metrics_totals |= UINT64_C(1) << METRIC_RUN_QUEUE_DELAY;
    pthread_t rival = begin_rival();
    begin_with_delay(actor);
    uint64_t waited_before = waited_ns(), delay_before = delay_ns();
    *stopped_ns += 10000 * MS;
    for (unsigned i = 0; i < 40; i++) {
        burn_cpu(MS);
        kernel_thread__charge(&actor->mine);
        *stopped_ns += 1000 * MS;
    }
    nap(20 * MS);
    /* Where the thread is preempted in the middle of this charge, the delay is read before its wait
     * comes, and taken from the nap. */
    uint64_t delay_before_charge = delay_ns();
    kernel_thread__charge(&actor->mine);
    uint64_t in_charge_ns = delay_ns() - delay_before_charge;
    uint64_t was_delayed_ns = delay_ns() - delay_before;
    uint64_t were_waited_ns = waited_ns() - waited_before;
    end_rival(rival);

    assert_true(was_delayed_ns > 10 * MS);
    check_between(*total + in_charge_ns, 20 * MS - SLACK_NS,
                  were_waited_ns - was_delayed_ns + in_charge_ns);
    assert_int_equal(value_at(&actor->world->ledger, actor->thread, "", METRIC_SAFEPOINT), *total);
    check_consistent(&actor->world->ledger, actor->thread, "");
}

/* Three waits of 6 ms in which the thread was ready to run, while the host stopped its threads. The
 * thread is preempted in the middle of the first charge: the kernel tells at the first reading of
 * the delay in the second wait, too. The third wait is a stop, and no delay. */
static void a_delay_that_is_read_before_its_wait_is_no_stop(void **state)
{
    (void)state;
    struct actor *actor = act();
    const uint64_t *total = &actor->thread->totals[METRIC_SAFEPOINT];
    struct ledger_node *root = ledger__at(&actor->world->ledger, actor->thread->root);
    static const uint64_t delays_ns[] = {12 * MS, 0, 0}, stops_ns[] = {0, 0, 6 * MS};
    root->wait_ns += 18 * MS;
    for (unsigned i = 0; i < 3; i++) {
        *stopped_ns += 6 * MS;
        stopped_waits__charge(&actor->mine, actor->mine.thread, root, 6 * MS);
        stopped_waits__read(&actor->mine, delays_ns[i]);
        assert_int_equal(*total, stops_ns[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_of_the_host_have_waits_without_a_reason),
        cmocka_unit_test(a_stop_that_is_counted_late_goes_where_the_wait_was),
        cmocka_unit_test(stops_of_the_host_while_profiling_is_off_do_not_count),
        cmocka_unit_test(a_thread_that_is_ready_to_run_is_not_stopped),
        cmocka_unit_test(a_delay_that_is_read_before_its_wait_is_no_stop),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
