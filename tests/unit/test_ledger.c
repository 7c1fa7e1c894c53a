/* The ledger's writer: making the file, growing it, handing out records, when nothing is left. */
#include "child.h"
#include "ledger_racers.h"
#include "small_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PER_RUN (LEDGER_CHUNK_CELLS - 1)

static char folder[] = "/tmp/treadle-ledger-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void check_new_file(mode_t mask)
{
    struct ledger ledger;
    struct stat file;
    char beginning[128];
    mode_t before = umask(mask);
    int error = ledger__create(&ledger, folder, MIB);
    (void)umask(before);
    assert_int_equal(error, 0);
    assert_int_equal(lstat(ledger.path, &file), 0);
    assert_int_equal(file.st_mode, S_IFREG | 0600);
    (void)snprintf(beginning, sizeof beginning, "%s/treadle-%d-", folder, (int)getpid());
    assert_memory_equal(ledger.path, beginning, strlen(beginning));
    const char *random = ledger.path + strlen(beginning);
    assert_int_equal(strspn(random, "0123456789abcdef"), 16);
    assert_string_equal(random + 16, ".live");
    assert_int_equal(count_files(folder), 1);
    ledger__unlink(&ledger);
    assert_int_equal(count_files(folder), 0);
    ledger__close(&ledger);
}

static void file_is_for_its_user_only(void **state)
{
    (void)state;
    check_new_file(0);
    check_new_file(0777);
}

/* A host that closes all its descriptors has the lowest number for its next file. */
static void a_file_that_the_host_closed_is_opened_at_no_lower_number(void **state)
{
    (void)state;
    struct ledger ledger;
    assert_int_equal(ledger__create(&ledger, folder, MIB), 0);
    int had = fcntl(ledger.fd, F_DUPFD_CLOEXEC, 60), lowest;
    close(ledger.fd);
    ledger.fd = had;
    lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(lowest);
    assert_in_range(lowest, 0, had - 1);
    close(had);
    int fd = ledger__file(&ledger);
    assert_true(fd >= had);
    assert_int_equal(ledger__file(&ledger), fd);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(next, lowest);
    close(next);
    ledger__unlink(&ledger);
    ledger__close(&ledger);
}

static void header_says_what_it_is(void **state)
{
    (void)state;
    struct ledger ledger;
    create(&ledger, MIB + 4095);
    const struct ledger_header *header = ledger.header;
    assert_memory_equal(header->magic, "TREADLE\n", 8);
    assert_int_equal(header->format_version, 14);
    assert_int_equal(header->byte_order, 0x01020304);
    assert_int_equal(header->cell_bytes, 64);
    assert_int_equal(header->chunk_bytes, 4096);
    assert_int_equal(header->state, LEDGER_LIVE);
    assert_int_equal(header->chunks_used, 1);
    assert_int_equal(header->max_bytes, MIB);
    assert_int_equal(header->pid, getpid());
    assert_int_equal(header->uid, getuid());
    assert_int_equal(header->full_error, 0);
    assert_string_equal(ledger.path, "");
    ledger__unlink(&ledger);
    ledger__close(&ledger);
    assert_int_equal(ledger.fd, -1);

    create(&ledger, 0);
    assert_int_equal(ledger.header->max_bytes, 64 * KIB);
    ledger__close(&ledger);
}

static void refused_folders_give_a_reason_and_leave_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *folder;
        int error;
    } cases[] = {
        {"/tmp/treadle-no-such-folder", -ENOENT},
        {"/proc/self/stat", -ENOTDIR},
        {"/dev/null", -ENOTDIR},
    };
    struct ledger ledger;
    char name[5000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(ledger__create(&ledger, cases[i].folder, MIB), cases[i].error);
        assert_int_equal(ledger.fd, -1);
    }
    assert_true(ledger__create(&ledger, "/proc/self/fdinfo", MIB) < 0);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(ledger__create(&ledger, name, MIB), -ENAMETOOLONG);
    name[300] = '\0';
    name[0] = '/';
    assert_int_equal(ledger__create(&ledger, name, MIB), -ENAMETOOLONG);
}

static int create_as_nobody(void)
{
    struct ledger ledger;
    if (chmod(folder, 0755) != 0 || setuid(65534) != 0)
        return 77;
    return -ledger__create(&ledger, folder, MIB);
}

static void a_folder_of_somebody_else_is_refused(void **state)
{
    (void)state;
    if (getuid() != 0) {
        print_message("only root can become somebody else\n");
        skip();
    }
    assert_int_equal(run_child(create_as_nobody), EACCES);
    assert_int_equal(count_files(folder), 0);
}

/* Takes nodes until there are none, and fills each: their number. */
static unsigned take_all(struct ledger *ledger, struct ledger_arena *arena)
{
    unsigned count = 0;
    ledger_ref ref = 0;
    while ((ref = ledger__take(ledger, arena, LEDGER_NODES, 1)) != 0) {
        memset(ledger__at(ledger, ref), 0xa5, sizeof(struct ledger_node));
        count++;
    }
    return count;
}

