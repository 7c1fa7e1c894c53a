/* Timers on the CPU clock of one thread: the thread that consumes is asked, as often as it should
 * be, and nobody else. */
#include "burn.h"
#include "native/sampling/sample_timer.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define INTERVAL_NS (5 * MS)
#define BURN_NS     (400 * MS)

static const enum ledger_sample_clock clocks[] = {LEDGER_SAMPLE_CLOCK_PERF,
                                                  LEDGER_SAMPLE_CLOCK_TIMER};

#define CLOCKS (sizeof clocks / sizeof *clocks)

static _Atomic unsigned mine, others;
static _Atomic pid_t wanted;

/* Counts the times that the timer was over, as the handler of samples does. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
    unsigned times = 1 + (info->si_code == SI_TIMER ? (unsigned)info->si_overrun : 0);
    (void)signal;
    (void)context;
    if (gettid() == atomic_load(&wanted))
        atomic_fetch_add(&mine, times);
    else
        atomic_fetch_add(&others, times);
}

static int setup(void **state)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    (void)state;
    return sigaction(SIGPROF, &action, NULL);
}

struct worker {
    pthread_t thread;
    pid_t tid;
    sem_t ready, go, done, end;
    uint64_t burn_ns;
};

static void *work(void *context)
{
    struct worker *worker = context;
    worker->tid = gettid();
    (void)sem_post(&worker->ready);
    while (sem_wait(&worker->go) != 0)
        ;
    burn_cpu(worker->burn_ns);
    (void)sem_post(&worker->done);
    while (sem_wait(&worker->end) != 0)
        ;
    return NULL;
}

/* Each worker has a place of its own: that of a test which failed waits there to the end. */
static struct worker *begin(uint64_t burn_ns)
{
    static struct worker workers[32];
    static unsigned begun;
    struct worker *worker = &workers[begun++];
    assert_true(begun <= sizeof workers / sizeof *workers);
    worker->burn_ns = burn_ns;
    (void)sem_init(&worker->ready, 0, 0);
    (void)sem_init(&worker->go, 0, 0);
    (void)sem_init(&worker->done, 0, 0);
    (void)sem_init(&worker->end, 0, 0);
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
    while (sem_wait(&worker->ready) != 0)
        ;
    atomic_store(&wanted, worker->tid);
    atomic_store(&mine, 0);
    atomic_store(&others, 0);
    return worker;
}

static void run(struct worker *worker)
{
    (void)sem_post(&worker->go);
    while (sem_wait(&worker->done) != 0)
        ;
}

static void finish(struct worker *worker)
{
    (void)sem_post(&worker->end);
    assert_int_equal(pthread_join(worker->thread, NULL), 0);
}

/* What the thread has consumed, by a counter of the kernel that is not the timer's. */
static uint64_t consumed_ns(const struct worker *worker)
{
    clockid_t clock;
    assert_int_equal(pthread_getcpuclockid(worker->thread, &clock), 0);
    return read_ns(clock);
}

/* The clock of perf events, which has in it what a host or an interrupt took of the thread's time;
 * -1: refused. */
static int count_task_clock(pid_t tid)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t counted_ns(int fd)
{
    uint64_t ns = 0;
    if (fd >= 0) {
        assert_int_equal(read(fd, &ns, sizeof ns), sizeof ns);
        (void)close(fd);
    }
    return ns;
}

/* What is not there falls back: each turn is a test all the same. */
static void who_consumes_is_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLOCKS; i++) {
        struct worker *worker = begin(BURN_NS);
        struct sample_timer timer;
        uint64_t before_ns = consumed_ns(worker), ns, by_event_ns;
        int event = count_task_clock(worker->tid);
        assert_int_equal(sample_timer__start(&timer, clocks[i], worker->tid, SIGPROF, INTERVAL_NS),
                         0);
        assert_false(sample_timer__is_over(&timer));
        bool by_event = timer.clock == LEDGER_SAMPLE_CLOCK_PERF;
        /* Somebody else's time is not the worker's. */
        burn_cpu(50 * MS);
        assert_int_equal(atomic_load(&mine), 0);
        run(worker);
        sample_timer__stop(&timer);
        assert_int_equal(timer.clock, LEDGER_SAMPLE_CLOCK_NONE);
        assert_int_equal(atomic_load(&others), 0);
        by_event_ns = counted_ns(event);
        ns = by_event && by_event_ns ? by_event_ns : consumed_ns(worker) - before_ns;
        /* A POSIX timer is looked at by a tick that meets the thread: the last ones may be missing.
         * An event is late only while a host has the processor. */
        unsigned most = (unsigned)(ns / INTERVAL_NS) + 1, least = by_event ? most / 2 : most / 10;
        if (atomic_load(&mine) < least || atomic_load(&mine) > most)
            fail_msg("clock %d: over %u times, not up to %u", (int)clocks[i], atomic_load(&mine),
                     most);
        finish(worker);
    }
}

static void a_timer_that_was_stopped_is_silent(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLOCKS; i++) {
        struct worker *worker;
        struct sample_timer timer;
        worker = begin(100 * MS);
        assert_int_equal(sample_timer__start(&timer, clocks[i], worker->tid, SIGPROF, INTERVAL_NS),
                         0);
        sample_timer__stop(&timer);
        assert_true(sample_timer__is_over(&timer));
        run(worker);
        assert_int_equal(atomic_load(&mine), 0);
        assert_int_equal(atomic_load(&others), 0);
        sample_timer__stop(&timer);
        finish(worker);
    }
}

static bool is_gone(pid_t tid)
{
    return tgkill(getpid(), tid, 0) != 0;
}

