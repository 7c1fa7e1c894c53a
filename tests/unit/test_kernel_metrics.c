/* The tables of metrics and sources, the probe, and a thread's reading of its own metrics. */
#include "native/metrics/kernel_metrics.h"
#include "native/metrics/metric_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
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
#define ALL_BITS    (BIT(METRIC_PINNED) - 1) /* which the kernel does not tell */
#define UNREAD      UINT64_C(0xdeadbeefdeadbeef)

/* In the order of enum ledger_metric, which is part of the ledger's format. */
static const char expected_names[] =
    "user cpu ns, system cpu ns, "
    "voluntary_switches switches n, involuntary_switches switches n, "
    "minor_faults faults n, major_faults faults n, block_inputs blocks n, block_outputs blocks n, "
    "read_bytes io B, write_bytes io B, disk_read_bytes io B, disk_write_bytes io B, "
    "run_queue_delay delay ns, timeslices delay n, "
    "block_io_delay taskstats ns, swap_in_delay taskstats ns, reclaim_delay taskstats ns, "
    "thrashing_delay taskstats ns, compact_delay taskstats ns, write_protect_delay taskstats ns, "
    "interrupt_delay taskstats ns, pinned pinned n, "
    "monitor_wait waits ns, object_wait waits ns, park waits ns, sleep waits ns, "
    "io_wait waits ns, safepoint waits ns, unmounted waits ns, "
    "migrations migrations n, ";

static void table_names_every_metric(void **state)
{
    (void)state;
    static const char *const units[] = {[UNIT_NS] = "ns", [UNIT_COUNT] = "n", [UNIT_BYTES] = "B"};
    char names[2048] = "";
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct kernel_metric *metric = kernel_metric__get((enum ledger_metric)i);
        size_t used = strlen(names);
        assert_int_equal(metric->id, i);
        assert_true(strlen(metric->title) > 0 && strlen(metric->title) <= 12);
        assert_true(strlen(metric->meaning) > 0);
        (void)snprintf(names + used, sizeof names - used, "%s %s %s, ", metric->name, metric->group,
                       units[metric->unit]);
    }
    assert_string_equal(names, expected_names);
}

static void every_metric_has_one_source(void **state)
{
    (void)state;
    uint64_t expected[SOURCE_COUNT] = {0};
    for (int i = 0; i < METRIC_COUNT; i++)
        expected[kernel_metric__get((enum ledger_metric)i)->source] |= BIT(i);
    for (int i = 0; i < SOURCE_COUNT; i++) {
        const struct kernel_metric_source *source =
            kernel_metric_source__get((enum ledger_metric_source)i);
        assert_int_equal(source->id, i);
        assert_int_equal(source->bits, expected[i]);
        assert_int_equal(source->cost_ns > 0, i != SOURCE_JVM && i != SOURCE_WAITS);
        assert_true(strlen(source->name) > 0);
        assert_true(strlen(source->needs) > 0);
    }
    assert_int_equal(kernel_metrics__of_switches(),
                     BIT(METRIC_RUN_QUEUE_DELAY) | BIT(METRIC_TIMESLICES));
}

static void check_bits(const char *name, bool known, uint64_t expected)
{
    bool is_known = !known;
    assert_int_equal(kernel_metrics__bits(name, strlen(name), &is_known), expected);
    assert_int_equal(is_known, known);
}

static void groups_and_names_give_bits(void **state)
{
    (void)state;
    check_bits("cpu", true, 0x3);
    check_bits("wall", true, 0);
    check_bits("switches", true, 0xc);
    check_bits("faults", true, 0x30);
    check_bits("blocks", true, 0xc0);
    check_bits("io", true, 0xf00);
    check_bits("delay", true, 0x3000);
    check_bits("taskstats", true, 0x1fc000);
    check_bits("all", true, 0x1fffff);
    check_bits("user", true, 0x1);
    check_bits("minor_faults", true, 0x10);
    check_bits("", false, 0);
    check_bits("fault", false, 0);
    check_bits("faultss", false, 0);
    check_bits("Faults", false, 0);

    bool known = false;
    assert_int_equal(kernel_metrics__bits("faults,io", 6, &known), 0x30);
    assert_true(known);
}

