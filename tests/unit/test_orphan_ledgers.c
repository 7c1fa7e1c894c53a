/* What killed processes left is removed beyond a number and an age; what may be in use is not. */
#include "native/ledger/ledger.h"
#include "native/ledger/orphan_ledgers.h"
#include "native/proc/process_stat.h"
#include "native/timeline/timeline.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

#define GONE 4194999 /* beyond the largest pid */
#define HOUR 3600

static char folder[] = "/tmp/treadle-orphans-XXXXXX";

/* A ledger whose process is gone, and that was written so many seconds ago. */
static struct ledger leave(long seconds_ago)
{
    struct ledger ledger;
    struct timespec now;
    assert_int_equal(ledger__create(&ledger, folder, 1u << 20), 0);
    ledger.header->pid = GONE;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= seconds_ago;
    const struct timespec times[2] = {now, now};
    assert_int_equal(futimens(ledger.fd, times), 0);
    return ledger;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void the_newest_are_kept(void **state)
{
    (void)state;
    char paths[20][4096];
    for (int i = 0; i < 20; i++) {
        struct ledger ledger = leave(i * HOUR + 10);
        memcpy(paths[i], ledger.path, sizeof paths[i]);
        ledger__close(&ledger);
    }
    assert_int_equal(orphan_ledgers__tidy(folder), 10);
    for (int i = 0; i < 20; i++)
        assert_int_equal(is_there(paths[i]), i < 10);
    assert_int_equal(orphan_ledgers__tidy(folder), 0);
    for (int i = 0; i < 10; i++)
        assert_true(orphan_ledger__remove(paths[i]));
    assert_false(orphan_ledger__remove(paths[0]));
}

static void the_old_are_not(void **state)
{
    (void)state;
    struct ledger young = leave(6 * 24 * HOUR), old = leave(8 * 24 * HOUR);
    char young_path[4096], old_path[4096];
    memcpy(young_path, young.path, sizeof young_path);
    memcpy(old_path, old.path, sizeof old_path);
    ledger__close(&young);
    ledger__close(&old);
    assert_int_equal(orphan_ledgers__tidy(folder), 1);
    assert_true(is_there(young_path));
    assert_false(is_there(old_path));
    assert_true(orphan_ledger__remove(young_path));
}

/* Its pid may be that of another namespace: who writes it holds it open. */
static void what_is_open_stays(void **state)
{
    (void)state;
    struct ledger ledger = leave(30 * 24 * HOUR);
    assert_int_equal(orphan_ledgers__tidy(folder), 0);
    assert_false(orphan_ledger__remove(ledger.path));
    assert_true(is_there(ledger.path));
    ledger__unlink(&ledger);
    ledger__close(&ledger);
}

static void what_is_no_orphan_stays(void **state)
{
    (void)state;
    struct ledger own = leave(30 * 24 * HOUR), other = leave(30 * 24 * HOUR);
    char path[4096], junk[128], link[128];
    /* The process runs; another format; no ledger; a link. */
    own.header->pid = getpid();
    assert_int_equal(process_start__read(getpid(), &own.header->start_ticks), 0);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, own.header->boot_id, 36) == 36);
    (void)close(fd);
    other.header->format_version++;
    memcpy(path, other.path, sizeof path);
    (void)snprintf(junk, sizeof junk, "%s/treadle-1-junk.live", folder);
    (void)snprintf(link, sizeof link, "%s/treadle-1-link.live", folder);
    fd = open(junk, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "junk", 4), 4);
    (void)close(fd);
    assert_int_equal(symlink(own.path, link), 0);
    char own_path[4096];
    memcpy(own_path, own.path, sizeof own_path);
    ledger__close(&own);
    ledger__close(&other);
    assert_int_equal(orphan_ledgers__tidy(folder), 0);
    assert_false(orphan_ledger__remove(own_path));
    assert_false(orphan_ledger__remove(path));
    assert_false(orphan_ledger__remove(junk));
    assert_false(orphan_ledger__remove(link));
    const char *const left[] = {own_path, path, junk, link};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(unlink(left[i]), 0);
}

/* As when its process ends. */
static void leave_off(struct timeline *timeline)
{
    (void)close(timeline->fd);
    assert_int_equal(munmap(atomic_load(&timeline->header), timeline->mapped_bytes), 0);
}

/* Beside the ledger of that name, "" for none; written so many seconds ago. */
static struct timeline *begin_timeline(char path[4096], const char *ledger, long seconds_ago)
{
    static struct timeline timeline;
    static bool is_on;
    struct timeline_wish wish = {.bytes = TIMELINE_BYTES_LEAST, .for_ns = UINT64_C(1) << 40};
    struct timespec now;
    if (*ledger)
        (void)snprintf(path, 4096, "%.*s.timeline", (int)strlen(ledger) - 5, ledger);
    else
        (void)snprintf(path, 4096, "%s/treadle-7-%ld.timeline", folder, seconds_ago);
    timeline = (struct timeline){.on = &is_on};
    assert_int_equal(timeline__begin(&timeline, path, &wish), 0);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= seconds_ago;
    const struct timespec times[2] = {now, now};
    assert_int_equal(futimens(timeline.fd, times), 0);
    return &timeline;
}

/* With its ledger, whose process is gone; or alone, once nobody writes it. */
static void timelines_are_orphans_too(void **state)
{
    (void)state;
    char with[4096], of_living[4096], young[4096], old[4096], open_one[4096], junk[128];
    struct ledger dead = leave(8 * 24 * HOUR), living = leave(0);
    char living_path[4096];
    living.header->pid = getpid();
    assert_int_equal(process_start__read(getpid(), &living.header->start_ticks), 0);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, living.header->boot_id, 36) == 36);
    (void)close(fd);
    memcpy(living_path, living.path, sizeof living_path);
    leave_off(begin_timeline(with, dead.path, 8 * 24 * HOUR));
    leave_off(begin_timeline(of_living, living.path, 8 * 24 * HOUR));
    leave_off(begin_timeline(young, "", 6 * 24 * HOUR));
    leave_off(begin_timeline(old, "", 8 * 24 * HOUR));
    struct timeline *written = begin_timeline(open_one, "", 9 * 24 * HOUR);
    (void)snprintf(junk, sizeof junk, "%s/treadle-7-junk.timeline", folder);
    fd = open(junk, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "TRDTIMES", 8), 8);
    (void)close(fd);
    ledger__close(&dead);
    ledger__close(&living);
    assert_int_equal(orphan_ledgers__tidy(folder), 2);
    assert_false(is_there(with) || is_there(old));
    assert_true(is_there(of_living) && is_there(young) && is_there(open_one) && is_there(junk));
    assert_false(orphan_ledger__remove(of_living));
    assert_false(orphan_ledger__remove(open_one));
    assert_false(orphan_ledger__remove(junk));
    assert_true(orphan_ledger__remove(young));
    leave_off(written);
    assert_true(orphan_ledger__remove(open_one));
    assert_int_equal(unlink(junk) | unlink(living_path), 0);
    assert_true(orphan_ledger__remove(of_living));
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_are_kept),       cmocka_unit_test(the_old_are_not),
        cmocka_unit_test(what_is_open_stays),        cmocka_unit_test(what_is_no_orphan_stays),
        cmocka_unit_test(timelines_are_orphans_too),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
