/*
 * The reader of a timeline's file, which anybody may have written: a file that was changed is read
 * within its bounds, sizes that lie are refused, and what is no file of events is not opened.
 */
#include "native/timeline/timeline.h"
#include "native/timeline/timeline_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define HOUR_NS UINT64_C(3600000000000)
#define HOSTILE 3000u

struct world {
    char folder[64];
    char path[128];
    bool on;
    struct timeline timeline;
    struct timeline_reader reader;
    char message[256];
    uint64_t seen;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));

    strcpy(world->folder, "/tmp/timeline-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->path, sizeof(world->path), "%s/x.timeline", world->folder);
    world->timeline.on = &world->on;
    world->reader.fd = -1;
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    (void)timeline__end(&world->timeline);
    timeline_reader__end(&world->reader);
    unlink(world->path);
    rmdir(world->folder);
    free(world);
    return 0;
}

static void begin(struct world *world)
{
    struct timeline_wish wish = {
        .bytes = TIMELINE_BYTES_LEAST, .for_ns = HOUR_NS, .calls_above_ns = 1000};

    assert_int_equal(timeline__begin(&world->timeline, world->path, &wish), 0);
}

static void write_event(struct world *world, int32_t tid, uint8_t thread_kind)
{
    struct timeline_event event = {
        .kind = TIMELINE_LOCK, .thread_kind = thread_kind, .tid = tid, .at_ns = 1};

    timeline__write(&world->timeline, &event);
}

static void ignore(void *context, const struct timeline_event *event)
{
    struct world *world = context;

    assert_true(event->kind >= TIMELINE_THREAD && event->kind <= TIMELINE_PREEMPTED);
    world->seen++;
}

static void damage(int fd, uint64_t bytes, unsigned *seed)
{
    for (unsigned i = 0; i < 1u + (unsigned)rand_r(seed) % 20; i++) {
        uint64_t at = (uint64_t)rand_r(seed) % (i % 2 ? bytes : 4200);
        uint64_t value =
            rand_r(seed) % 3 ? (uint64_t)rand_r(seed) : UINT64_MAX >> rand_r(seed) % 64;

        assert_true(pwrite(fd, &value, 1u + (unsigned)rand_r(seed) % 8, (off_t)at) > 0);
    }
    if (rand_r(seed) % 4 == 0)
        assert_int_equal(ftruncate(fd, (off_t)((uint64_t)rand_r(seed) % bytes)), 0);
}

