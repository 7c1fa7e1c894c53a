/*
 * The kernel clock against the kernel: threads follow the clock's protocol as kernel_thread__charge
 * does, and beside it ask CLOCK_THREAD_CPUTIME_ID, which the protocol does not see.
 *
 * What is guaranteed, and so asserted. A sync leaves no error: what was charged up to then is the
 * thread's clock, which stands between a reading before and one after. Between two syncs the cycle
 * counter takes for the thread's what was stolen from it without a switch: less than the time
 * between syncs (KERNEL_CLOCK_RESYNC_NS), and all of it together no more than the machine says was
 * stolen, which /proc/stat tells. A switch that went unseen would show as wait that is charged.
 */
#include "burn.h"
#include "native/clock/kernel_clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* The counter's rate is known better than to this part. */
#define RATE_PART 100

static struct ledger_time ledger_clock;

/* One thread that follows the protocol. */
struct follower {
    pthread_t thread;
    pthread_t self; /* the thread's own copy */
    void (*work)(struct follower *follower);
    struct kernel_clock clock;
    enum ledger_clock_kind kind;
    _Atomic bool over;
    uint64_t charged_ns;
    uint64_t last_ns;
    uint64_t fast; /* charges that needed no system call */
    uint64_t syncs;
    uint64_t seen;     /* … of which said "switched" */
    uint64_t fixed_ns; /* what syncs had to take back */
    uint64_t worst_over_ns;
    uint64_t worst_under_ns;
    uint64_t worst_sync_ns; /* of the thread's CPU, from its reading on */
    uint64_t expected_seen;
};

static void sync_clock(struct follower *follower)
{
    bool switched = false;
    uint64_t now_ns = 0;
    uint64_t cpu_ns = kernel_clock__sync(&follower->clock, &ledger_clock, &now_ns, &switched);
    uint64_t took_ns = thread_cpu_ns() - cpu_ns;
    if (took_ns > follower->worst_sync_ns)
        follower->worst_sync_ns = took_ns;
    if (follower->charged_ns > cpu_ns)
        follower->fixed_ns += follower->charged_ns - cpu_ns;
    follower->charged_ns = cpu_ns;
    follower->last_ns = now_ns;
    follower->syncs++;
    follower->seen += switched;
}

/* As kernel_thread__charge. */
static void charge(struct follower *follower)
{
    uint64_t now_ns = ledger_time__now_ns(&ledger_clock);
    if (kernel_clock__ran_through(&follower->clock, now_ns)) {
        follower->charged_ns += now_ns - follower->last_ns;
        follower->last_ns = now_ns;
        follower->fast++;
        return;
    }
    sync_clock(follower);
}

/* A charge between two looks at the oracle. */
static void charge_and_compare(struct follower *follower)
{
    uint64_t before_ns = thread_cpu_ns();
    charge(follower);
    uint64_t after_ns = thread_cpu_ns();
    if (follower->charged_ns > after_ns &&
        follower->charged_ns - after_ns > follower->worst_over_ns)
        follower->worst_over_ns = follower->charged_ns - after_ns;
    if (follower->charged_ns < before_ns &&
        before_ns - follower->charged_ns > follower->worst_under_ns)
        follower->worst_under_ns = before_ns - follower->charged_ns;
}

/* The last sync is exact. */
static void end_following(struct follower *follower)
{
    uint64_t before_ns = thread_cpu_ns();
    sync_clock(follower);
    uint64_t after_ns = thread_cpu_ns();
    if (follower->charged_ns < before_ns || follower->charged_ns > after_ns)
        follower->worst_under_ns = UINT64_MAX;
}

static void *follow(void *context)
{
    struct follower *follower = context;
    kernel_clock__start(&follower->clock, follower->kind);
    sync_clock(follower);
    follower->seen = 0;
    follower->work(follower);
    end_following(follower);
    kernel_clock__stop(&follower->clock);
    return NULL;
}

