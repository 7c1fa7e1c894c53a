/* What /proc says of other threads and processes, against what those say of themselves. */
#include "native/metrics/kernel_metrics.h"
#include "native/metrics/task_status.h"
#include "native/proc/process_stat.h"
#include "native/proc/task_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define BIT(metric) (UINT64_C(1) << (metric))
#define ALL_BITS    (BIT(METRIC_COUNT) - 1)

enum { SLEEPS = 15, PAGES = 300, WRITTEN = 12345, BURNT_NS = 60000000 };

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_ms(int milliseconds)
{
    struct timespec time = {.tv_nsec = milliseconds * 1000000L};
    (void)nanosleep(&time, NULL);
}

static uint64_t tick_ns(void)
{
    return UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* A thread or process that consumes known amounts and then waits. */
static void consume(void)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *pages =
        mmap(NULL, PAGES * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages != MAP_FAILED) {
        (void)madvise(pages, PAGES * page_bytes, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < PAGES; i++)
            ((volatile char *)pages)[i * page_bytes] = 1;
        (void)munmap(pages, PAGES * page_bytes);
    }
    for (int i = 0; i < SLEEPS; i++)
        sleep_ms(1);
    static const char bytes[WRITTEN];
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (write(null, bytes, WRITTEN) != WRITTEN)
        (void)fputs("cannot write to /dev/null\n", stderr);
    (void)close(null);
    struct timespec now;
    do {
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec == 0 && now.tv_nsec < BURNT_NS);
}

