/*
 * The ring of a timeline's events: what is read is what was written, each event once, and what is
 * not read is counted, also while several threads write more than fits. Each event carries a
 * check sum of the test's own, so that a torn one shows.
 */
#include "native/ledger/ledger.h"
#include "native/timeline/timeline.h"
#include "native/timeline/timeline_reader.h"
#include "small_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
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
#define WRITERS 4u
#define EACH    200000u
#define FEW     20000u
#define MANY    100u

struct world {
    char folder[64];
    char path[128];
    bool on;
    struct timeline timeline;
    struct timeline_reader reader;
    char message[256];
    /* what was read */
    uint64_t seen;
    uint64_t torn;
    uint64_t next[WRITERS];
    uint64_t out_of_order;
};

static uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 31) * 0x9e3779b97f4a7c15u;
    return value ^ value >> 29;
}

static struct timeline_event event_of(uint64_t writer, uint64_t number)
{
    struct timeline_event event = {
        .kind = TIMELINE_LOCK, .thread_kind = THREAD_PLATFORM, .tid = (int32_t)writer + 1};

    event.at_ns = number;
    event.java_id = mixed(number << 8 | writer);
    event.lock.owner_id = mixed(event.java_id);
    event.lock.class_name = (ledger_ref)event.java_id;
    return event;
}

static void take(void *context, const struct timeline_event *event)
{
    struct world *world = context;
    uint64_t writer = (uint64_t)event->tid - 1;
    struct timeline_event expected = event_of(writer, event->at_ns);

    world->seen++;
    expected.sequence = event->sequence;
    if (writer >= WRITERS ||
        memcmp((const char *)&expected, (const char *)event, sizeof(expected)) != 0) {
        world->torn++;
        return;
    }
    /* Of one writer on several lanes the numbers come in pieces; they never come twice. */
    world->out_of_order += event->at_ns < world->next[writer] && world->timeline.lanes == 1;
    if (world->next[writer] < event->at_ns + 1)
        world->next[writer] = event->at_ns + 1;
}

static int begin(struct world *world, uint64_t bytes)
{
    struct timeline_wish wish = {.bytes = bytes, .for_ns = HOUR_NS, .calls_above_ns = 1000};

    return timeline__begin(&world->timeline, world->path, &wish);
}

static void open_reader(struct world *world)
{
    const struct ledger_complaint to = {world->path, world->message, sizeof(world->message)};
    int fd = open(world->path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(timeline_reader__begin(&world->reader, fd, &to), 0);
}

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

static void write_some(struct world *world, uint64_t writer, uint64_t from, uint64_t to)
{
    for (uint64_t number = from; number < to; number++) {
        struct timeline_event event = event_of(writer, number);

        timeline__write(&world->timeline, &event);
    }
}

static void what_is_written_is_read(void **state)
{
    struct world *world = *state;

    assert_int_equal(begin(world, 1 << 20), 0);
    open_reader(world);
    write_some(world, 1, 0, 10);
    timeline_reader__drain(&world->reader, false, take, world);
    assert_int_equal(world->seen, 10);
    write_some(world, 1, 10, 17);
    timeline_reader__drain(&world->reader, true, take, world);
    assert_int_equal(world->seen, 17);
    assert_int_equal(world->reader.lost, 0);
    assert_int_equal(world->torn, 0);
}

/* The newest stay, and the others are counted. */
static void what_does_not_fit_is_counted(void **state)
{
    struct world *world = *state;
    uint64_t fits, written = 100000;

    assert_int_equal(begin(world, TIMELINE_BYTES_LEAST), 0);
    open_reader(world);
    fits = (uint64_t)world->timeline.lanes * world->timeline.lane_events;
    assert_true(fits <= TIMELINE_BYTES_LEAST / sizeof(struct timeline_event) && fits < written);
    write_some(world, 0, 0, written);
    timeline_reader__drain(&world->reader, true, take, world);
    assert_int_equal(world->seen + world->reader.lost, written);
    assert_true(world->seen > 0 && world->seen <= fits);
    assert_int_equal(world->next[0], written);
    assert_int_equal(world->torn, 0);
}

struct writer {
    struct world *world;
    uint64_t number;
    uint64_t events;
    pthread_t thread;
    _Atomic bool done;
};

static void *write_all(void *context)
{
    struct writer *writer = context;

    write_some(writer->world, writer->number, 0, writer->events);
    atomic_store(&writer->done, true);
    return NULL;
}

static bool all_done(struct writer *writers)
{
    bool done = true;

    for (unsigned i = 0; i < WRITERS; i++)
        done &= atomic_load(&writers[i].done);
    return done;
}

static void several_writers_and_a_reader(void **state)
{
    struct world *world = *state;
    struct writer writers[WRITERS];

    assert_int_equal(begin(world, TIMELINE_BYTES_LEAST), 0);
    open_reader(world);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i].world = world;
        writers[i].number = i;
        writers[i].events = EACH;
        atomic_init(&writers[i].done, false);
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_all, &writers[i]), 0);
    }
    while (!all_done(writers))
        timeline_reader__drain(&world->reader, false, take, world);
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    timeline_reader__drain(&world->reader, true, take, world);
    assert_int_equal(world->torn, 0);
    assert_int_equal(world->reader.senseless, 0);
    assert_int_equal(world->out_of_order, 0);
    assert_int_equal(world->seen + world->reader.lost, WRITERS * EACH);
    assert_true(world->seen > 0);
}

