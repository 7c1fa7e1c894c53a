/*
 * libFuzzer: any bytes as the events of a timeline, as a killed agent may leave them, and as the
 * ledger beside them: read, drawn as a trace and as a page. The events are made of the ledger's own
 * bytes; most of them make sense, so that what is behind the reader is reached.
 */
#include "native/timeline/timeline_format.h"
#include "tests/fuzz/fuzzed_ledger.h"
#include "tools/command.h"

#define LANES       2u
#define LANE_EVENTS 1024u
#define BEGAN_NS    UINT64_C(1000000000)
#define LENGTH_NS   UINT64_C(1000000)
#define PATH_BYTES  64

struct file {
    struct timeline_header header;
    struct timeline_event events[LANES][LANE_EVENTS];
};

/* Few threads, and times that meet, in most events. */
static void put_sense(struct timeline_event *event)
{
    if (event->java_id % 64 == 0)
        return;
    event->at_ns = BEGAN_NS + event->at_ns % LENGTH_NS;
    event->java_id %= 8;
    event->tid = 1 + (event->tid & 7);
    event->kind = (uint8_t)(TIMELINE_THREAD + event->kind % TIMELINE_PREEMPTED);
    event->thread_kind = (uint8_t)(THREAD_PLATFORM + event->thread_kind % THREAD_NATIVE);
    if (event->kind < TIMELINE_LOCK)
        event->reason = (uint16_t)(METRIC_MONITOR_WAIT + event->reason % 5);
    if (event->kind == TIMELINE_LOCK)
        event->lock.owner_id %= 16;
    if (event->kind == TIMELINE_CALL) {
        event->call.left_ns = BEGAN_NS + event->call.left_ns % LENGTH_NS;
        event->call.length_ns %= LENGTH_NS;
    }
}

static void fill(struct file *file, const uint8_t *bytes, size_t length)
{
    struct timeline_header *header = &file->header;
    size_t at = 0;

    memcpy(header, bytes, length < sizeof *header ? length : sizeof *header);
    memcpy(header->magic, TIMELINE_MAGIC, sizeof header->magic);
    header->version = TIMELINE_VERSION;
    header->byte_order = TIMELINE_BYTE_ORDER;
    header->lanes = LANES;
    header->lane_events = LANE_EVENTS;
    if (header->number % 8) {
        header->began_ns = BEGAN_NS;
        header->ended_ns = BEGAN_NS + LENGTH_NS;
        header->ledger_began_ns = BEGAN_NS;
    }
    for (uint32_t lane = 0; lane < LANES; lane++) {
        for (uint32_t i = 0; i < LANE_EVENTS && length - at >= sizeof(file->events[0][0]); i++) {
            struct timeline_event *event = &file->events[lane][i];

            memcpy(event, bytes + at, sizeof *event);
            at += sizeof *event;
            put_sense(event);
            event->sequence = 2 * ((uint64_t)i + 1);
            header->lane[lane].head = i + 1;
        }
    }
}

static void write_file(const char *path, const void *bytes, size_t length)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
        abort();
    close(fd);
}

static void write_ledger(const char *path, const uint8_t *bytes, size_t length)
{
    struct ledger_header header;
    int fd = fuzzed_file(bytes, length, &header);

    write_file(path, bytes, length);
    if (fd >= 0)
        close(fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    put_header(fd, &header);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct file file;
    char timeline[PATH_BYTES], ledger[PATH_BYTES], page[PATH_BYTES];
    char *arguments[] = {"treadle timeline", "-o", "/dev/null", "--html", page, timeline, NULL};

    if (length < sizeof(struct ledger_header))
        return 0;
    snprintf(timeline, sizeof timeline, "/dev/shm/treadle-fuzz-%d.timeline", getpid());
    snprintf(ledger, sizeof ledger, "/dev/shm/treadle-fuzz-%d.ledger", getpid());
    snprintf(page, sizeof page, "/dev/shm/treadle-fuzz-%d.html", getpid());
    memset(&file, 0, sizeof file);
    fill(&file, bytes, length);
    write_file(timeline, &file, sizeof file);
    write_ledger(ledger, bytes, length);
    (void)cmd_timeline((int)(sizeof arguments / sizeof arguments[0]) - 1, arguments);
    unlink(timeline);
    unlink(ledger);
    unlink(page);
    return 0;
}
