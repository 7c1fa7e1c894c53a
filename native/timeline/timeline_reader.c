#include "native/timeline/timeline_reader.h"

#include "native/ledger/ledger_time.h"
#include "native/timeline/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LANE_EVENTS_MOST (TIMELINE_BYTES_MOST / sizeof(struct timeline_event))
#define PATIENCE_NS      UINT64_C(1000000000)

static bool is_power(uint32_t number)
{
    return number && (number & (number - 1)) == 0;
}

/* What no agent makes would only keep the reader busy. */
static int check_lanes(const struct timeline_header *header, uint64_t file_bytes,
                       const struct ledger_complaint *to)
{
    if (!is_power(header->lanes) || header->lanes > TIMELINE_LANES_MAX)
        return ledger_complaint__say(to, "byte %zu: %" PRIu32 " lanes, expected 1, 2, 4, … %u",
                                     offsetof(struct timeline_header, lanes), header->lanes,
                                     TIMELINE_LANES_MAX);
    if (!is_power(header->lane_events) || header->lane_events > LANE_EVENTS_MOST / header->lanes)
        return ledger_complaint__say(
            to, "byte %zu: %" PRIu32 " events in a lane, expected 1, 2, … %" PRIu64,
            offsetof(struct timeline_header, lane_events), header->lane_events,
            (uint64_t)LANE_EVENTS_MOST / header->lanes);
    if (file_bytes < sizeof(*header) + (uint64_t)header->lanes * header->lane_events *
                                           sizeof(struct timeline_event))
        return ledger_complaint__say(
            to, "byte %" PRIu64 ": the file ends, expected %" PRIu32 " lanes of %" PRIu32 " events",
            file_bytes, header->lanes, header->lane_events);
    return 0;
}

static int check(const struct timeline_header *header, uint64_t file_bytes,
                 const struct ledger_complaint *to)
{
    if (memcmp(header->magic, TIMELINE_MAGIC, sizeof(header->magic)) != 0)
        return ledger_complaint__say(to, "byte 0: not a timeline, expected it to begin with \"%s\"",
                                     TIMELINE_MAGIC);
    if (header->byte_order != TIMELINE_BYTE_ORDER)
        return ledger_complaint__say(
            to, "byte %zu: byte order mark 0x%08" PRIx32 ", expected 0x%08x",
            offsetof(struct timeline_header, byte_order), header->byte_order, TIMELINE_BYTE_ORDER);
    if (header->version != TIMELINE_VERSION)
        return ledger_complaint__say(
            to, "byte %zu: timeline format %" PRIu32 ", this treadle reads format %u",
            offsetof(struct timeline_header, version), header->version, TIMELINE_VERSION);
    return check_lanes(header, file_bytes, to);
}

static int check_file(const struct stat *file, const struct ledger_complaint *to)
{
    return S_ISREG(file->st_mode)
               ? 0
               : ledger_complaint__say(to, "is not a regular file, expected a timeline");
}

int timeline_reader__open(const char *path, bool follows_link, const struct ledger_complaint *to)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follows_link ? 0 : O_NOFOLLOW), fd;
    struct stat file;

    /* Looked at before it is opened, since opening a device may have effects; begin looks again. */
    if ((follows_link ? stat(path, &file) : lstat(path, &file)) != 0)
        return ledger_complaint__say(to, "cannot be opened: %s", strerror(errno));
    if (check_file(&file, to) != 0)
        return -1;
    fd = open(path, flags);
    return fd >= 0 ? fd : ledger_complaint__say(to, "cannot be opened: %s", strerror(errno));
}

int timeline_reader__begin(struct timeline_reader *reader, int fd,
                           const struct ledger_complaint *to)
{
    struct stat file;

    memset(reader, 0, sizeof(*reader));
    reader->fd = -1;
    reader->patience_ns = PATIENCE_NS;
    if (fstat(fd, &file) != 0)
        return ledger_complaint__say(to, "cannot be read: %s", strerror(errno));
    if (check_file(&file, to) != 0)
        return -1;
    if (ledger_file__read_at(fd, &reader->header, sizeof(reader->header), 0) !=
        (ssize_t)sizeof(reader->header))
        return ledger_complaint__say(to, "the file ends inside the header, expected %zu bytes",
                                     sizeof(reader->header));
    if (check(&reader->header, (uint64_t)file.st_size, to) != 0)
        return -1;
    reader->fd = fd;
    return 0;
}

void timeline_reader__end(struct timeline_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    reader->fd = -1;
}

/* ---- events ---- */

static bool is_wait(unsigned reason)
{
    return reason < LEDGER_METRIC_SLOTS && LEDGER_WAIT_METRICS >> reason & 1;
}

/* Who says who runs is a thread, and has a tid. */
static bool is_of_thread(const struct timeline_event *event)
{
    bool is_switch = event->kind >= TIMELINE_ON;

    return event->tid > 0 && event->thread_kind <= THREAD_NATIVE &&
           (is_switch || event->thread_kind != 0);
}