/* The next thread with that tid needs a timer of its own. */
static void it_is_over_when_the_thread_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLOCKS; i++) {
        struct worker *worker, *next;
        struct sample_timer timer;
        worker = begin(20 * MS);
        assert_int_equal(sample_timer__start(&timer, clocks[i], worker->tid, SIGPROF, INTERVAL_NS),
                         0);
        run(worker);
        assert_false(sample_timer__is_over(&timer));
        finish(worker);
        while (!is_gone(worker->tid))
            nap(MS);
        /* The kernel is not done with it when the tid is free. */
        while (!sample_timer__is_over(&timer))
            nap(MS);
        next = begin(20 * MS);
        assert_true(sample_timer__is_over(&timer));
        run(next);
        assert_int_equal(atomic_load(&mine), 0);
        sample_timer__stop(&timer);
        finish(next);
    }
}

static void a_thread_that_is_gone_has_no_timer(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLOCKS; i++) {
        struct sample_timer timer;
        assert_true(sample_timer__start(&timer, clocks[i], 0x3fffffff, SIGPROF, INTERVAL_NS) < 0);
        assert_int_equal(timer.clock, LEDGER_SAMPLE_CLOCK_NONE);
        assert_true(sample_timer__is_over(&timer));
        sample_timer__stop(&timer);
    }
}

/* With descriptors scarce the host keeps them: a POSIX timer does. */
static void descriptors_are_the_hosts(void **state)
{
    (void)state;
    struct rlimit limit, small;
    struct sample_timer timers[16];
    unsigned events = 0;
    int error, fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    small = limit;
    small.rlim_cur = (rlim_t)(fd + 4) * 4; /* a quarter of it is all but used */
    assert_true(small.rlim_cur <= limit.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
    enum ledger_sample_clock best =
        sample_timer__choose(LEDGER_SAMPLE_CLOCK_PERF, INTERVAL_NS, &error);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(sample_timer__start(&timers[i], best, gettid(), SIGPROF, INTERVAL_NS), 0);
        events += timers[i].clock == LEDGER_SAMPLE_CLOCK_PERF;
    }
    for (size_t i = 0; i < 16; i++)
        sample_timer__stop(&timers[i]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(best == LEDGER_SAMPLE_CLOCK_PERF, error == 0);
    /* From fd to fd + 4. */
    assert_int_equal(events, best == LEDGER_SAMPLE_CLOCK_PERF ? 5 - 1 : 0);
    (void)close(fd);
}

/* The tick as the kernel was built: 1, 3.33, 4 or 10 ms. */
static void from_two_ticks_on_a_timer_does(void **state)
{
    (void)state;
    static const uint64_t ticks_ns[] = {1000000, 3333333, 4000000, 10000000};
    uint64_t tick_ns = sample_timer__tick_ns();
    bool known = false;
    for (size_t i = 0; i < sizeof ticks_ns / sizeof *ticks_ns; i++)
        known |= tick_ns / 1000 == ticks_ns[i] / 1000;
    if (!known)
        fail_msg("a tick of %ju ns", (uintmax_t)tick_ns);
    /* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as it reads */
    const struct {
        enum ledger_sample_clock wanted;
        uint64_t interval_ns;
        bool timer;
    } cases[] = {
        {LEDGER_SAMPLE_CLOCK_NONE, 2 * tick_ns, true},
        {LEDGER_SAMPLE_CLOCK_NONE, 20 * tick_ns, true},
        {LEDGER_SAMPLE_CLOCK_NONE, 2 * tick_ns - 1, false},
        {LEDGER_SAMPLE_CLOCK_NONE, 100000, false},
        {LEDGER_SAMPLE_CLOCK_TIMER, 100000, true},
        {LEDGER_SAMPLE_CLOCK_PERF, 20 * tick_ns, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int error;
        enum ledger_sample_clock clock =
            sample_timer__choose(cases[i].wanted, cases[i].interval_ns, &error);
        /* Where perf events are refused a timer stands in, and the error says so. */
        bool timer = cases[i].timer || error != 0;
        if (clock != (timer ? LEDGER_SAMPLE_CLOCK_TIMER : LEDGER_SAMPLE_CLOCK_PERF) ||
            (cases[i].timer && error != 0))
            fail_msg("case %zu: clock %d, error %d", i, (int)clock, error);
    }
}

/* Eight threads, made at once: their first samples lie over the interval. */
static void timers_begin_at_parts_of_an_interval(void **state)
{
    (void)state;
    enum { PARTS = 8, INTERVAL_S = 8 };
    bool met[PARTS] = {false};
    unsigned parts = 0;
    struct worker *workers[PARTS];
    struct sample_timer timers[PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        struct itimerspec left;
        workers[i] = begin(0);
        assert_int_equal(sample_timer__start(&timers[i], LEDGER_SAMPLE_CLOCK_TIMER, workers[i]->tid,
                                             SIGPROF, INTERVAL_S * 1000 * MS),
                         0);
        assert_int_equal(timer_gettime(timers[i].id, &left), 0);
        assert_in_range(left.it_value.tv_sec, 0, INTERVAL_S);
        met[left.it_value.tv_sec % PARTS] = true;
    }
    for (size_t i = 0; i < PARTS; i++) {
        sample_timer__stop(&timers[i]);
        run(workers[i]);
        finish(workers[i]);
        parts += met[i];
    }
    assert_true(parts >= PARTS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_consumes_is_asked),
        cmocka_unit_test(a_timer_that_was_stopped_is_silent),
        cmocka_unit_test(it_is_over_when_the_thread_is),
        cmocka_unit_test(a_thread_that_is_gone_has_no_timer),
        cmocka_unit_test(descriptors_are_the_hosts),
        cmocka_unit_test(from_two_ticks_on_a_timer_does),
        cmocka_unit_test(timers_begin_at_parts_of_an_interval),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