static int take_within_a_file_limit(void)
{
    const struct rlimit limit = {300 * KIB, 300 * KIB};
    struct ledger ledger;
    struct ledger_arena arena = {0};
    /* As a JVM has it. */
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    if (ledger__create(&ledger, folder, MIB) != 0)
        return 2;
    ledger__unlink(&ledger);
    if (take_all(&ledger, &arena) != (300 / 4 - 1) * PER_RUN)
        return 3;
    return ledger.header->full_error == EFBIG ? 0 : 4;
}

static void a_limit_on_files_is_a_full_ledger(void **state)
{
    (void)state;
    assert_int_equal(run_child(take_within_a_file_limit), 0);
}

/* Many more than the first reservation holds, each with its own number. */
static void records_are_zero_apart_and_stay(void **state)
{
    (void)state;
    enum { NODES = 10000 };
    struct ledger ledger;
    struct ledger_arena arena = {0};
    create(&ledger, 16 * MIB);
    ledger_ref *refs = calloc(NODES, sizeof *refs);
    assert_non_null(refs);
    for (unsigned i = 0; i < NODES; i++) {
        static const struct ledger_node zero;
        refs[i] = ledger__take(&ledger, &arena, LEDGER_NODES, 1);
        assert_int_not_equal(refs[i], 0);
        struct ledger_node *node = ledger__at(&ledger, refs[i]);
        assert_int_equal(ledger__ref(&ledger, node), refs[i]);
        assert_memory_equal(node, &zero, sizeof zero);
        node->calls = i + 1;
    }
    for (unsigned i = 0; i < NODES; i++)
        assert_int_equal(((struct ledger_node *)ledger__at(&ledger, refs[i]))->calls, i + 1);
    /* 63 nodes a chunk, and the header. */
    assert_int_equal(ledger.header->chunks_used, 1 + (NODES + PER_RUN - 1) / PER_RUN);
    assert_true(ledger.chunks_reserved >= ledger.header->chunks_used);
    struct stat file;
    assert_int_equal(fstat(ledger.fd, &file), 0);
    assert_true((uint64_t)file.st_size >= ledger.header->chunks_used * 4 * KIB);
    free(refs);
    ledger__close(&ledger);
}

/* 64 KiB: 16 chunks, one the header, 63 nodes in each other. */
static void a_full_ledger_gives_none(void **state)
{
    (void)state;
    static const struct ledger_method_names names = {"C", "m", "()V", "C.java"};
    struct ledger ledger;
    struct ledger_arena arena = {0};
    struct ledger_thread thread = {0};
    create(&ledger, 64 * KIB);
    assert_int_equal(take_all(&ledger, &arena), 15 * PER_RUN);
    assert_int_equal(ledger.header->full_error, ENOMEM);
    assert_int_equal(ledger.header->chunks_used, 16);
    for (int table = LEDGER_STRINGS; table < LEDGER_TABLES; table++)
        assert_int_equal(ledger__take_shared(&ledger, (enum ledger_table)table, 1), 0);
    assert_int_equal(ledger__take_shared(&ledger, LEDGER_STRINGS, 1000), 0);
    assert_int_equal(ledger__string(&ledger, "lost", 4), 0);
    assert_int_equal(ledger__add_method(&ledger, 1, &names, 0), 0);
    assert_int_equal(ledger__find_method(&ledger, 1), 0);
    ledger__rename_thread(&ledger, &thread, "lost", 4, 1);
    assert_int_equal(thread.renames, 0);
    /* There is no more to reserve, and that is no error; nor is there more to take. */
    assert_int_equal(ledger__reserve_ahead(&ledger, MIB), 0);
    assert_int_equal(take_all(&ledger, &arena), 0);
    assert_int_equal(ledger.header->chunks_used, 16);
    ledger__close(&ledger);
}

/* A string that finds no room must not take away what smaller records could still have. */
static void a_large_record_that_does_not_fit_leaves_the_rest(void **state)
{
    (void)state;
    static char text[60000];
    struct ledger ledger;
    struct ledger_arena arena = {0};
    create(&ledger, 64 * KIB);
    memset(text, 'x', sizeof text);
    assert_int_not_equal(ledger__take(&ledger, &arena, LEDGER_NODES, 1), 0);
    assert_int_equal(ledger__string(&ledger, text, sizeof text), 0);
    assert_int_equal(take_all(&ledger, &arena), 15 * PER_RUN - 1);
    ledger__close(&ledger);
}

