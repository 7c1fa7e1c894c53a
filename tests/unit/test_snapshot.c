/* Snapshots of ledgers whose threads are at work: whole, in balance with the kernel, and nothing
 * left behind where they cannot be written. */
#include "burn.h"
#include "child.h"
#include "java_world.h"
#include "native/ledger/ledger_reader.h"
#include "native/snapshot/process_scan.h"
#include "native/snapshot/snapshot.h"
#include "small_disk.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB     (UINT64_C(1) << 20)
#define SECOND  (1000 * MS)
#define CHUNK   UINT64_C(4096)
#define WORKERS 3
#define IO      UINT64_C(0xf00)
#define DELAY   UINT64_C(0x3000)

static char folder[] = "/tmp/treadle-snapshot-XXXXXX";
static char target[128]; /* in the folder */

static void patterns_are_expanded(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *path;
    } cases[] = {
        {"treadle-%p.ledger", "treadle-12.ledger"},
        {"/a/%n/%p-%n", "/a/7/12-7"},
        {"%%p%%", "%p%"},
        {"%p%p", "1212"},
        {"", ""},
        {"plain", "plain"},
        {"\xc3\xa9-%n", "\xc3\xa9-7"},
    };
    static const char *const bad[] = {"%", "a%", "%x", "%P", "%%%", "% p", "%-p"};
    char path[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(snapshot__path(path, sizeof path, cases[i].pattern, 12, 7), 0);
        assert_string_equal(path, cases[i].path);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(snapshot__path(path, sizeof path, bad[i], 12, 7), -EINVAL);
}

static void patterns_have_the_time(void **state)
{
    (void)state;
    char path[64];
    struct tm tm = {0};
    assert_int_equal(snapshot__path(path, sizeof path, "x-%t.y", 1, 1), 0);
    assert_int_equal(strlen(path), strlen("x-20240131-235959.y"));
    const char *end = strptime(path, "x-%Y%m%d-%H%M%S.y", &tm);
    assert_non_null(end);
    assert_string_equal(end, "");
    assert_true(tm.tm_year >= 124);
}

static void paths_fit_or_are_refused(void **state)
{
    (void)state;
    char path[9] = "########";
    assert_int_equal(snapshot__path(path, 4, "abc", 1, 1), 0);
    assert_string_equal(path, "abc");
    assert_int_equal(path[4], '#');
    assert_int_equal(snapshot__path(path, 3, "abc", 1, 1), -ENAMETOOLONG);
    assert_int_equal(snapshot__path(path, 8, "%p", 2147483647, 1), -ENAMETOOLONG);
    assert_int_equal(snapshot__path(path, 1, "", 1, 1), 0);
}

/* A thread that plays a Java thread: A calls B over and over, until told to end. */
struct worker {
    struct java_world *world;
    pthread_t thread;
    uint64_t java_id;
    uint64_t rests_ns; /* after each round */
    _Atomic uint64_t rounds;
    _Atomic bool over;
};

static void *work(void *context)
{
    struct worker *worker = context;
    struct kernel_thread *kernel_thread = kernel_thread_table__enter(&worker->world->table);
    (void)start_java(kernel_thread, "worker", worker->java_id);
    while (!worker->over) {
        kernel_thread__enter(kernel_thread, 'A');
        for (int i = 0; i < 100; i++) {
            kernel_thread__enter(kernel_thread, 'B');
            spin_a_little();
            kernel_thread__leave(kernel_thread, 'B');
        }
        kernel_thread__leave(kernel_thread, 'A');
        worker->rounds++;
        if (worker->rests_ns > 0)
            nap(worker->rests_ns);
    }
    kernel_thread__end_java(kernel_thread);
    return NULL;
}

static int start_workers(struct java_world *world, struct worker workers[WORKERS])
{
    for (uint64_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.world = world, .java_id = i + 1, .rests_ns = i == 0 ? MS : 0};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return -1;
    }
    return 0;
}

static void end_workers(struct worker workers[WORKERS])
{
    for (int i = 0; i < WORKERS; i++)
        workers[i].over = true;
    for (int i = 0; i < WORKERS; i++)
        (void)pthread_join(workers[i].thread, NULL);
}

static struct ledger_reader *open_snapshot(const char *path)
{
    char message[256] = "";
    struct ledger_reader *reader = ledger_reader__open(path, message, sizeof message);
    if (reader == NULL)
        fail_msg("%s", message);
    assert_int_equal(ledger_reader__life(reader), LEDGER_IS_CLOSED);
    if (ledger_reader__skipped(reader) > 0)
        fail_msg("%s", ledger_reader__skipped_where(reader));
    return reader;
}

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

