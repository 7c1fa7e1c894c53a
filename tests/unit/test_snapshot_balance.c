/* Snapshots of ledgers whose threads are at work: in balance with the kernel, whatever thread is on
 * its way out. */
#include "busy_workers.h"
#include "child.h"
#include "native/thread/kernel_thread_events.h"
#include "small_disk.h"
#include "taken_snapshot.h"

#include <errno.h>
#include <fcntl.h>

#define MIB    (UINT64_C(1) << 20)
#define SECOND (1000 * MS)
#define IO     UINT64_C(0xf00)
#define DELAY  UINT64_C(0x3000)

static uint64_t read_cpu_ns(const struct ledger_reader *reader, ledger_ref ref)
{
    const struct ledger_node *node = ledger_reader__node(reader, ref);
    if (node == NULL)
        return 0;
    uint64_t sum_ns = node->cpu_ns;
    for (ledger_ref child = node->first_child; child != 0;) {
        const struct ledger_node *at = ledger_reader__node(reader, child);
        if (at == NULL || at->parent != ref)
            break;
        sum_ns += read_cpu_ns(reader, child);
        child = at->next_sibling;
    }
    return sum_ns;
}

/* Of all rows, as a report shows them. */
static uint64_t rows_cpu_ns(const struct ledger_reader *reader)
{
    uint64_t sum_ns = 0;
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(reader, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *thread = ledger_reader__thread(reader, ref);
        if (thread->kind != 0 && !(thread->flags & THREAD_HIDDEN))
            sum_ns += read_cpu_ns(reader, thread->root);
    }
    return sum_ns;
}

static const struct ledger_thread *read_thread(const struct ledger_reader *reader, uint64_t java_id)
{
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(reader, LEDGER_THREADS, ref)) != 0)
        if (ledger_reader__thread(reader, ref)->java_id == java_id)
            return ledger_reader__thread(reader, ref);
    return NULL;
}

static ledger_ref read_child(const struct ledger_reader *reader, ledger_ref parent, uint64_t key)
{
    const struct ledger_node *node = ledger_reader__node(reader, parent);
    ledger_ref ref = node != NULL ? node->first_child : 0;
    while ((node = ledger_reader__node(reader, ref)) != NULL && node->key != key)
        ref = node->next_sibling;
    return ref;
}

/* All rows together are the process, to 1 % and what runs while the clocks are read: at most what
 * the process consumed during the snapshot. */
static void check_balance(const struct ledger_reader *reader, uint64_t slack_ns)
{
    uint64_t rows_ns = rows_cpu_ns(reader);
    uint64_t process_ns = ledger_reader__header(reader)->process_cpu_ns;
    uint64_t off_ns = rows_ns > process_ns ? rows_ns - process_ns : process_ns - rows_ns;
    if (off_ns > process_ns / 100 + slack_ns)
        fail_msg("rows: %.3f ms, process: %.3f ms", (double)rows_ns / 1e6,
                 (double)process_ns / 1e6);
}

struct seen_calls {
    uint64_t a[WORKERS];
    uint64_t b[WORKERS];
};

/* Calls never go back, and stand in one tree: B is called up to 100 times for each A. */
static void check_calls(const struct ledger_reader *reader, struct seen_calls *seen)
{
    for (uint64_t i = 0; i < WORKERS; i++) {
        const struct ledger_thread *thread = read_thread(reader, i + 1);
        assert_non_null(thread);
        ledger_ref a_ref = read_child(reader, thread->root, 'A');
        const struct ledger_node *a = ledger_reader__node(reader, a_ref);
        const struct ledger_node *b = ledger_reader__node(reader, read_child(reader, a_ref, 'B'));
        assert_non_null(a);
        assert_non_null(b);
        assert_true(a->calls >= seen->a[i] && b->calls >= seen->b[i]);
        assert_true(b->calls <= a->calls * 100 + 100);
        assert_true(b->calls + 100 >= a->calls * 100);
        seen->a[i] = a->calls;
        seen->b[i] = b->calls;
    }
}