static bool makes_sense(const struct timeline_event *event)
{
    if (event->at_ns > INT64_MAX || !is_of_thread(event))
        return false;
    switch (event->kind) {
    case TIMELINE_WAIT:
    case TIMELINE_WAITED:
        return is_wait(event->reason);
    case TIMELINE_CALL:
        return event->call.length_ns <= event->at_ns &&
               event->call.length_ns <= event->call.left_ns && event->call.left_ns <= INT64_MAX;
    case TIMELINE_GC:
        return event->call.length_ns <= event->at_ns;
    default:
        return event->kind >= TIMELINE_THREAD && event->kind <= TIMELINE_PREEMPTED;
    }
}

/* How many slots from `number` on stand side by side, up to `head`. */
static uint32_t run_of(const struct timeline_reader *reader, uint64_t number, uint64_t head)
{
    uint32_t mask = reader->header.lane_events - 1;
    uint64_t run = reader->header.lane_events - (number & mask);

    if (run > head - number)
        run = head - number;
    return run < TIMELINE_READER_SLOTS ? (uint32_t)run : TIMELINE_READER_SLOTS;
}

/* Twice: what has the same sequence in both was not being written in between. */
static bool read_slots(struct timeline_reader *reader, uint32_t lane, uint64_t number, uint32_t run)
{
    uint64_t slot =
        (uint64_t)lane * reader->header.lane_events + (number & (reader->header.lane_events - 1));
    uint64_t offset = sizeof(struct timeline_header) + slot * sizeof(struct timeline_event);
    size_t bytes = run * sizeof(struct timeline_event);

    return ledger_file__read_at(reader->fd, reader->events, bytes, offset) == (ssize_t)bytes &&
           ledger_file__read_at(reader->fd, reader->again, bytes, offset) == (ssize_t)bytes;
}

static void pass_on(struct timeline_reader *reader, const struct timeline_event *event,
                    timeline_taker *take, void *context)
{
    if (!makes_sense(event)) {
        reader->senseless++;
        return;
    }
    reader->read++;
    take(context, event);
}

/* An event may still be finished, or was while it was read. */
static bool is_waited_for(struct timeline_reader *reader, uint32_t lane, uint64_t sequence,
                          uint64_t expected, bool last)
{
    uint64_t *since_ns = &reader->stalled_ns[lane], now_ns = clock_ns(CLOCK_MONOTONIC);

    if (last || sequence >= expected)
        return false;
    if (!*since_ns)
        *since_ns = now_ns;
    return now_ns - *since_ns < reader->patience_ns;
}

/* False: an event is not finished yet, or the file cannot be read. */
static bool drain_run(struct timeline_reader *reader, uint32_t lane, uint64_t head, bool last,
                      timeline_taker *take, void *context)
{
    uint32_t run = run_of(reader, reader->next[lane], head);

    if (!read_slots(reader, lane, reader->next[lane], run))
        return false;
    for (uint32_t i = 0; i < run; i++) {
        uint64_t expected = 2 * (reader->next[lane] + 1);

        if (reader->events[i].sequence == expected && reader->again[i].sequence == expected)
            pass_on(reader, &reader->events[i], take, context);
        else if (is_waited_for(reader, lane, reader->events[i].sequence, expected, last))
            return false;
        else
            reader->lost++;
        reader->stalled_ns[lane] = 0;
        reader->next[lane]++;
    }
    return true;
}

static void drain_lane(struct timeline_reader *reader, uint32_t lane, bool last,
                       timeline_taker *take, void *context)
{
    uint64_t head = reader->header.lane[lane].head, *next = &reader->next[lane];

    if (head > UINT64_MAX / 4 || head < *next)
        return;
    if (head - *next > reader->header.lane_events) {
        reader->lost += head - reader->header.lane_events - *next;
        *next = head - reader->header.lane_events;
    }
    while (*next < head && drain_run(reader, lane, head, last, take, context))
        ;
}

void timeline_reader__drain(struct timeline_reader *reader, bool last, timeline_taker *take,
                            void *context)
{
    uint32_t lanes = reader->header.lanes, lane_events = reader->header.lane_events;
    struct timeline_header header;

    if (ledger_file__read_at(reader->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
        return;
    /* What says how long, and in which places, is as it was when it was checked. */
    header.lanes = lanes;
    header.lane_events = lane_events;
    header.began_ns = reader->header.began_ns;
    reader->header = header;
    for (uint32_t lane = 0; lane < lanes; lane++)
        drain_lane(reader, lane, last, take, context);
}

uint64_t timeline_reader__unseen_calls(const struct timeline_reader *reader)
{
    uint64_t sum = 0;

    for (uint32_t lane = 0; lane < reader->header.lanes; lane++)
        sum += reader->header.lane[lane].unseen_calls;
    return sum;
}
