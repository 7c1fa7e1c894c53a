#include "native/timeline/timeline.h"

#include "native/ledger/ledger_space.h"
#include "native/ledger/ledger_time.h"
#include "native/ledger/orphan_ledgers.h"
#include "native/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_US     1000u
#define WAITS_MOST  2000u
#define STEP_CHUNKS 256u /* 1 MiB */

uint64_t timeline__now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* ---- beginning and ending ---- */

static uint32_t lanes_for(uint64_t bytes)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    uint32_t lanes = 1;

    while (lanes < TIMELINE_LANES_MAX && lanes < (uint32_t)(processors > 0 ? processors : 1) &&
           bytes / (lanes * 2) >= TIMELINE_BYTES_LEAST / 4)
        lanes *= 2;
    return lanes;
}

static uint32_t events_for(uint64_t bytes, uint32_t lanes)
{
    uint64_t events = 1;

    while (events * 2 * lanes * sizeof(struct timeline_event) <= bytes)
        events *= 2;
    return (uint32_t)events;
}

_Static_assert(sizeof(struct timeline_header) % LEDGER_CHUNK_BYTES == 0 &&
                   TIMELINE_BYTES_LEAST % LEDGER_CHUNK_BYTES == 0,
               "the file has whole chunks");

/* In steps, each of which is tried again: a profiler's signals may interrupt a long one each time,
 * and then it begins anew. */
static int allocate(int fd, size_t bytes)
{
    uint32_t chunks = (uint32_t)(bytes / LEDGER_CHUNK_BYTES), step;
    int error = 0;

    for (uint32_t from = 0; from < chunks && !error; from += step) {
        step = chunks - from < STEP_CHUNKS ? chunks - from : STEP_CHUNKS;
        error = ledger_space__allocate(fd, from, from + step);
    }
    return error;
}