static uint64_t tick_ns(void)
{
    return 1000 * MS / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* Time that the machine was taken from all of us without a switch, in ns; told in whole ticks. */
static uint64_t stolen_ns(void)
{
    unsigned long long ticks[8] = {0};
    char line[256] = "";
    FILE *file = fopen("/proc/stat", "re");
    if (file == NULL || fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    char *at = line + strcspn(line, " ");
    for (int i = 0; i < 8; i++)
        ticks[i] = strtoull(at, &at, 10);
    /* irq, softirq, steal */
    return (ticks[5] + ticks[6] + ticks[7]) * tick_ns();
}

static bool works_here(enum ledger_clock_kind kind)
{
    int error = 0;
    if (kernel_clock__choose(kind, &ledger_clock, &error) == kind)
        return true;
    print_message("clock %s: %s\n", kernel_clock__name(kind), strerror(-error));
    return false;
}

static const enum ledger_clock_kind kinds[] = {LEDGER_CLOCK_RSEQ, LEDGER_CLOCK_PERF,
                                               LEDGER_CLOCK_PLAIN};

#define KINDS (sizeof kinds / sizeof kinds[0])

static void check_follower(const struct follower *follower, uint64_t slack_ns)
{
    /* A sync reads the CPU clock and then the counter, and may be interrupted in between: that much
     * is not charged until the next one, and what the two differ in by their rates. */
    assert_true(follower->worst_under_ns <=
                follower->worst_sync_ns + KERNEL_CLOCK_RESYNC_NS / RATE_PART);
    /* … and over by what the host took from this processor meanwhile. */
    assert_true(follower->worst_over_ns <= KERNEL_CLOCK_RESYNC_NS + MS + slack_ns);
    assert_true(follower->fixed_ns <= 5 * MS + follower->charged_ns / 50 + slack_ns);
    if (follower->kind == LEDGER_CLOCK_PLAIN)
        assert_int_equal(follower->fast, 0);
}

/* `count` threads at once, with each clock that works here. */
static void check_work(void (*work)(struct follower *follower), unsigned count)
{
    static struct follower followers[8];
    for (size_t k = 0; k < KINDS; k++) {
        if (!works_here(kinds[k]))
            continue;
        uint64_t stolen_before_ns = stolen_ns();
        memset(followers, 0, sizeof followers);
        for (unsigned i = 0; i < count; i++) {
            followers[i].kind = kinds[k];
            followers[i].work = work;
            assert_int_equal(pthread_create(&followers[i].thread, NULL, follow, &followers[i]), 0);
        }
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(pthread_join(followers[i].thread, NULL), 0);
        /* Three kinds, each of which may be a tick more than its whole ticks tell. */
        uint64_t slack_ns = stolen_ns() - stolen_before_ns + 3 * tick_ns();
        for (unsigned i = 0; i < count; i++) {
            assert_int_equal(followers[i].clock.kind, LEDGER_CLOCK_PLAIN);
            check_follower(&followers[i], slack_ns);
            /* The plain clock looks every time and cannot tell. */
            if (kinds[k] != LEDGER_CLOCK_PLAIN)
                assert_true(followers[i].seen >= followers[i].expected_seen);
        }
    }
}

static void work_busily(struct follower *follower)
{
    uint64_t until_ns = thread_cpu_ns() + 100 * MS;
    while (follower->charged_ns < until_ns) {
        for (int i = 0; i < 20; i++) {
            spin_a_little();
            charge(follower);
        }
        charge_and_compare(follower);
    }
}

static void a_busy_thread(void **state)
{
    (void)state;
    check_work(work_busily, 1);
}

static void more_busy_threads_than_processors(void **state)
{
    (void)state;
    check_work(work_busily, 6);
}

/* Every nap ends in a charge that knows of it; what it charges is not the nap. */
static void work_with_naps(struct follower *follower)
{
    for (int i = 0; i < 150; i++) {
        charge_and_compare(follower);
        uint64_t seen = follower->seen;
        nap(i % 3 == 0 ? MS : MS / 10);
        charge_and_compare(follower);
        if (follower->kind != LEDGER_CLOCK_PLAIN && follower->seen == seen)
            follower->worst_under_ns = UINT64_MAX;
        for (int j = 0; j < 5; j++) {
            spin_a_little();
            charge(follower);
        }
        follower->expected_seen++;
    }
}

static void a_thread_that_sleeps_often(void **state)
{
    (void)state;
    check_work(work_with_naps, 1);
    check_work(work_with_naps, 6);
}

/* The wait of a thread that is handed a token is no CPU time either. */
static void work_with_waits(struct follower *follower)
{
    int ends[2];
    char token = 0;
    if (pipe(ends) != 0)
        return;
    (void)!write(ends[1], &token, 1);
    for (int i = 0; i < 2000; i++) {
        (void)!read(ends[0], &token, 1);
        charge_and_compare(follower);
        (void)!write(ends[1], &token, 1);
        (void)sched_yield();
        charge(follower);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void threads_that_yield(void **state)
{
    (void)state;
    check_work(work_with_waits, 4);
}

static void on_signal(int signal)
{
    (void)signal;
    for (volatile unsigned i = 0; i < 2000; i++)
        ;
}

static void *bombard(void *context)
{
    struct follower *follower = context;
    while (!follower->over) {
        (void)pthread_kill(follower->self, SIGUSR1);
        nap(MS / 20);
    }
    return NULL;
}

static void work_under_signals(struct follower *follower)
{
    pthread_t bomber;
    follower->self = pthread_self();
    if (pthread_create(&bomber, NULL, bombard, follower) != 0)
        return;
    work_busily(follower);
    follower->over = true;
    (void)pthread_join(bomber, NULL);
}

static void a_thread_bombarded_with_signals(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct itimerval every_ms = {{0, 1000}, {0, 1000}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_PROF, &every_ms, NULL), 0);
    check_work(work_under_signals, 1);
    check_work(work_under_signals, 3);
    assert_int_equal(setitimer(ITIMER_PROF, &never, NULL), 0);
}

/* From one processor to another without ever waiting. */
static void work_on_the_move(struct follower *follower)
{
    cpu_set_t allowed;
    cpu_set_t one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int i = 0; i < 400; i++) {
        int before = sched_getcpu();
        unsigned cpu = (unsigned)before;
        do
            cpu = (cpu + 1) % CPU_SETSIZE;
        while (!CPU_ISSET(cpu, &allowed));
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        charge_and_compare(follower);
        if (sched_setaffinity(0, sizeof one, &one) == 0 && sched_getcpu() != before)
            follower->expected_seen++;
        charge_and_compare(follower);
        for (int j = 0; j < 5; j++) {
            spin_a_little();
            charge(follower);
        }
    }
    (void)sched_setaffinity(0, sizeof allowed, &allowed);
}

static void a_thread_that_migrates(void **state)
{
    (void)state;
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    if (CPU_COUNT(&allowed) < 2) {
        print_message("one processor only\n");
        skip();
    }
    check_work(work_on_the_move, 1);
    check_work(work_on_the_move, 4);
}

/* Events far apart are not taken for one stretch of work, switch or no switch. */
static void old_readings_are_suspect(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct follower follower = {.kind = kinds[k]};
        if (!works_here(kinds[k]))
            continue;
        kernel_clock__start(&follower.clock, kinds[k]);
        sync_clock(&follower);
        assert_false(
            kernel_clock__ran_through(&follower.clock, follower.last_ns + KERNEL_CLOCK_RESYNC_NS));
        assert_false(kernel_clock__ran_through(&follower.clock, UINT64_MAX));
        kernel_clock__stop(&follower.clock);
        /* A stopped clock asks the kernel, always. */
        assert_false(kernel_clock__ran_through(&follower.clock, follower.last_ns));
        sync_clock(&follower);
        assert_false(kernel_clock__ran_through(&follower.clock, follower.last_ns));
    }
}

/* A thread that charges often asks seldom: that is what the clock is for. */
static void most_charges_need_no_system_call(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct follower follower = {.kind = kinds[k]};
        if (kinds[k] == LEDGER_CLOCK_PLAIN || !works_here(kinds[k]))
            continue;
        kernel_clock__start(&follower.clock, kinds[k]);
        for (int i = 0; i < 200000; i++)
            charge(&follower);
        kernel_clock__stop(&follower.clock);
        assert_true(follower.fast > follower.syncs);
    }
}