/* An event that is finished while it is read is read the next time. All may be in one lane, if
 * the writers have one processor. */
static void nothing_is_lost_where_there_is_room(void **state)
{
    struct world *world = *state;
    struct writer writers[WRITERS];
    uint64_t lanes = 1;

    while (lanes < TIMELINE_LANES_MAX && lanes < (uint64_t)sysconf(_SC_NPROCESSORS_CONF))
        lanes *= 2;
    assert_int_equal(begin(world, lanes * 2 * WRITERS * FEW * sizeof(struct timeline_event)), 0);
    assert_true(world->timeline.lane_events >= WRITERS * FEW);
    open_reader(world);
    world->reader.patience_ns = UINT64_MAX;
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i].world = world;
        writers[i].number = i;
        writers[i].events = FEW;
        atomic_init(&writers[i].done, false);
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_all, &writers[i]), 0);
    }
    while (!all_done(writers))
        timeline_reader__drain(&world->reader, false, take, world);
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    timeline_reader__drain(&world->reader, true, take, world);
    assert_int_equal(world->seen, WRITERS * FEW);
    assert_int_equal(world->reader.lost, 0);
    assert_int_equal(world->torn, 0);
}

/* A writer that never comes to its end keeps its slot, and its slot only. */
static void a_slot_that_is_never_finished(void **state)
{
    struct world *world = *state;
    struct timeline_event *slot;
    uint64_t fits;

    assert_int_equal(begin(world, TIMELINE_BYTES_LEAST), 0);
    open_reader(world);
    fits = (uint64_t)world->timeline.lanes * world->timeline.lane_events;
    for (uint32_t lane = 0; lane < world->timeline.lanes; lane++) {
        slot = &world->timeline.events[(size_t)lane * world->timeline.lane_events + 3];
        slot->sequence = 2 * 3 + 1;
    }
    write_some(world, 2, 0, fits * 3);
    timeline_reader__drain(&world->reader, true, take, world);
    assert_int_equal(world->seen + world->reader.lost, fits * 3);
    assert_int_equal(world->torn, 0);
}