struct worker {
    pthread_t thread;
    pid_t tid;
    const char *name;
    uint64_t cpu_before_ns; /* its own clock before it is looked at */
    uint64_t cpu_after_ns;
    pthread_barrier_t ready;
    pthread_barrier_t looked_at;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->tid = (pid_t)syscall(SYS_gettid);
    (void)prctl(PR_SET_NAME, worker->name);
    consume();
    worker->cpu_before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    (void)pthread_barrier_wait(&worker->ready);
    (void)pthread_barrier_wait(&worker->looked_at);
    worker->cpu_after_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void start_worker(struct worker *worker, const char *name)
{
    worker->name = name;
    assert_int_equal(pthread_barrier_init(&worker->ready, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&worker->looked_at, NULL, 2), 0);
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
    (void)pthread_barrier_wait(&worker->ready);
}

static void end_worker(struct worker *worker)
{
    (void)pthread_barrier_wait(&worker->looked_at);
    assert_int_equal(pthread_join(worker->thread, NULL), 0);
    (void)pthread_barrier_destroy(&worker->ready);
    (void)pthread_barrier_destroy(&worker->looked_at);
}

static void check_amounts(const struct task_status *status)
{
    const uint64_t *value = status->value;
    uint64_t always = BIT(METRIC_USER) | BIT(METRIC_SYSTEM) | BIT(METRIC_MINOR_FAULTS) |
                      BIT(METRIC_MAJOR_FAULTS) | BIT(METRIC_VOLUNTARY_SWITCHES) |
                      BIT(METRIC_INVOLUNTARY_SWITCHES);
    uint64_t never = BIT(METRIC_BLOCK_INPUTS) | BIT(METRIC_BLOCK_OUTPUTS) |
                     kernel_metric_source__get(SOURCE_TASKSTATS)->bits;
    assert_int_equal(status->bits & always, always);
    assert_int_equal(status->bits & never, 0);
    assert_true(value[METRIC_MINOR_FAULTS] >= PAGES);
    assert_true(value[METRIC_VOLUNTARY_SWITCHES] >= SLEEPS);
    if (status->bits & BIT(METRIC_TIMESLICES))
        assert_true(value[METRIC_TIMESLICES] >= SLEEPS);
    if (status->bits & BIT(METRIC_WRITE_BYTES))
        assert_true(value[METRIC_WRITE_BYTES] >= WRITTEN);
    else
        print_message("the io file is refused: not checked\n");
    uint64_t in_ticks = value[METRIC_USER] + value[METRIC_SYSTEM];
    assert_in_range(in_ticks + 3 * tick_ns(), status->cpu_ns, status->cpu_ns + 6 * tick_ns());
}

static void another_thread_is_read_as_it_reads_itself(void **state)
{
    (void)state;
    struct worker worker;
    struct task_status status;
    start_worker(&worker, "worker");
    assert_int_equal(task_status__read(&status, getpid(), worker.tid, ALL_BITS), 0);
    end_worker(&worker);
    assert_string_equal(status.name, "worker");
    assert_in_range(status.cpu_ns, worker.cpu_before_ns, worker.cpu_after_ns);
    check_amounts(&status);
    if (status.bits & BIT(METRIC_WRITE_BYTES))
        assert_int_equal(status.value[METRIC_WRITE_BYTES], WRITTEN);
}

static void only_the_bits_asked_for_are_read(void **state)
{
    (void)state;
    struct task_status status;
    pid_t pid = getpid();
    assert_int_equal(task_status__read(&status, pid, pid, 0), 0);
    assert_int_equal(status.bits, 0);
    assert_true(status.cpu_ns > 0);
    assert_true(status.start_ticks > 0);
    uint64_t bits = BIT(METRIC_MAJOR_FAULTS) | BIT(METRIC_INVOLUNTARY_SWITCHES);
    assert_int_equal(task_status__read(&status, pid, pid, bits), 0);
    assert_int_equal(status.bits, bits);
    for (int i = 0; i < (int)LEDGER_METRIC_SLOTS; i++)
        assert_true((bits & BIT(i)) || status.value[i] == 0);
}

/* PR_SET_NAME takes any byte, and /proc gives it back as it is. */
static void a_name_may_hold_what_delimits_it(void **state)
{
    (void)state;
    static const char *const names[] = {"a) b (c\n", ")", "((", ") R 1 2 3 4", "", "\xff\xfe"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct worker worker;
        struct task_status status;
        start_worker(&worker, names[i]);
        assert_int_equal(task_status__read(&status, getpid(), worker.tid, ALL_BITS), 0);
        end_worker(&worker);
        assert_string_equal(status.name, names[i]);
        check_amounts(&status);
    }
}

static void stat_is_parsed_behind_the_last_parenthesis(void **state)
{
    (void)state;
    struct task_stat stat;
    static const char text[] = "7 (x) S (y) R 1 2 3 4 -1 4194304 11 12 13 14 15 16 -17 18 20 0 3 0 "
                               "1234567 0 0 18446744073709551615\n";
    assert_int_equal(task_stat__parse(text, &stat), 0);
    assert_string_equal(stat.name, "x) S (y");
    assert_int_equal(stat.minor_faults, 11);
    assert_int_equal(stat.major_faults, 13);
    assert_int_equal(stat.user_ticks, 15);
    assert_int_equal(stat.system_ticks, 16);
    assert_int_equal(stat.start_ticks, 1234567);

    size_t needed = (size_t)(strstr(text, "1234567") - text);
    for (size_t length = 0; length <= needed; length++) {
        char cut[sizeof text];
        memcpy(cut, text, length);
        cut[length] = '\0';
        assert_int_equal(task_stat__parse(cut, &stat), -EBADMSG);
    }
}

static void schedstat_that_is_not_kept_is_no_reading(void **state)
{
    (void)state;
    struct task_schedstat schedstat;
    assert_int_equal(task_schedstat__parse("438562 844454 3\n", &schedstat), 0);
    assert_int_equal(schedstat.run_ns, 438562);
    assert_int_equal(schedstat.run_queue_delay_ns, 844454);
    assert_int_equal(schedstat.timeslices, 3);
    assert_int_equal(task_schedstat__parse("0 0 0\n", &schedstat), -ENODATA);
    assert_int_equal(task_schedstat__parse("1 2", &schedstat), -EBADMSG);
    assert_int_equal(task_schedstat__parse("", &schedstat), -EBADMSG);
}

struct child {
    pid_t pid;
    int to;   /* closed: the child ends */
    int from; /* its CPU time when it was ready */
    uint64_t cpu_ns;
};

static void start_child(struct child *child, int groups)
{
    int to[2];
    int from[2];
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        static gid_t list[4000];
        char byte = 0;
        (void)close(to[1]);
        for (int i = 0; i < groups; i++)
            list[i] = (gid_t)(1000000000 + i);
        if (groups > 0 && setgroups((size_t)groups, list) != 0)
            _exit(1);
        consume();
        uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (write(from[1], &cpu_ns, sizeof cpu_ns) != sizeof cpu_ns)
            _exit(1);
        _exit(read(to[0], &byte, 1) == 0 ? 0 : 1);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    child->to = to[1];
    child->from = from[0];
    assert_int_equal(read(child->from, &child->cpu_ns, sizeof child->cpu_ns), sizeof child->cpu_ns);
}

static void end_child(struct child *child)
{
    int status = -1;
    (void)close(child->to);
    (void)close(child->from);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_int_equal(status, 0);
}

/* schedstat lags until the child is off its processor, which it is about to leave. */
static void read_until_it_waits(const struct child *child, struct task_status *status)
{
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(task_status__read(status, child->pid, child->pid, ALL_BITS), 0);
        if (status->cpu_ns >= child->cpu_ns)
            return;
        sleep_ms(1);
    }
    fail_msg("CPU time %llu of %llu ns", (unsigned long long)status->cpu_ns,
             (unsigned long long)child->cpu_ns);
}