#define HELD_UP_NS (MS / 10)

static volatile sig_atomic_t hold_ups;

static void hold_up(int signal)
{
    (void)signal;
    hold_ups++;
    for (uint64_t since_ns = clock_ns(CLOCK_MONOTONIC);
         clock_ns(CLOCK_MONOTONIC) - since_ns < HELD_UP_NS;)
        ;
}

/* Handlers mostly run when a system call returns, so in a sync between the two readings. A stretch
 * that begins with such a sync would have the handler's CPU time, but not its wall time. */
static void both_clocks_are_read_at_one_moment(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = hold_up, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 3 * HELD_UP_NS / 1000}, {0, 3 * HELD_UP_NS / 1000}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    struct follower follower = {.kind = LEDGER_CLOCK_PLAIN};
    unsigned too_long = 0;
    kernel_clock__start(&follower.clock, follower.kind);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    hold_ups = 0;
    sync_clock(&follower);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    while (hold_ups < 1000) {
        uint64_t cpu_ns = follower.charged_ns, wall_ns = follower.last_ns;
        sync_clock(&follower);
        cpu_ns = follower.charged_ns - cpu_ns;
        wall_ns = follower.last_ns - wall_ns;
        too_long += cpu_ns > wall_ns + HELD_UP_NS / 2;
    }
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    kernel_clock__stop(&follower.clock);
    /* All readings of a sync are held up by chance only. */
    assert_in_range(too_long, 0, hold_ups / 20);
}