static bool all_work(const struct worker workers[WORKERS])
{
    for (int i = 0; i < WORKERS; i++)
        if (workers[i].rounds < 2)
            return false;
    return true;
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

/* The live ledger itself is left as it was. */
static void a_snapshot_is_private_and_the_ledger_stays_live(void **state)
{
    (void)state;
    struct stat file;
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    uint32_t chunks = world->ledger.header->chunks_used;
    assert_int_equal(snapshot__write(world->ledger.fd, target), 0);
    assert_int_equal(lstat(target, &file), 0);
    assert_int_equal(file.st_mode, S_IFREG | 0600);
    assert_int_equal(file.st_size % (off_t)CHUNK, 0);
    assert_int_equal(world->ledger.header->state, LEDGER_LIVE);
    assert_int_equal(world->ledger.header->chunks_used, chunks);
    struct ledger_reader *reader = open_snapshot(target);
    assert_int_equal(ledger_reader__header(reader)->chunks_used * CHUNK, file.st_size);
    ledger_reader__close(reader);
    /* An older one under the same name is replaced. */
    assert_int_equal(snapshot__write(world->ledger.fd, target), 0);
    assert_int_equal(count_files(folder), 1);
}

/* The head of the kernel threads' chunk says that they go on into a string, whose bytes are those
 * of a kernel thread that runs: settling would write what the kernel says of it into the string. */
static void a_head_that_lies_moves_nobody_to_write_elsewhere(void **state)
{
    (void)state;
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    struct ledger *ledger = &world->ledger;
    uint32_t cells = sizeof(struct ledger_kernel_thread) / LEDGER_CELL_BYTES;
    char text[40000];
    memset(text, 'x', sizeof text);
    struct kernel_thread *mine = kernel_thread_table__enter(&world->table);
    assert_int_equal(start_java(mine, "main", 1), 0);
    struct ledger_arena arena = {0};
    ledger_ref own = ledger__take(ledger, &arena, LEDGER_KERNEL_THREADS, cells);
    ledger_ref string = ledger__string(ledger, text, sizeof text);
    assert_int_equal(string, own + LEDGER_CHUNK_CELLS);

    /* The first that the walk comes to behind its chunk. */
    ledger_ref beyond = own;
    while (beyond <= string)
        beyond += cells;
    struct ledger_kernel_thread *fake = ledger__at(ledger, beyond);
    *fake = *(struct ledger_kernel_thread *)ledger__at(
        ledger, ledger__next(ledger, LEDGER_KERNEL_THREADS, 0));
    struct ledger_kernel_thread before = *fake;
    ((struct ledger_chunk *)ledger__at(ledger, own - 1))->used_cells = 600;
    assert_int_equal(snapshot__write(ledger->fd, target), 0);

    struct ledger_kernel_thread after;
    int fd = open(target, O_RDONLY | O_CLOEXEC);
    off_t offset = (off_t)((char *)fake - ledger->base);
    assert_int_equal(pread(fd, &after, sizeof after, offset), sizeof after);
    assert_memory_equal(&after, &before, sizeof after);
    (void)close(fd);
    char message[256];
    struct ledger_reader *reader = ledger_reader__open(target, message, sizeof message);
    assert_non_null(reader);
    assert_int_not_equal(ledger_reader__skipped(reader), 0);
    ledger_reader__close(reader);
}

/* 64 MiB are said to be in use, of which hardly any are there. */
static void what_is_hardly_there_is_not_copied(void **state)
{
    (void)state;
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    struct ledger_header header = *world->ledger.header;
    int fd = memfd_create("sparse", MFD_CLOEXEC);
    header.chunks_used = 16384;
    assert_int_equal(write(fd, &header, sizeof header), sizeof header);
    assert_int_equal(ftruncate(fd, 64 * MIB), 0);
    assert_int_equal(snapshot__write(fd, target), -EINVAL);
    (void)close(fd);
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

/* The pid in the header is a process that lives, but another one: it began at another time. */
static void a_process_that_got_the_pid_of_another_is_not_asked(void **state)
{
    (void)state;
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    world->ledger.header->start_ticks--;
    assert_int_not_equal(snapshot__write(world->ledger.fd, target), 0);
}

static void what_is_no_live_ledger_is_refused(void **state)
{
    (void)state;
    char other[160];
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)snprintf(other, sizeof other, "%s.other", target);
    assert_int_equal(snapshot__write(fd, target), -EINVAL);
    (void)close(fd);
    fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(snapshot__write(fd, target), -EINVAL);
    (void)close(fd);
    assert_int_equal(snapshot__write(-1, target), -EINVAL);

    /* A snapshot is none. */
    assert_int_equal(snapshot__write(world->ledger.fd, target), 0);
    fd = open(target, O_RDONLY | O_CLOEXEC);
    assert_int_equal(snapshot__write(fd, other), -EINVAL);
    (void)close(fd);

    /* One that ends before its header says so. */
    world->ledger.header->chunks_used += 100000;
    assert_int_equal(snapshot__write(world->ledger.fd, other), -EINVAL);
    world->ledger.header->chunks_used -= 100000;
    assert_int_equal(count_files(folder), 1);
}

static void what_cannot_be_written_leaves_nothing_behind(void **state)
{
    (void)state;
    char path[512];
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    int fd = world->ledger.fd;
    (void)unlink(target);
    (void)snprintf(path, sizeof path, "%s/missing/x.ledger", folder);
    assert_int_equal(snapshot__write(fd, path), -ENOENT);
    assert_int_equal(snapshot__write(fd, "/dev/null/x.ledger"), -ENOTDIR);
    assert_true(snapshot__write(fd, "/proc/x.ledger") < 0);
    (void)snprintf(path, sizeof path, "%s/%0300d", folder, 0);
    assert_int_equal(snapshot__write(fd, path), -ENAMETOOLONG);
    assert_int_equal(count_files(folder), 0);

    /* A folder of that name stays. */
    (void)snprintf(path, sizeof path, "%s/folder", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(snapshot__write(fd, path), -EISDIR);
    assert_int_equal(count_files(folder), 1);
    assert_int_equal(rmdir(path), 0);
}

/* A pipe here, so that a fault does not cost the machine its /dev/null. */
static void a_device_or_a_pipe_is_not_replaced(void **state)
{
    (void)state;
    char pipe[512], link[512];
    struct stat is;
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    (void)unlink(target);
    (void)snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    (void)snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(symlink("pipe", link), 0);
    assert_int_equal(snapshot__write(world->ledger.fd, pipe), -ENOTSUP);
    assert_int_equal(snapshot__write(world->ledger.fd, link), -ENOTSUP);
    assert_int_equal(lstat(pipe, &is), 0);
    assert_true(S_ISFIFO(is.st_mode));
    assert_int_equal(lstat(link, &is), 0);
    assert_true(S_ISLNK(is.st_mode));
    assert_int_equal(count_files(folder), 2);
    assert_int_equal(unlink(pipe), 0);

    /* A link to nothing, or to a file, is replaced. */
    assert_int_equal(snapshot__write(world->ledger.fd, link), 0);
    assert_int_equal(lstat(link, &is), 0);
    assert_true(S_ISREG(is.st_mode));
    assert_int_equal(unlink(link), 0);
}

/* The longest name that a folder takes. */
static void a_name_of_255_bytes_can_be_written(void **state)
{
    (void)state;
    char path[512];
    struct java_world *world = java_world__make(MIB, 0, 0, false);
    (void)snprintf(path, sizeof path, "%s/%0255d", folder, 0);
    int error = snapshot__write(world->ledger.fd, path);
    (void)unlink(path);
    assert_int_equal(error, 0);
}

/* A disk with room for less than all, for all, and for something between: whole or not at all. */
static void a_full_disk_leaves_nothing_behind(void **state)
{
    (void)state;
    static struct worker workers[WORKERS];
    struct java_world *world = java_world__make(16 * MIB, 0, 0xff, false);
    struct small_disk disk;
    char path[128];
    assert_int_equal(start_workers(world, workers), 0);
    while (!all_work(workers))
        nap(MS);
    unsigned chunks = world->ledger.header->chunks_used;
    for (unsigned more = 0; more < 8; more++) {
        unsigned room = more == 0 ? 4 : chunks + more - 2;
        if (!small_disk__mount(&disk, room * 4)) {
            end_workers(workers);
            skip();
        }
        (void)snprintf(path, sizeof path, "%s/x.ledger", disk.folder);
        int error = snapshot__write(world->ledger.fd, path);
        assert_int_equal(count_files(disk.folder), error == 0);
        if (error == 0)
            ledger_reader__close(open_snapshot(path));
        else
            assert_int_equal(error, -ENOSPC);
        assert_true(room >= chunks || error != 0);
        small_disk__unmount(&disk);
    }
    end_workers(workers);
}

/* The ledger as a copy finds it when threads start while it is made: early chunks are copied late
 * enough to have refs to records that lie behind what the header said was in use. */
static int copy_with_refs_beyond(void)
{
    struct java_world *world = java_world__make(16 * MIB, 0, 0xff, false);
    struct kernel_thread *mine = kernel_thread_table__enter(&world->table);
    ledger_ref beyond = 0;
    if (mine == NULL || start_java(mine, "one", 1) != 0)
        return 1;
    kernel_thread__enter(mine, 'A');
    beyond = world->ledger.header->chunks_used * LEDGER_CHUNK_CELLS + 1;
    mine->record->thread = beyond;
    if (snapshot__write(world->ledger.fd, target) != 0)
        return 2;
    mine->record->thread = ledger__ref(&world->ledger, mine->thread);
    mine->tree.current->side = beyond;
    if (snapshot__write(world->ledger.fd, target) != 0)
        return 3;
    mine->tree.current->side = 0;
    mine->record->current = beyond;
    mine->tree.current->first_child = beyond;
    mine->tree.current->next_sibling = beyond + 1;
    if (snapshot__write(world->ledger.fd, target) != 0)
        return 4;
    /* And far behind, as no JVM ever would. */
    mine->record->current = UINT32_MAX;
    mine->tree.current->first_child = UINT32_MAX;
    mine->tree.current->side = UINT32_MAX;
    if (snapshot__write(world->ledger.fd, target) != 0)
        return 5;
    mine->record->current = ledger__ref(&world->ledger, mine->tree.current);
    if (snapshot__write(world->ledger.fd, target) != 0)
        return 6;
    mine->record->thread = UINT32_MAX;
    if (snapshot__write(world->ledger.fd, target) != 0)
        return 7;
    return 0;
}

static void refs_beyond_the_copy_are_not_followed(void **state)
{
    (void)state;
    assert_int_equal(run_child(copy_with_refs_beyond), 0);
}

/* Names that are made while the copy is: it has methods whose names lie in chunks that it has not,
 * and whose place new rows of the copy may take. */
#define LATE_NAMES 10

struct late_names {
    struct java_world *world;
    ledger_ref methods[LATE_NAMES]; /* their records stand at the ledger's end */
    int target_fd;
    int error;
    _Atomic bool copied;
};

static void *copy_it(void *context)
{
    struct late_names *late = context;
    late->error = snapshot__copy(late->world->ledger.fd, late->target_fd);
    late->copied = true;
    return NULL;
}

static off_t size_of(int fd)
{
    struct stat file;
    return fstat(fd, &file) == 0 ? file.st_size : -1;
}

static void name_late(struct late_names *late)
{
    static const char name[] = "late name";
    struct ledger *ledger = &late->world->ledger;
    for (int i = 0; i < LATE_NAMES; i++) {
        struct ledger_arena arena = {0}; /* a chunk for each */
        ledger_ref ref = ledger__take(ledger, &arena, LEDGER_STRINGS, 1);
        struct ledger_string *string = ledger__at(ledger, ref);
        struct ledger_method *method = ledger__at(ledger, late->methods[i]);
        assert_int_not_equal(ref, 0);
        memcpy(string->bytes, name, sizeof name - 1);
        string->length = sizeof name - 1;
        __atomic_store_n(&method->name, ref, __ATOMIC_RELEASE);
    }
}

/* False if it came too late. */
static bool copy_while_names_are_made(struct late_names *late)
{
    struct ledger *ledger = &late->world->ledger;
    struct ledger_arena nodes = {0};
    struct ledger_arena methods = {0};
    pthread_t thread;
    for (int i = 0; i < 500000; i++)
        assert_int_not_equal(ledger__take(ledger, &nodes, LEDGER_NODES, 1), 0);
    for (int i = 0; i < LATE_NAMES; i++) {
        late->methods[i] = ledger__take(ledger, &methods, LEDGER_METHODS, 1);
        ((struct ledger_method *)ledger__at(ledger, late->methods[i]))->key = 1000 + (uint64_t)i;
    }
    off_t whole = (off_t)(ledger->header->chunks_used * CHUNK);
    assert_int_equal(pthread_create(&thread, NULL, copy_it, late), 0);
    while (!late->copied && size_of(late->target_fd) < (off_t)CHUNK)
        ;
    name_late(late);
    bool in_time = size_of(late->target_fd) < whole;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(late->error, 0);
    return in_time;
}

static void what_is_named_meanwhile_gets_no_other_name(void **state)
{
    (void)state;
    bool in_time = false;
    for (int i = 0; i < 10 && !in_time; i++) {
        struct late_names late = {.world = java_world__make(64 * MIB, 0, 0, false)};
        (void)unlink(target);
        late.target_fd = open(target, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_true(late.target_fd >= 0);
        in_time = copy_while_names_are_made(&late);
        (void)close(late.target_fd);
        struct ledger_reader *reader = open_snapshot(target);
        for (int j = 0; j < LATE_NAMES; j++) {
            size_t length = 0;
            const struct ledger_method *method = ledger_reader__method(reader, late.methods[j]);
            assert_non_null(method);
            const char *bytes = ledger_reader__string(reader, method->name, &length);
            if (bytes != NULL && (length != 9 || memcmp(bytes, "late name", 9) != 0))
                fail_msg("its name is '%.*s'", (int)length, bytes);
        }
        ledger_reader__close(reader);
    }
    if (!in_time)
        print_message("the copy was always faster\n");
}

/* Threads that come and go while snapshots are taken; each with nodes and side records. */
struct churner {
    struct java_world *world;
    pthread_t thread;
    _Atomic bool *over;
};

static void *run_briefly(void *context)
{
    struct java_world *world = context;
    struct kernel_thread *mine = kernel_thread_table__enter(&world->table);
    if (mine == NULL || start_java(mine, "brief", 1000) != 0)
        return NULL;
    for (uint64_t i = 0; i < 40; i++) {
        kernel_thread__enter(mine, 1000 + i);
        nap(1);
    }
    kernel_thread__end_java(mine);
    return NULL;
}

static void *churn(void *context)
{
    struct churner *churner = context;
    while (!*churner->over) {
        pthread_t threads[8];
        int count = 0;
        while (count < 8 && pthread_create(&threads[count], NULL, run_briefly, churner->world) == 0)
            count++;
        while (count > 0)
            (void)pthread_join(threads[--count], NULL);
        nap(MS);
    }
    return NULL;
}

static int take_snapshots_of_churn(void)
{
    static struct churner churners[4];
    static _Atomic bool over;
    char message[256] = "";
    struct java_world *world = java_world__make(32 * MIB, 0, 0xff, false);
    int bad = 0;
    for (int i = 0; i < 4; i++) {
        churners[i] = (struct churner){.world = world, .over = &over};
        if (pthread_create(&churners[i].thread, NULL, churn, &churners[i]) != 0)
            return 1;
    }
    for (int i = 0; i < 15 && bad == 0; i++) {
        if (snapshot__write(world->ledger.fd, target) != 0)
            bad = 2;
        struct ledger_reader *reader = ledger_reader__open(target, message, sizeof message);
        if (reader == NULL || ledger_reader__life(reader) != LEDGER_IS_CLOSED)
            bad = 3;
        ledger_reader__close(reader);
    }
    over = true;
    for (int i = 0; i < 4; i++)
        (void)pthread_join(churners[i].thread, NULL);
    return bad;
}

static void threads_may_come_and_go_meanwhile(void **state)
{
    (void)state;
    assert_int_equal(run_child(take_snapshots_of_churn), 0);
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

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(target, sizeof target, "%s/x.ledger", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    const struct dirent *entry = NULL;
    DIR *dir = opendir(folder);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        (void)closedir(dir);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_expanded),
        cmocka_unit_test(patterns_have_the_time),
        cmocka_unit_test(paths_fit_or_are_refused),
        cmocka_unit_test(busy_threads_are_in_balance_twenty_times),
        cmocka_unit_test(a_snapshot_is_private_and_the_ledger_stays_live),
        cmocka_unit_test(a_head_that_lies_moves_nobody_to_write_elsewhere),
        cmocka_unit_test(what_is_hardly_there_is_not_copied),
        cmocka_unit_test(another_process_can_take_a_snapshot),
        cmocka_unit_test(a_process_that_got_the_pid_of_another_is_not_asked),
        cmocka_unit_test(what_is_no_live_ledger_is_refused),
        cmocka_unit_test(what_cannot_be_written_leaves_nothing_behind),
        cmocka_unit_test(a_device_or_a_pipe_is_not_replaced),
        cmocka_unit_test(a_name_of_255_bytes_can_be_written),
        cmocka_unit_test(a_full_disk_leaves_nothing_behind),
        cmocka_unit_test(refs_beyond_the_copy_are_not_followed),
        cmocka_unit_test(what_is_named_meanwhile_gets_no_other_name),
        cmocka_unit_test(threads_may_come_and_go_meanwhile),
        cmocka_unit_test(a_thread_on_its_way_out_is_not_counted_twice),
        cmocka_unit_test(a_first_thread_that_ended_is_not_counted_twice),
        cmocka_unit_test(reading_metrics_is_not_charged_to_the_thread),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