static void every_listed_group_is_known(void **state)
{
    (void)state;
    int groups = 0;
    const char *group = kernel_metrics__groups();
    while (*group != '\0') {
        size_t length = strcspn(group, ",");
        bool known = false;
        (void)kernel_metrics__bits(group, length, &known);
        assert_true(known);
        groups++;
        group += length;
        group += *group == ',';
    }
    assert_int_equal(groups, 9);
}

static void probe_agrees_with_its_errors(void **state)
{
    (void)state;
    int32_t error[SOURCE_COUNT];
    uint64_t found = kernel_metrics__probe(error);
    assert_int_equal(error[SOURCE_CLOCK], 0);
    assert_int_equal(error[SOURCE_RUSAGE], 0);
    for (int i = 0; i < SOURCE_COUNT; i++) {
        const struct kernel_metric_source *source =
            kernel_metric_source__get((enum ledger_metric_source)i);
        assert_true(error[i] >= 0);
        if (error[i] != 0) {
            print_message("%s: %s; needs %s\n", source->name, strerror(error[i]), source->needs);
            assert_int_equal(found & source->bits, 0);
        } else if (i == SOURCE_CLOCK || i == SOURCE_JVM || i == SOURCE_WAITS) {
            assert_int_equal(found & source->bits, 0);
        } else if (i != SOURCE_TASKSTATS) {
            assert_int_equal(found & source->bits, source->bits);
        } else {
            assert_true(found & BIT(METRIC_BLOCK_IO_DELAY));
        }
    }
    assert_int_equal(found & ~ALL_BITS, 0);
}

static int lowest_free_descriptor(void)
{
    int fd = dup(STDERR_FILENO);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    return fd;
}

static void nothing_stays_open(void **state)
{
    (void)state;
    int before = lowest_free_descriptor();
    int32_t error[SOURCE_COUNT];
    struct metric_reader reader;
    (void)kernel_metrics__probe(error);
    assert_int_equal(lowest_free_descriptor(), before);
    (void)metric_reader__open(&reader, UINT64_MAX);
    metric_reader__close(&reader);
    metric_reader__close(&reader);
    assert_int_equal(lowest_free_descriptor(), before);
    uint64_t value[LEDGER_METRIC_SLOTS];
    assert_int_equal(metric_reader__read(&reader, ALL_BITS, value), 0);
}

static void minor_faults_are_those_of_the_pages_touched(void **state)
{
    (void)state;
    enum { PAGES = 512 };
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *pages =
        mmap(NULL, PAGES * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    (void)madvise(pages, PAGES * page_bytes, MADV_NOHUGEPAGE);

    struct metric_reader reader;
    uint64_t before[LEDGER_METRIC_SLOTS];
    uint64_t after[LEDGER_METRIC_SLOTS];
    uint64_t bit = BIT(METRIC_MINOR_FAULTS);
    assert_int_equal(metric_reader__open(&reader, bit), 0);
    assert_int_equal(reader.wanted, bit);
    assert_int_equal(metric_reader__read(&reader, ALL_BITS, before), bit);
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)pages)[i * page_bytes] = 1;
    assert_int_equal(metric_reader__read(&reader, ALL_BITS, after), bit);
    uint64_t faults = after[METRIC_MINOR_FAULTS] - before[METRIC_MINOR_FAULTS];
    /* Sanitizers touch shadow pages besides. */
    assert_in_range(faults, PAGES, 8 * PAGES);
    metric_reader__close(&reader);
    assert_int_equal(munmap(pages, PAGES * page_bytes), 0);
}

