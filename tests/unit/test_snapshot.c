/* Snapshots of live ledgers: whole, private, and of nothing else, also when records are made and
 * threads come and go meanwhile. */
#include "burn.h"
#include "child.h"
#include "java_world.h"
#include "native/thread/kernel_thread_events.h"
#include "small_disk.h"
#include "taken_snapshot.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MIB   (UINT64_C(1) << 20)
#define CHUNK UINT64_C(4096)

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_is_private_and_the_ledger_stays_live),
        cmocka_unit_test(a_head_that_lies_moves_nobody_to_write_elsewhere),
        cmocka_unit_test(what_is_hardly_there_is_not_copied),
        cmocka_unit_test(a_process_that_got_the_pid_of_another_is_not_asked),
        cmocka_unit_test(what_is_no_live_ledger_is_refused),
        cmocka_unit_test(refs_beyond_the_copy_are_not_followed),
        cmocka_unit_test(what_is_named_meanwhile_gets_no_other_name),
        cmocka_unit_test(threads_may_come_and_go_meanwhile),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