static void a_full_folder_is_noted(void **state)
{
    (void)state;
    struct small_disk disk;
    struct ledger ledger;
    struct ledger_arena arena = {0};
    if (!small_disk__mount(&disk, 1024))
        skip();
    assert_int_equal(ledger__create(&ledger, disk.folder, 16 * MIB), 0);
    small_disk__fill(&disk);
    /* What is reserved already, 256 KiB, is ours: 64 chunks, one the header. */
    assert_int_equal(take_all(&ledger, &arena), 63 * PER_RUN);
    assert_int_equal(ledger.header->full_error, ENOSPC);
    assert_int_equal(ledger__reserve_ahead(&ledger, 64 * KIB), -ENOSPC);
    assert_int_equal(take_all(&ledger, &arena), 0);

    /* Somebody made room. */
    small_disk__free(&disk);
    assert_int_equal(ledger__reserve_ahead(&ledger, 64 * KIB), 0);
    unsigned more = take_all(&ledger, &arena);
    assert_true(more >= 16 * PER_RUN && more % PER_RUN == 0);
    assert_int_equal(ledger.header->full_error, ENOSPC);
    ledger__unlink(&ledger);
    ledger__close(&ledger);

    small_disk__fill(&disk);
    assert_int_equal(ledger__create(&ledger, disk.folder, 16 * MIB), -ENOSPC);
    assert_int_equal(count_files(disk.folder), 1);
    small_disk__unmount(&disk);
}

static void reserving_ahead_takes_nothing(void **state)
{
    (void)state;
    struct ledger ledger;
    create(&ledger, 4 * MIB);
    assert_int_equal(ledger__reserve_ahead(&ledger, 2 * MIB), 0);
    assert_true(ledger.chunks_reserved >= 2 * MIB / (4 * KIB));
    assert_int_equal(ledger.header->chunks_used, 1);
    assert_int_equal(ledger__reserve_ahead(&ledger, 64 * MIB), 0);
    assert_int_equal(ledger.chunks_reserved, 4 * MIB / (4 * KIB));
    ledger__close(&ledger);
}

static void unlink_takes_away_its_own_file_only(void **state)
{
    (void)state;
    struct ledger ledger;
    char path[sizeof ledger.path];
    assert_int_equal(ledger__create(&ledger, folder, MIB), 0);
    memcpy(path, ledger.path, sizeof path);
    assert_int_equal(unlink(path), 0);
    int other = open(path, O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0600);
    assert_true(other >= 0);
    ledger__unlink(&ledger);
    assert_int_equal(access(path, F_OK), 0);

    /* Nor what a link leads to. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/proc/self/exe", path), 0);
    ledger__unlink(&ledger);
    assert_int_equal(unlink(path), 0);
    ledger__unlink(&ledger);
    (void)close(other);
    ledger__close(&ledger);
    assert_int_equal(count_files(folder), 0);
}

/* A copy with one node in its second chunk: more can be added behind, in memory, and the file has
 * it when it is written back. */
static void a_copy_can_be_added_to(void **state)
{
    (void)state;
    struct ledger ledger;
    struct ledger copy;
    struct ledger_arena arena = {0};
    struct ledger_node written;
    create(&ledger, MIB);
    ledger_ref first = ledger__take(&ledger, &arena, LEDGER_NODES, 1);
    assert_int_equal(ledger__adopt(&copy, ledger.fd, 2 * 4 * KIB, 64 * KIB), 0);
    arena = (struct ledger_arena){0};
    ledger_ref second = ledger__take(&copy, &arena, LEDGER_NODES, 1);
    assert_int_equal(second, 2 * LEDGER_CHUNK_CELLS + 1);
    assert_int_equal(ledger__next(&copy, LEDGER_NODES, 0), first);
    assert_int_equal(ledger__next(&copy, LEDGER_NODES, first), second);
    struct ledger_node *old = ledger__at(&copy, first);
    old->calls = 17;
    ledger__touch(&copy, old);
    assert_int_equal(take_all(&copy, &arena), 16 * PER_RUN - 1);
    assert_int_equal(((struct ledger_node *)ledger__at(&ledger, first))->calls, 0);
    assert_int_equal(ledger.header->chunks_used, 2);

    assert_int_equal(ledger__write_back(&copy, ledger.fd), 0);
    assert_int_equal(ledger.header->chunks_used, 18);
    assert_int_equal(pread(ledger.fd, &written, sizeof written, (off_t)first * 64), 64);
    assert_int_equal(written.calls, 17);
    assert_int_equal(pread(ledger.fd, &written, sizeof written, 17 * 4096 + 63 * 64), 64);
    assert_int_equal(written.key, 0xa5a5a5a5a5a5a5a5);
    ledger__close(&copy);
    ledger__close(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_is_for_its_user_only),
        cmocka_unit_test(a_file_that_the_host_closed_is_opened_at_no_lower_number),
        cmocka_unit_test(header_says_what_it_is),
        cmocka_unit_test(refused_folders_give_a_reason_and_leave_nothing),
        cmocka_unit_test(a_folder_of_somebody_else_is_refused),
        cmocka_unit_test(a_limit_on_files_is_a_full_ledger),
        cmocka_unit_test(records_are_zero_apart_and_stay),
        cmocka_unit_test(a_full_ledger_gives_none),
        cmocka_unit_test(a_large_record_that_does_not_fit_leaves_the_rest),
        cmocka_unit_test(a_full_folder_is_noted),
        cmocka_unit_test(reserving_ahead_takes_nothing),
        cmocka_unit_test(unlink_takes_away_its_own_file_only),
        cmocka_unit_test(a_copy_can_be_added_to),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