static void every_sleep_is_a_voluntary_switch(void **state)
{
    (void)state;
    enum { SLEEPS = 20 };
    struct metric_reader reader;
    uint64_t before[LEDGER_METRIC_SLOTS];
    uint64_t after[LEDGER_METRIC_SLOTS];
    uint64_t wanted = BIT(METRIC_VOLUNTARY_SWITCHES) | BIT(METRIC_TIMESLICES);
    (void)metric_reader__open(&reader, wanted);
    assert_int_equal(metric_reader__read(&reader, wanted, before), reader.wanted);
    for (int i = 0; i < SLEEPS; i++) {
        struct timespec millisecond = {.tv_nsec = 1000000};
        assert_int_equal(nanosleep(&millisecond, NULL), 0);
    }
    assert_int_equal(metric_reader__read(&reader, wanted, after), reader.wanted);
    assert_true(after[METRIC_VOLUNTARY_SWITCHES] >= before[METRIC_VOLUNTARY_SWITCHES] + SLEEPS);
    if (reader.wanted & BIT(METRIC_TIMESLICES))
        assert_true(after[METRIC_TIMESLICES] >= before[METRIC_TIMESLICES] + SLEEPS);
    metric_reader__close(&reader);
}

static void bytes_are_counted_exactly(void **state)
{
    (void)state;
    struct metric_reader reader;
    uint64_t wanted = BIT(METRIC_READ_BYTES) | BIT(METRIC_WRITE_BYTES) | BIT(METRIC_TIMESLICES);
    int error = metric_reader__open(&reader, wanted);
    if (!(reader.wanted & BIT(METRIC_WRITE_BYTES))) {
        print_message("SKIP: /proc/thread-self/io: %s\n", strerror(-error));
        metric_reader__close(&reader);
        skip();
    }
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char bytes[5000] = {0};
    uint64_t before[LEDGER_METRIC_SLOTS];
    uint64_t after[LEDGER_METRIC_SLOTS];
    (void)metric_reader__read(&reader, wanted, before);
    assert_int_equal(write(null, bytes, 4321), 4321);
    assert_int_equal(write(null, bytes, 17), 17);
    assert_int_equal(read(zero, bytes, 5000), 5000);
    for (int i = 0; i < 3; i++)
        (void)metric_reader__read(&reader, wanted, after);
    assert_int_equal(after[METRIC_WRITE_BYTES] - before[METRIC_WRITE_BYTES], 4338);
    assert_int_equal(after[METRIC_READ_BYTES] - before[METRIC_READ_BYTES], 5000);
    metric_reader__close(&reader);
    (void)close(zero);
    (void)close(null);
}

static void user_and_system_add_up_to_the_clock(void **state)
{
    (void)state;
    struct metric_reader reader;
    struct timespec before;
    struct timespec after;
    uint64_t value[LEDGER_METRIC_SLOTS];
    uint64_t wanted = BIT(METRIC_USER) | BIT(METRIC_SYSTEM);
    assert_int_equal(metric_reader__open(&reader, wanted), 0);
    do {
        (void)getppid();
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    } while (before.tv_sec == 0 && before.tv_nsec < 100000000);
    assert_int_equal(metric_reader__read(&reader, wanted, value), wanted);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    uint64_t sum = value[METRIC_USER] + value[METRIC_SYSTEM];
    uint64_t low = (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec;
    uint64_t high = (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec;
    /* The kernel may leave out what it did since the last tick, of 10 ms at most. */
    assert_in_range(sum, low - 20000000, high + 20000000);
    metric_reader__close(&reader);
}

static void read_keeps_errno_and_what_it_does_not_read(void **state)
{
    (void)state;
    struct metric_reader reader;
    uint64_t value[LEDGER_METRIC_SLOTS];
    for (int i = 0; i < (int)LEDGER_METRIC_SLOTS; i++)
        value[i] = UNREAD;
    (void)metric_reader__open(&reader, ALL_BITS);
    /* Somebody closed our descriptors: a process may do so with all that it does not know. */
    if (reader.schedstat_fd >= 0)
        assert_int_equal(close(reader.schedstat_fd), 0);
    if (reader.io_fd >= 0)
        assert_int_equal(close(reader.io_fd), 0);
    if (reader.taskstats.fd >= 0)
        assert_int_equal(close(reader.taskstats.fd), 0);
    errno = EXDEV;
    uint64_t read_bits = metric_reader__read(&reader, ALL_BITS & ~BIT(METRIC_USER), value);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(read_bits, kernel_metric_source__get(SOURCE_RUSAGE)->bits & ~BIT(METRIC_USER));
    for (int i = 0; i < (int)LEDGER_METRIC_SLOTS; i++) {
        if (!(read_bits & BIT(i)))
            assert_true(value[i] == UNREAD);
        else
            assert_true(value[i] != UNREAD);
    }
    reader.schedstat_fd = reader.io_fd = reader.taskstats.fd = -1;
    metric_reader__close(&reader);
}

static uint64_t open_bits_with_limit(rlim_t limit, int *error, int *lowest_free)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit lowered = {.rlim_cur = limit, .rlim_max = before.rlim_max};
    struct metric_reader reader;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lowered), 0);
    *error = metric_reader__open(&reader, ALL_BITS);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    *lowest_free = lowest_free_descriptor();
    uint64_t wanted = reader.wanted;
    metric_reader__close(&reader);
    return wanted;
}

