/* Where snapshots are written to: whole or not at all, and nothing left behind where they cannot be
 * written. */
#include "busy_workers.h"
#include "small_disk.h"
#include "taken_snapshot.h"

#include <errno.h>
#include <sys/stat.h>

#define MIB (UINT64_C(1) << 20)

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_written_leaves_nothing_behind),
        cmocka_unit_test(a_device_or_a_pipe_is_not_replaced),
        cmocka_unit_test(a_name_of_255_bytes_can_be_written),
        cmocka_unit_test(a_full_disk_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