static int make_file(struct timeline *timeline, size_t bytes)
{
    int error;

    timeline->fd = standard_files__avoid(
        open(timeline->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (timeline->fd < 0)
        return -errno;
    orphan_ledger__lock(timeline->fd);
    error = fchmod(timeline->fd, 0600) != 0 ? -errno : allocate(timeline->fd, bytes);
    if (error) {
        (void)unlink(timeline->path);
        close(timeline->fd);
    }
    return error;
}

static int map_file(struct timeline *timeline, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, timeline->fd, 0);
    void *calls;

    if (base == MAP_FAILED) {
        int error = -errno;

        (void)unlink(timeline->path);
        close(timeline->fd);
        return error;
    }
    madvise(base, bytes, MADV_DONTDUMP);
    calls = mmap(NULL, TIMELINE_CALL_THREADS * sizeof(struct timeline_calls),
                 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    timeline->calls = calls == MAP_FAILED ? NULL : calls;
    timeline->mapped_bytes = bytes;
    timeline->events = (struct timeline_event *)((char *)base + sizeof(struct timeline_header));
    return 0;
}

static void fill_header(struct timeline *timeline, struct timeline_header *header, uint32_t lanes,
                        uint32_t lane_events, const struct timeline_wish *wish)
{
    memcpy(header->magic, TIMELINE_MAGIC, sizeof(header->magic));
    header->version = TIMELINE_VERSION;
    header->byte_order = TIMELINE_BYTE_ORDER;
    header->lanes = timeline->lanes = lanes;
    header->lane_events = timeline->lane_events = lane_events;
    header->pid = getpid();
    header->start_ticks = wish->start_ticks;
    header->number = atomic_load(&timeline->number) + 1;
    header->calls_above_ns = timeline->calls_above_ns = wish->calls_above_ns;
    header->has_waits = wish->has_waits;
    header->has_calls = wish->has_calls;
    if (wish->time)
        header->ledger_began_ns = ledger_time__now_ns(wish->time);
    header->began_ns = timeline__now_ns();
    timeline->until_ns = header->began_ns + wish->for_ns;
}

int timeline__begin(struct timeline *timeline, const char *path, const struct timeline_wish *wish)
{
    uint32_t lanes = lanes_for(wish->bytes), lane_events = events_for(wish->bytes, lanes);
    size_t bytes = sizeof(struct timeline_header) +
                   (size_t)lanes * lane_events * sizeof(struct timeline_event);
    struct timeline_header *header;
    int error;

    if (atomic_load(&timeline->header))
        return -EALREADY;
    if ((size_t)snprintf(timeline->path, sizeof(timeline->path), "%s", path) >=
        sizeof(timeline->path))
        return -ENAMETOOLONG;
    error = make_file(timeline, bytes);
    if (!error)
        error = map_file(timeline, bytes);
    if (error)
        return error;
    header = (struct timeline_header *)timeline->events - 1;
    fill_header(timeline, header, lanes, lane_events, wish);
    atomic_store(&timeline->calls_used, 0);
    atomic_store(&timeline->number, header->number);
    atomic_store(&timeline->header, header);
    __atomic_store_n(timeline->on, true, __ATOMIC_SEQ_CST);
    __atomic_store_n(&header->until_ns, timeline->until_ns, __ATOMIC_RELEASE);
    return 0;
}

/* A thread between enter and exit may have no processor for a while. */
static bool wait_for_writers(struct timeline *timeline)
{
    for (unsigned waits = 0; waits < WAITS_MOST; waits++) {
        uint32_t writers = 0;

        for (unsigned i = 0; i < TIMELINE_LANES_MAX; i++)
            writers += atomic_load(&timeline->writers[i].count);
        if (!writers)
            return true;
        (void)usleep(WAIT_US);
    }
    return false;
}

/* Where a writer does not come to its end, its memory stays. */
int timeline__end(struct timeline *timeline)
{
    struct timeline_header *header = atomic_load(&timeline->header);

    if (!header)
        return -ESRCH;
    __atomic_store_n(timeline->on, false, __ATOMIC_SEQ_CST);
    atomic_store(&timeline->header, NULL);
    (void)unlink(timeline->path);
    close(timeline->fd);
    if (wait_for_writers(timeline)) {
        __atomic_store_n(&header->ended_ns, timeline__now_ns(), __ATOMIC_RELEASE);
        munmap(header, timeline->mapped_bytes);
        if (timeline->calls)
            munmap(timeline->calls, TIMELINE_CALL_THREADS * sizeof(*timeline->calls));
    } else {
        __atomic_store_n(&header->ended_ns, timeline__now_ns(), __ATOMIC_RELEASE);
    }
    timeline->calls = NULL;
    return 0;
}

size_t timeline__bytes(const struct timeline *timeline)
{
    uint32_t threads = atomic_load(&timeline->calls_used);

    if (!atomic_load(&timeline->header))
        return 0;
    threads = threads < TIMELINE_CALL_THREADS ? threads : TIMELINE_CALL_THREADS;
    return timeline->mapped_bytes + threads * sizeof(*timeline->calls);
}

bool timeline__is_over(const struct timeline *timeline)
{
    const struct timeline_header *header = atomic_load(&timeline->header);

    return header && timeline__now_ns() >= timeline->until_ns;
}

void timeline__abandon(struct timeline *timeline)
{
    if (timeline->on)
        __atomic_store_n(timeline->on, false, __ATOMIC_SEQ_CST);
    atomic_store(&timeline->header, NULL);
}

/* ---- writing ---- */

bool timeline__enter(struct timeline *timeline, uint32_t *place)
{
    int processor = sched_getcpu();

    *place = (uint32_t)(processor < 0 ? 0 : processor) % TIMELINE_LANES_MAX;
    atomic_fetch_add(&timeline->writers[*place].count, 1);
    if (atomic_load(&timeline->header))
        return true;
    timeline__exit(timeline, *place);
    return false;
}

void timeline__exit(struct timeline *timeline, uint32_t place)
{
    atomic_fetch_sub(&timeline->writers[place].count, 1);
}

/* A slot that a slower thread, a whole turn behind, has not finished is not taken. */
static void put(struct timeline *timeline, struct timeline_header *header, uint32_t place,
                const struct timeline_event *event)
{
    uint32_t lane = place & (timeline->lanes - 1);
    uint64_t number = __atomic_fetch_add(&header->lane[lane].head, 1, __ATOMIC_RELAXED);
    struct timeline_event *slot = &timeline->events[(size_t)lane * timeline->lane_events +
                                                    (number & (timeline->lane_events - 1))];
    uint64_t before = __atomic_load_n(&slot->sequence, __ATOMIC_RELAXED);

    if (before & 1 || before > 2 * number ||
        !__atomic_compare_exchange_n(&slot->sequence, &before, 2 * number + 1, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        __atomic_fetch_add(&header->lane[lane].refused, 1, __ATOMIC_RELAXED);
        return;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy((char *)slot + sizeof(slot->sequence), (const char *)event + sizeof(event->sequence),
           sizeof(*slot) - sizeof(slot->sequence));
    __atomic_store_n(&slot->sequence, 2 * (number + 1), __ATOMIC_RELEASE);
}

void timeline__write(struct timeline *timeline, const struct timeline_event *event)
{
    struct timeline_header *header;
    uint32_t place;

    if (!timeline__enter(timeline, &place))
        return;
    header = atomic_load(&timeline->header);
    if (header && event->at_ns < timeline->until_ns)
        put(timeline, header, place, event);
    timeline__exit(timeline, place);
}

struct timeline_calls *timeline__take_calls(struct timeline *timeline)
{
    uint32_t taken;

    if (!timeline->calls ||
        atomic_load_explicit(&timeline->calls_used, memory_order_relaxed) >= TIMELINE_CALL_THREADS)
        return NULL;
    taken = atomic_fetch_add(&timeline->calls_used, 1);
    return taken < TIMELINE_CALL_THREADS ? &timeline->calls[taken] : NULL;
}

/* By lane, so that many threads do not wait for one counter. */
void timeline__count_unseen(struct timeline *timeline, uint32_t place)
{
    struct timeline_header *header = atomic_load(&timeline->header);

    if (header)
        __atomic_fetch_add(&header->lane[place & (timeline->lanes - 1)].unseen_calls, 1,
                           __ATOMIC_RELAXED);
}