static void half_of_the_descriptors_is_left(void **state)
{
    (void)state;
    int free_before = lowest_free_descriptor();
    int free_after = 0;
    int error = 0;
    uint64_t rusage = kernel_metric_source__get(SOURCE_RUSAGE)->bits;

    uint64_t wanted = open_bits_with_limit((rlim_t)free_before * 2, &error, &free_after);
    assert_int_equal(error, -EMFILE);
    assert_int_equal(wanted, rusage);
    assert_int_equal(free_after, free_before);

    (void)open_bits_with_limit((rlim_t)free_before * 2 + 2, &error, &free_after);
    assert_int_not_equal(error, 0);
    assert_in_range(free_after, free_before, free_before + 1);
}

static struct metric_reader *interrupted_reader;
static volatile sig_atomic_t interruptions;

static void read_in_handler(int signal_number)
{
    (void)signal_number;
    uint64_t value[LEDGER_METRIC_SLOTS];
    (void)metric_reader__read(interrupted_reader, ALL_BITS, value);
    interruptions++;
}

/* Reads inside reads, at any instruction: all the harm is a source left out once. */
static void a_signal_may_read_in_between(void **state)
{
    (void)state;
    struct metric_reader reader;
    (void)metric_reader__open(&reader, ALL_BITS);
    interrupted_reader = &reader;
    struct sigaction action = {.sa_handler = read_in_handler};
    struct sigaction before;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    struct itimerval often = {.it_interval = {.tv_usec = 200}, .it_value = {.tv_usec = 200}};
    struct itimerval never = {.it_interval = {0}};
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    uint64_t rusage = kernel_metric_source__get(SOURCE_RUSAGE)->bits;
    uint64_t value[LEDGER_METRIC_SLOTS];
    while (interruptions < 200)
        assert_int_equal(metric_reader__read(&reader, ALL_BITS, value) & rusage, rusage);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_int_equal(metric_reader__read(&reader, ALL_BITS, value), reader.wanted);
    metric_reader__close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_names_every_metric),
        cmocka_unit_test(every_metric_has_one_source),
        cmocka_unit_test(groups_and_names_give_bits),
        cmocka_unit_test(every_listed_group_is_known),
        cmocka_unit_test(probe_agrees_with_its_errors),
        cmocka_unit_test(nothing_stays_open),
        cmocka_unit_test(minor_faults_are_those_of_the_pages_touched),
        cmocka_unit_test(every_sleep_is_a_voluntary_switch),
        cmocka_unit_test(bytes_are_counted_exactly),
        cmocka_unit_test(user_and_system_add_up_to_the_clock),
        cmocka_unit_test(read_keeps_errno_and_what_it_does_not_read),
        cmocka_unit_test(half_of_the_descriptors_is_left),
        cmocka_unit_test(a_signal_may_read_in_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