static void the_chosen_clock_works(void **state)
{
    (void)state;
    int error = -1;
    enum ledger_clock_kind best = kernel_clock__choose(0, &ledger_clock, &error);
    assert_int_equal(error, 0);
    assert_true(works_here(best));
    print_message("best clock here: %s\n", kernel_clock__name(best));
    for (size_t k = 0; k < KINDS; k++) {
        enum ledger_clock_kind kind = kernel_clock__choose(kinds[k], &ledger_clock, &error);
        assert_true(error == 0 ? kind == kinds[k] : kind == best && error < 0);
    }
    assert_int_equal(kernel_clock__choose(LEDGER_CLOCK_PLAIN, &ledger_clock, &error),
                     LEDGER_CLOCK_PLAIN);
    assert_int_equal(error, 0);
}

static void without_a_counter_only_the_plain_clock_works(void **state)
{
    (void)state;
    struct ledger_time time;
    int error = -1;
    ledger_time__start(&time, 0);
    assert_int_equal(time.tsc_mult, 0);
    assert_int_equal(kernel_clock__choose(0, &time, &error), LEDGER_CLOCK_PLAIN);
    assert_int_equal(error, 0);
    assert_int_equal(kernel_clock__choose(LEDGER_CLOCK_RSEQ, &time, &error), LEDGER_CLOCK_PLAIN);
    assert_int_equal(error, -ENOTSUP);
    assert_int_equal(kernel_clock__choose(LEDGER_CLOCK_PERF, &time, &error), LEDGER_CLOCK_PLAIN);
    assert_int_equal(error, -ENOTSUP);
}