static void another_process_is_read_as_it_reads_itself(void **state)
{
    (void)state;
    struct child child;
    struct task_status status;
    uint64_t cpu_ns = 0;
    uint64_t user_ns = 0;
    uint64_t system_ns = 0;
    uint64_t started_after = clock_ns(CLOCK_BOOTTIME) / tick_ns();
    start_child(&child, 0);
    uint64_t started_before = clock_ns(CLOCK_BOOTTIME) / tick_ns();
    read_until_it_waits(&child, &status);
    check_amounts(&status);
    assert_in_range(status.start_ticks, started_after, started_before);

    uint64_t start_ticks = 0;
    assert_int_equal(process_start__read(child.pid, &start_ticks), 0);
    assert_int_equal(start_ticks, status.start_ticks);
    assert_int_equal(process_cpu__read(child.pid, &cpu_ns, &user_ns, &system_ns), 0);
    assert_true(cpu_ns >= child.cpu_ns);
    assert_in_range(user_ns + system_ns + 3 * tick_ns(), cpu_ns, cpu_ns + 6 * tick_ns());
    end_child(&child);
}

static void switches_are_found_behind_long_lists(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("SKIP: setgroups needs root\n");
        skip();
    }
    struct child child;
    struct task_status status;
    start_child(&child, 4000);
    read_until_it_waits(&child, &status);
    check_amounts(&status);
    end_child(&child);
}

static void own_process_is_exact(void **state)
{
    (void)state;
    uint64_t cpu_ns = 0;
    uint64_t user_ns = 0;
    uint64_t system_ns = 0;
    consume();
    uint64_t before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    assert_int_equal(process_cpu__read(getpid(), &cpu_ns, &user_ns, &system_ns), 0);
    assert_in_range(cpu_ns, before, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    assert_in_range(user_ns + system_ns + 3 * tick_ns(), cpu_ns, cpu_ns + 6 * tick_ns());
}

static void check_is_over(int error)
{
    assert_true(error == -ESRCH || error == -ENOENT);
}

static void what_is_over_is_an_error(void **state)
{
    (void)state;
    struct worker worker;
    struct child child;
    struct task_status status;
    uint64_t number = 0;
    start_worker(&worker, "over");
    end_worker(&worker);
    /* The join returns when the thread has told so, a moment before the kernel forgets it. */
    int error = 0;
    for (int i = 0; i < 5000 && error == 0; i++) {
        error = task_status__read(&status, getpid(), worker.tid, ALL_BITS);
        sleep_ms(1);
    }
    check_is_over(error);

    start_child(&child, 0);
    end_child(&child);
    check_is_over(task_status__read(&status, child.pid, child.pid, ALL_BITS));
    check_is_over(task_status__read(&status, getpid(), child.pid, ALL_BITS));
    check_is_over(process_cpu__read(child.pid, &number, &number, &number));
    check_is_over(process_start__read(child.pid, &number));
    assert_int_equal(process_start__read(0, &number), -EINVAL);
    assert_int_equal(process_cpu__read(-1, &number, &number, &number), -EINVAL);
    assert_int_equal(task_status__read(&status, getpid(), 0, 0), -EINVAL);
}

/* Its number is looked up, and then found to be that of another process. */
static void a_thread_of_another_process_is_none_of_this_one(void **state)
{
    (void)state;
    struct child child;
    struct task_status status;
    uint64_t start_ticks = 0;

    start_child(&child, 0);
    assert_int_equal(task_status__read(&status, child.pid, child.pid, 0), 0);
    assert_int_equal(task_start__read(child.pid, child.pid, &start_ticks), 0);
    check_is_over(task_status__read(&status, getpid(), child.pid, ALL_BITS));
    check_is_over(task_start__read(getpid(), child.pid, &start_ticks));
    end_child(&child);
}

static void *end_at_once(void *argument)
{
    pid_t *tid = argument;
    __atomic_store_n(tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    return NULL;
}

static void a_thread_may_end_while_it_is_read(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        pid_t tid = 0;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, end_at_once, &tid), 0);
        pid_t seen = 0;
        while ((seen = __atomic_load_n(&tid, __ATOMIC_ACQUIRE)) == 0)
            (void)sched_yield();
        struct task_status status;
        int error = task_status__read(&status, getpid(), seen, ALL_BITS);
        if (error != 0)
            check_is_over(error);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_thread_is_read_as_it_reads_itself),
        cmocka_unit_test(only_the_bits_asked_for_are_read),
        cmocka_unit_test(a_name_may_hold_what_delimits_it),
        cmocka_unit_test(stat_is_parsed_behind_the_last_parenthesis),
        cmocka_unit_test(schedstat_that_is_not_kept_is_no_reading),
        cmocka_unit_test(another_process_is_read_as_it_reads_itself),
        cmocka_unit_test(switches_are_found_behind_long_lists),
        cmocka_unit_test(own_process_is_exact),
        cmocka_unit_test(what_is_over_is_an_error),
        cmocka_unit_test(a_thread_of_another_process_is_none_of_this_one),
        cmocka_unit_test(a_thread_may_end_while_it_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