/* The first test with threads: what ended before the ledger began is nobody's row. */
static void busy_threads_are_in_balance_twenty_times(void **state)
{
    (void)state;
    static struct worker workers[WORKERS];
    struct seen_calls seen = {{0}, {0}};
    struct java_world *world = java_world__make(16 * MIB, 0, 0xff, false);
    assert_non_null(world);
    assert_int_equal(start_workers(world, workers), 0);
    while (!all_work(workers) || process_cpu_ns() < SECOND)
        nap(MS);
    for (int i = 0; i < 20; i++) {
        uint64_t before_ns = process_cpu_ns();
        assert_int_equal(snapshot__write(world->ledger.fd, target), 0);
        uint64_t after_ns = process_cpu_ns();
        struct ledger_reader *reader = open_snapshot(target);
        const struct ledger_header *header = ledger_reader__header(reader);
        assert_in_range(header->process_cpu_ns, before_ns, after_ns);
        check_calls(reader, &seen);
        check_balance(reader, 2 * MS + after_ns - before_ns);
        ledger_reader__close(reader);
        nap(5 * MS);
    }
    assert_int_equal(count_files(folder), 1);
    end_workers(workers);

    /* And when all is over: the gap has the threads' ways out. */
    assert_int_equal(snapshot__write(world->ledger.fd, target), 0);
    struct ledger_reader *reader = open_snapshot(target);
    check_calls(reader, &seen);
    check_balance(reader, 5 * MS);
    for (uint64_t i = 0; i < WORKERS; i++) {
        assert_int_equal(seen.a[i], workers[i].rounds);
        assert_int_equal(seen.b[i], workers[i].rounds * 100);
        assert_int_equal(read_thread(reader, i + 1)->flags, THREAD_TERMINATED);
    }
    ledger_reader__close(reader);
}

/* A child process: what it says on the pipe is the number of its ledger's descriptor. */
static int own_a_ledger(int say, int hear)
{
    static struct worker workers[WORKERS];
    char word = 0;
    struct java_world *world = java_world__make(16 * MIB, 0, 0xff, false);
    if (world == NULL || start_workers(world, workers) != 0)
        return 1;
    while (!all_work(workers))
        nap(MS);
    if (write(say, &world->ledger.fd, sizeof world->ledger.fd) < 0)
        return 1;
    (void)!read(hear, &word, 1);
    end_workers(workers);
    return 0;
}

static uint64_t cpu_of(pid_t pid)
{
    clockid_t clock;
    return clock_getcpuclockid(pid, &clock) == 0 ? read_ns(clock) : UINT64_MAX;
}

static void another_process_can_take_a_snapshot(void **state)
{
    (void)state;
    int from_child[2];
    int to_child[2];
    int status = -1;
    int number = -1;
    char path[64];
    struct seen_calls seen = {{0}, {0}};
    assert_int_equal(pipe2(from_child, O_CLOEXEC) | pipe2(to_child, O_CLOEXEC), 0);
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        be_a_child();
        _exit(own_a_ledger(from_child[1], to_child[0]));
    }
    (void)close(from_child[1]);
    assert_int_equal(read(from_child[0], &number, sizeof number), sizeof number);
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)child, number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    while (cpu_of(child) < SECOND)
        nap(MS);
    for (int i = 0; i < 5; i++) {
        uint64_t before_ns = cpu_of(child);
        assert_int_equal(snapshot__write(fd, target), 0);
        uint64_t after_ns = cpu_of(child);
        struct ledger_reader *reader = open_snapshot(target);
        assert_int_equal(ledger_reader__header(reader)->pid, child);
        check_calls(reader, &seen);
        /* schedstat of a running thread may be one tick old. */
        check_balance(reader,
                      after_ns - before_ns + (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 10 * MS);
        ledger_reader__close(reader);
        nap(20 * MS);
    }
    assert_int_equal(write(to_child[1], "", 1), 1);
    (void)close(to_child[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);

    /* It is over: what is live by its header is nobody's. */
    assert_int_equal(snapshot__write(fd, target), -ESRCH);
    assert_int_equal(count_files(folder), 1);
    (void)close(fd);
    (void)close(from_child[0]);
    (void)close(to_child[0]);
}

/* A Java thread has ended, its kernel thread is still on its way out: held here in the last round
 * of its destructors, where it has its CPU clock but no entry in the table any more. */
static pthread_key_t last_destructor;
static __thread unsigned rounds;
static pthread_barrier_t on_its_way_out;
static pthread_barrier_t may_go;

static void hold(void *value)
{
    if (++rounds < 4) {
        (void)pthread_setspecific(last_destructor, value);
        return;
    }
    (void)pthread_barrier_wait(&on_its_way_out);
    (void)pthread_barrier_wait(&may_go);
}

static void *work_and_leave_slowly(void *context)
{
    struct java_world *world = context;
    struct kernel_thread *mine = kernel_thread_table__enter(&world->table);
    (void)pthread_setspecific(last_destructor, world);
    (void)start_java(mine, "slow to leave", 1);
    kernel_thread__enter(mine, 'A');
    burn_cpu(300 * MS);
    kernel_thread__leave(mine, 'A');
    kernel_thread__end_java(mine);
    return NULL;
}

/* What threads consumed after their last look: here also all that ended before the ledger began. */
static uint64_t last_moments_ns(const struct ledger_reader *reader)
{
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(reader, LEDGER_THREADS, ref)) != 0)
        if (ledger_reader__thread(reader, ref)->flags & THREAD_LAST_MOMENTS)
            return read_cpu_ns(reader, ledger_reader__thread(reader, ref)->root);
    return 0;
}

