/* Timers on the CPU clock of one thread: the thread that consumes is asked, as often as it should
 * be, and nobody else. */
#include "burn.h"
#include "native/sampling/sample_timer.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
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

static void on_signal(int signal)
{
    (void)signal;
    if (gettid() == atomic_load(&wanted))
        atomic_fetch_add(&mine, 1);
    else
        atomic_fetch_add(&others, 1);
}

static int setup(void **state)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)state;
    return sigaction(SIGPROF, &action, NULL);
}

struct worker {
    pthread_t thread;
    pid_t tid;
    sem_t ready, go, done, end;
    uint64_t burn_ns;
    uint64_t burnt_ns;
};

static void *work(void *context)
{
    struct worker *worker = context;
    worker->tid = gettid();
    (void)sem_post(&worker->ready);
    while (sem_wait(&worker->go) != 0)
        ;
    uint64_t before_ns = thread_cpu_ns();
    burn_cpu(worker->burn_ns);
    worker->burnt_ns = thread_cpu_ns() - before_ns;
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

/* What is not there falls back: each turn is a test all the same. */
static void who_consumes_is_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLOCKS; i++) {
        struct worker *worker;
        struct sample_timer timer;
        worker = begin(BURN_NS);
        assert_int_equal(sample_timer__start(&timer, clocks[i], worker->tid, SIGPROF, INTERVAL_NS),
                         0);
        assert_false(sample_timer__is_over(&timer));
        /* Somebody else's time is not the worker's. */
        burn_cpu(50 * MS);
        assert_int_equal(atomic_load(&mine), 0);
        run(worker);
        sample_timer__stop(&timer);
        assert_int_equal(timer.clock, LEDGER_SAMPLE_CLOCK_NONE);
        assert_int_equal(atomic_load(&others), 0);
        /* A POSIX timer moves by ticks, of up to 10 ms; two signals may become one. The worker
         * consumes some before and after the time that it measures. */
        unsigned most = (unsigned)(worker->burnt_ns / INTERVAL_NS) + 4;
        if (atomic_load(&mine) < most / 10 || atomic_load(&mine) > most)
            fail_msg("clock %d: %u signals, not up to %u", (int)clocks[i], atomic_load(&mine),
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