static void without_a_descriptor_a_thread_gets_the_plain_clock(void **state)
{
    (void)state;
    struct rlimit before;
    struct kernel_clock clock;
    if (!works_here(LEDGER_CLOCK_PERF))
        skip();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {4, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    kernel_clock__start(&clock, LEDGER_CLOCK_PERF);
    enum ledger_clock_kind kind = clock.kind;
    bool ran_through = kernel_clock__ran_through(&clock, 0);
    kernel_clock__stop(&clock);
    int error = 0;
    enum ledger_clock_kind chosen = kernel_clock__choose(LEDGER_CLOCK_PERF, &ledger_clock, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(kind, LEDGER_CLOCK_PLAIN);
    assert_false(ran_through);
    assert_int_equal(error, -EMFILE);
    assert_int_not_equal(chosen, LEDGER_CLOCK_PERF);
}

static int lowest_free_fd(void)
{
    int fd = dup(0);
    (void)close(fd);
    return fd;
}

static void clocks_give_back_their_descriptors(void **state)
{
    (void)state;
    int before = lowest_free_fd();
    for (int i = 0; i < 100; i++) {
        for (size_t k = 0; k < KINDS; k++) {
            struct kernel_clock clock;
            kernel_clock__start(&clock, kinds[k]);
            kernel_clock__stop(&clock);
            kernel_clock__stop(&clock);
        }
    }
    assert_int_equal(lowest_free_fd(), before);
}

static void kinds_have_names(void **state)
{
    (void)state;
    assert_string_equal(kernel_clock__name(LEDGER_CLOCK_RSEQ), "rseq");
    assert_string_equal(kernel_clock__name(LEDGER_CLOCK_PERF), "perf");
    assert_string_equal(kernel_clock__name(LEDGER_CLOCK_PLAIN), "plain");
    assert_string_equal(kernel_clock__name((enum ledger_clock_kind)0), "unknown");
    assert_string_equal(kernel_clock__name((enum ledger_clock_kind)4), "unknown");
    for (size_t k = 0; k < KINDS; k++)
        assert_int_equal(kernel_clock__by_name(kernel_clock__name(kinds[k])), kinds[k]);
    assert_int_equal(kernel_clock__by_name("unknown"), 0);
    assert_int_equal(kernel_clock__by_name(""), 0);
    assert_int_equal(kernel_clock__by_name("RSEQ"), 0);
}

/* The ledger's time against CLOCK_MONOTONIC, which may be slewed by 500 ppm. */
static void ledger_time_is_monotonic_time(void **state)
{
    (void)state;
    for (int counter = 0; counter < 2; counter++) {
        struct ledger_time time;
        uint64_t before_ns = read_ns(CLOCK_MONOTONIC);
        ledger_time__start(&time, counter ? LEDGER_TIME_COMPARE_NS : 0);
        uint64_t after_ns = read_ns(CLOCK_MONOTONIC);
        uint64_t last_ns = 0;
        for (int i = 0; i < 1000; i++) {
            uint64_t least_ns = read_ns(CLOCK_MONOTONIC) - after_ns;
            uint64_t now_ns = ledger_time__now_ns(&time);
            uint64_t most_ns = read_ns(CLOCK_MONOTONIC) - before_ns;
            assert_true(now_ns + now_ns / 1000 + MS / 100 >= least_ns);
            assert_true(now_ns <= most_ns + most_ns / 1000 + MS / 100);
            assert_true(now_ns >= last_ns);
            last_ns = now_ns;
            spin_a_little();
        }
    }
}

static int start_time(void **state)
{
    (void)state;
    ledger_time__start(&ledger_clock, LEDGER_TIME_COMPARE_NS);
    return 0;
}

/* Without a cycle counter to go by neither of the fast ones can be had, and that is told. */
static void clocks_that_fail_say_why(void **state)
{
    (void)state;
    const struct ledger_time time = {0};
    int32_t errors[LEDGER_CLOCK_KINDS];
    int error = -1;
    assert_int_equal(kernel_clock__choose_and_tell(0, &time, &error, errors), LEDGER_CLOCK_PLAIN);
    assert_int_equal(error, 0);
    assert_int_equal(errors[LEDGER_CLOCK_RSEQ], ENOTSUP);
    assert_int_equal(errors[LEDGER_CLOCK_PERF], ENOTSUP);
    assert_int_equal(errors[LEDGER_CLOCK_PLAIN], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_that_fail_say_why),
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(ledger_time_is_monotonic_time),
        cmocka_unit_test(the_chosen_clock_works),
        cmocka_unit_test(without_a_counter_only_the_plain_clock_works),
        cmocka_unit_test(without_a_descriptor_a_thread_gets_the_plain_clock),
        cmocka_unit_test(clocks_give_back_their_descriptors),
        cmocka_unit_test(old_readings_are_suspect),
        cmocka_unit_test(most_charges_need_no_system_call),
        cmocka_unit_test(a_busy_thread),
        cmocka_unit_test(more_busy_threads_than_processors),
        cmocka_unit_test(a_thread_that_sleeps_often),
        cmocka_unit_test(threads_that_yield),
        cmocka_unit_test(both_clocks_are_read_at_one_moment),
        cmocka_unit_test(a_thread_bombarded_with_signals),
        cmocka_unit_test(a_thread_that_migrates),
    };
    return cmocka_run_group_tests(tests, start_time, NULL);
}