static void check_not_twice(const char *path)
{
    struct ledger_reader *reader = open_snapshot(path);
    uint64_t rows_ns = rows_cpu_ns(reader) - last_moments_ns(reader);
    const struct ledger_thread *thread = read_thread(reader, 1);
    uint64_t thread_ns = read_cpu_ns(reader, thread->root);
    uint64_t others_ns = rows_ns - thread_ns;
    uint64_t main_ns = thread_cpu_ns();
    ledger_reader__close(reader);
    assert_true(thread_ns >= 300 * MS);
    if (others_ns > main_ns + 50 * MS)
        fail_msg("rows beside the thread's: %.3f ms, of which %.3f ms are ours",
                 (double)others_ns / 1e6, (double)main_ns / 1e6);
}

static void a_thread_on_its_way_out_is_not_counted_twice(void **state)
{
    (void)state;
    pthread_t thread;
    if (!LAST_DESTRUCTORS_RUN) {
        print_message("no last destructors under this sanitizer\n");
        skip();
    }
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    assert_int_equal(pthread_key_create(&last_destructor, hold), 0);
    assert_int_equal(pthread_barrier_init(&on_its_way_out, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&may_go, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, work_and_leave_slowly, world), 0);
    (void)pthread_barrier_wait(&on_its_way_out);
    int error = snapshot__write(world->ledger.fd, target);
    (void)pthread_barrier_wait(&may_go);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(error, 0);
    check_not_twice(target);
}

/* The process's first kernel thread ran a Java thread and has ended; it is a zombie that keeps its
 * CPU clock for as long as the process lives. */
static void *take_snapshot_when_the_first_is_gone(void *context)
{
    const struct java_world *world = context;
    char path[64];
    char stat[512];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    for (;;) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, stat, sizeof stat - 1);
        (void)close(fd);
        if (length <= 0)
            _exit(2);
        stat[length] = '\0';
        if (strstr(stat, ") Z ") != NULL)
            break;
        nap(MS);
    }
    _exit(snapshot__write(world->ledger.fd, target) == 0 ? 0 : 3);
}

static int end_the_first_thread(void)
{
    pthread_t thread;
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    struct kernel_thread *mine = kernel_thread_table__enter(&world->table);
    if (pthread_create(&thread, NULL, take_snapshot_when_the_first_is_gone, world) != 0)
        return 1;
    (void)start_java(mine, "first", 1);
    burn_cpu(300 * MS);
    kernel_thread__end_java(mine);
    pthread_exit(NULL);
}

static void a_first_thread_that_ended_is_not_counted_twice(void **state)
{
    (void)state;
    assert_int_equal(run_child(end_the_first_thread), 0);
    struct ledger_reader *reader = open_snapshot(target);
    check_balance(reader, 20 * MS);
    ledger_reader__close(reader);
}

/* What the agent itself reads from /proc is not the thread's: it reads nothing. */
static void *switch_often(void *context)
{
    struct worker *worker = context;
    struct kernel_thread *mine = kernel_thread_table__enter(&worker->world->table);
    (void)start_java(mine, "reads nothing", 1);
    kernel_thread__enter(mine, 'A');
    for (int i = 0; i < 200; i++) {
        kernel_thread__enter(mine, 'B');
        nap(MS / 20);
        kernel_thread__leave(mine, 'B');
    }
    worker->rounds = 1;
    while (!worker->over)
        nap(MS);
    kernel_thread__leave(mine, 'A');
    kernel_thread__end_java(mine);
    return NULL;
}

static void reading_metrics_is_not_charged_to_the_thread(void **state)
{
    (void)state;
    struct worker worker = {0};
    worker.world = java_world__make(MIB, 0, IO | DELAY, false);
    if (!(worker.world->setup.metrics_charged & UINT64_C(1) << METRIC_READ_BYTES)) {
        print_message("no I/O metrics here\n");
        skip();
    }
    assert_int_equal(pthread_create(&worker.thread, NULL, switch_often, &worker), 0);
    while (worker.rounds == 0)
        nap(MS);
    int error = snapshot__write(worker.world->ledger.fd, target);
    worker.over = true;
    assert_int_equal(pthread_join(worker.thread, NULL), 0);
    assert_int_equal(error, 0);
    struct ledger_reader *reader = open_snapshot(target);
    uint64_t bytes = read_thread(reader, 1)->totals[METRIC_READ_BYTES];
    ledger_reader__close(reader);
    assert_int_equal(bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_threads_are_in_balance_twenty_times),
        cmocka_unit_test(another_process_can_take_a_snapshot),
        cmocka_unit_test(a_thread_on_its_way_out_is_not_counted_twice),
        cmocka_unit_test(a_first_thread_that_ended_is_not_counted_twice),
        cmocka_unit_test(reading_metrics_is_not_charged_to_the_thread),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