static void there_is_one_at_a_time_and_another_one_later(void **state)
{
    struct world *world = *state;
    struct stat file;
    uint32_t number;

    assert_int_equal(timeline__end(&world->timeline), -ESRCH);
    assert_int_equal(begin(world, 1 << 20), 0);
    assert_true(world->on);
    assert_int_equal(stat(world->path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_true((uint64_t)file.st_blocks * 512 >= (uint64_t)file.st_size);
    number = atomic_load(&world->timeline.number);
    assert_int_equal(timeline__bytes(&world->timeline), file.st_size);
    assert_non_null(timeline__take_calls(&world->timeline));
    assert_int_equal(timeline__bytes(&world->timeline),
                     (size_t)file.st_size + sizeof(struct timeline_calls));
    assert_int_equal(begin(world, 1 << 20), -EALREADY);
    open_reader(world);
    write_some(world, 1, 0, 5);
    assert_int_equal(timeline__end(&world->timeline), 0);
    assert_false(world->on);
    assert_int_equal(timeline__bytes(&world->timeline), 0);
    assert_int_equal(access(world->path, F_OK), -1);
    write_some(world, 1, 5, 9);
    timeline_reader__drain(&world->reader, true, take, world);
    assert_int_equal(world->seen, 5);
    assert_true(world->reader.header.ended_ns >= world->reader.header.began_ns);
    assert_int_equal(begin(world, 1 << 19), 0);
    assert_int_equal(atomic_load(&world->timeline.number), number + 1);
}

static void a_file_of_somebody_else_is_not_taken(void **state)
{
    struct world *world = *state;
    int fd = open(world->path, O_CREAT | O_WRONLY, 0644);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(begin(world, 1 << 20), -EEXIST);
    assert_false(world->on);
}

static struct writer switching[WRITERS];

static void *write_until_told(void *context)
{
    struct writer *writer = context;

    for (uint64_t number = 0; !atomic_load(&writer->done); number++)
        write_some(writer->world, writer->number, number, number + 1);
    return NULL;
}

/* The memory goes away below nobody. */
static void it_ends_while_others_write(void **state)
{
    struct world *world = *state;

    for (unsigned i = 0; i < WRITERS; i++) {
        switching[i].world = world;
        switching[i].number = i;
        atomic_store(&switching[i].done, false);
        assert_int_equal(
            pthread_create(&switching[i].thread, NULL, write_until_told, &switching[i]), 0);
    }
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(begin(world, TIMELINE_BYTES_LEAST), 0);
        usleep(500);
        assert_int_equal(timeline__end(&world->timeline), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        atomic_store(&switching[i].done, true);
        pthread_join(switching[i].thread, NULL);
    }
}

/* Threads beyond those that there is room for are refused, and their returns are counted. */
static void calls_without_room_are_counted(void **state)
{
    struct world *world = *state;
    uint64_t unseen = 0;
    uint32_t place;

    assert_int_equal(begin(world, 1 << 20), 0);
    open_reader(world);
    for (unsigned i = 0; i < TIMELINE_CALL_THREADS + 7; i++) {
        assert_true(timeline__enter(&world->timeline, &place));
        if (!timeline__take_calls(&world->timeline)) {
            /* On whatever processor. */
            timeline__count_unseen(&world->timeline, i % TIMELINE_LANES_MAX);
            unseen++;
        }
        timeline__exit(&world->timeline, place);
    }
    assert_int_equal(unseen, 7);
    timeline_reader__drain(&world->reader, true, take, world);
    assert_int_equal(timeline_reader__unseen_calls(&world->reader), 7);
}

/* What is left of a file system after it is others', too: of the ledger, above all. */
static void a_part_of_the_file_system_stays_free(void **state)
{
    struct world *world = *state;
    struct small_disk disk;
    struct statvfs space;

    if (!small_disk__mount(&disk, 4224))
        skip();
    snprintf(world->path, sizeof(world->path), "%s/x.timeline", disk.folder);
    assert_int_equal(begin(world, 4 << 20), -ENOSPC);
    assert_int_equal(access(world->path, F_OK), -1);
    assert_int_equal(statvfs(disk.folder, &space), 0);
    assert_int_equal(space.f_bavail, space.f_blocks);
    assert_int_equal(begin(world, 2 << 20), 0);
    assert_int_equal(statvfs(disk.folder, &space), 0);
    assert_true(space.f_bavail >= space.f_blocks / LEDGER_FREE_PART);
    assert_int_equal(timeline__end(&world->timeline), 0);
    small_disk__unmount(&disk);
}

int main(void)
{
#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_WORLD(what_is_written_is_read),
        WITH_WORLD(what_does_not_fit_is_counted),
        WITH_WORLD(several_writers_and_a_reader),
        WITH_WORLD(nothing_is_lost_where_there_is_room),
        WITH_WORLD(a_slot_that_is_never_finished),
        WITH_WORLD(there_is_one_at_a_time_and_another_one_later),
        WITH_WORLD(a_file_of_somebody_else_is_not_taken),
        WITH_WORLD(it_ends_while_others_write),
        WITH_WORLD(calls_without_room_are_counted),
        WITH_WORLD(a_part_of_the_file_system_stays_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