/* Whatever stands in the file, a drain ends, and passes on no more than the file has room for. */
static void hostile_files_are_read_within_bounds(void **state)
{
    struct world *world = *state;
    const struct ledger_complaint to = {"x", world->message, sizeof(world->message)};
    char *whole;
    unsigned seed = 42;
    struct stat file;
    int fd;

    begin(world);
    for (unsigned i = 0; i < 1000; i++)
        write_event(world, 4, THREAD_PLATFORM);
    fd = open(world->path, O_RDWR | O_CLOEXEC);
    assert_int_equal(fstat(fd, &file), 0);
    whole = malloc((size_t)file.st_size);
    assert_int_equal(pread(fd, whole, (size_t)file.st_size, 0), file.st_size);
    close(fd);
    assert_int_equal(timeline__end(&world->timeline), 0);
    for (unsigned i = 0; i < HOSTILE; i++) {
        int hostile = open(world->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_int_equal(pwrite(hostile, whole, (size_t)file.st_size, 0), file.st_size);
        damage(hostile, (uint64_t)file.st_size, &seed);
        world->seen = 0;
        if (timeline_reader__begin(&world->reader, hostile, &to) != 0) {
            assert_true(strlen(world->message) > 5);
            close(hostile);
            continue;
        }
        timeline_reader__drain(&world->reader, false, ignore, world);
        damage(hostile, 4096, &seed);
        timeline_reader__drain(&world->reader, true, ignore, world);
        assert_true(world->seen <= 2u * (uint64_t)file.st_size / sizeof(struct timeline_event));
        timeline_reader__end(&world->reader);
    }
    free(whole);
}

/* Writes a file of one event of a thread, claiming so many lanes and events in each of them. */
static int draw(const struct world *world, uint32_t lanes, uint32_t lane_events,
                uint64_t file_bytes)
{
    struct timeline_header header = {.magic = TIMELINE_MAGIC,
                                     .version = TIMELINE_VERSION,
                                     .byte_order = TIMELINE_BYTE_ORDER,
                                     .lanes = lanes,
                                     .lane_events = lane_events,
                                     .began_ns = 5};
    int fd = open(world->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(ftruncate(fd, (off_t)file_bytes), 0);
    return fd;
}

/* Whatever space a file claims to have, there is no more to read than an agent ever writes. */
static void sizes_that_lie(void **state)
{
    struct world *world = *state;
    const struct ledger_complaint to = {"x", world->message, sizeof(world->message)};
    uint32_t most = (uint32_t)(TIMELINE_BYTES_MOST / sizeof(struct timeline_event));
    int fd = draw(world, TIMELINE_LANES_MAX, 1u << 26, UINT64_C(1) << 39);

    assert_int_equal(timeline_reader__begin(&world->reader, fd, &to), -1);
    assert_non_null(strstr(world->message, "67108864 events in a lane, expected 1, 2, … 262144"));
    close(fd);
    fd = draw(world, 1, most, TIMELINE_BYTES_MOST + sizeof(struct timeline_header));
    assert_int_equal(timeline_reader__begin(&world->reader, fd, &to), 0);
}

/* The writer of a live file may change the header. How long, and since when, stays as it was. */
static void a_header_that_changes(void **state)
{
    struct world *world = *state;
    const struct ledger_complaint to = {"x", world->message, sizeof(world->message)};
    int fd = draw(world, 1, 4, sizeof(struct timeline_header) + 4 * sizeof(struct timeline_event));
    uint32_t many = 1u << 20;
    uint64_t never = UINT64_MAX;

    assert_int_equal(timeline_reader__begin(&world->reader, fd, &to), 0);
    assert_int_equal(pwrite(fd, &many, sizeof(many), offsetof(struct timeline_header, lane_events)),
                     sizeof(many));
    assert_int_equal(pwrite(fd, &never, sizeof(never), offsetof(struct timeline_header, began_ns)),
                     sizeof(never));
    timeline_reader__drain(&world->reader, true, ignore, world);
    assert_int_equal(world->reader.header.lane_events, 4);
    assert_int_equal(world->reader.header.began_ns, 5);
}

static void events_of_nobody_make_no_sense(void **state)
{
    struct world *world = *state;
    const struct ledger_complaint to = {"x", world->message, sizeof(world->message)};

    begin(world);
    write_event(world, 0, THREAD_PLATFORM);
    write_event(world, -7, THREAD_PLATFORM);
    write_event(world, 7, 0);
    write_event(world, 7, THREAD_NATIVE + 1);
    write_event(world, 7, THREAD_NATIVE);
    assert_int_equal(
        timeline_reader__begin(&world->reader, open(world->path, O_RDONLY | O_CLOEXEC), &to), 0);
    timeline_reader__drain(&world->reader, true, ignore, world);
    assert_int_equal(world->seen, 1);
    assert_int_equal(world->reader.senseless, 4);
}

/* Neither waited for nor opened: a FIFO, a folder, a device; and a link, where none is followed. */
static void what_is_no_regular_file(void **state)
{
    struct world *world = *state;
    const struct ledger_complaint to = {"x", world->message, sizeof(world->message)};
    char link[160];
    int fd;

    assert_int_equal(mkfifo(world->path, 0600), 0);
    assert_int_equal(timeline_reader__open(world->path, true, &to), -1);
    assert_non_null(strstr(world->message, "is not a regular file"));
    assert_int_equal(timeline_reader__open(world->folder, true, &to), -1);
    assert_int_equal(timeline_reader__open("/dev/zero", true, &to), -1);
    unlink(world->path);
    close(draw(world, 1, 4, 8192 + 4 * sizeof(struct timeline_event)));
    snprintf(link, sizeof(link), "%s/link", world->folder);
    assert_int_equal(symlink(world->path, link), 0);
    assert_int_equal(timeline_reader__open(link, false, &to), -1);
    fd = timeline_reader__open(link, true, &to);
    unlink(link);
    assert_true(fd >= 0);
    assert_int_equal(timeline_reader__begin(&world->reader, fd, &to), 0);
}

int main(void)
{
#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_WORLD(hostile_files_are_read_within_bounds),
        WITH_WORLD(sizes_that_lie),
        WITH_WORLD(a_header_that_changes),
        WITH_WORLD(events_of_nobody_make_no_sense),
        WITH_WORLD(what_is_no_regular_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
