#include "tools/timeline/switch_rings.h"

#include "tools/report/memory.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DATA_BYTES_MOST  (UINT64_C(4) << 20)
#define DATA_BYTES_LEAST (UINT64_C(64) << 10)
#define WATERMARK_PART   8u
#define LISTINGS_MOST    10u /* threads may start threads while they are listed */

/* What stands in a ring. */
struct record_of_switch {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t at_ns;
    uint32_t processor, reserved;
};

struct record_of_loss {
    struct perf_event_header header;
    uint64_t id;
    uint64_t lost;
    uint32_t pid, tid;
    uint64_t at_ns;
    uint32_t processor, reserved;
};

struct record_of_exit {
    struct perf_event_header header;
    uint32_t pid, parent;
    uint32_t tid, parent_tid;
    uint64_t when_ns;
    uint32_t own_pid, own_tid;
    uint64_t at_ns;
    uint32_t processor, reserved;
};

#define NAME_BYTES 16u /* of a kernel thread, with the end */

/* The name is padded to a multiple of eight bytes; what follows it stands at the record's end. */
struct record_of_name {
    struct perf_event_header header;
    uint32_t pid, tid;
    char name[NAME_BYTES];
};

struct end_of_record {
    uint32_t pid, tid;
    uint64_t at_ns;
    uint32_t processor, reserved;
};

#define RECORD_BYTES_MOST 64u

static int open_event(const struct switch_rings *rings, pid_t tid, unsigned processor)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attributes),
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .context_switch = 1,
        .comm = 1,
        .task = 1,
        .sample_id_all = 1,
        .inherit = 1,
        .inherit_thread = !rings->no_inherit_thread,
        .watermark = 1,
        .wakeup_watermark = DATA_BYTES_LEAST / WATERMARK_PART,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    long fd =
        syscall(SYS_perf_event_open, &attributes, tid, (int)processor, -1, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

/* As large as this user may have it. */
static int map_ring(struct switch_ring *ring, int fd)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t bytes = DATA_BYTES_MOST; bytes >= DATA_BYTES_LEAST; bytes /= 2) {
        void *page = mmap(NULL, page_bytes + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (page == MAP_FAILED)
            continue;
        *ring = (struct switch_ring){.fd = fd, .page = page, .data_bytes = bytes};
        return 0;
    }
    return -errno;
}

static void keep_event(struct switch_rings *rings, int fd)
{
    rings->events =
        memory__grown(rings->events, &rings->event_room, rings->event_count + 1, sizeof(int));
    rings->events[rings->event_count++] = fd;
}

static int open_on(struct switch_rings *rings, pid_t tid, unsigned processor)
{
    struct switch_ring *ring = &rings->rings[processor];
    int fd = open_event(rings, tid, processor), error;

    if (fd == -EINVAL && !rings->no_inherit_thread) {
        rings->no_inherit_thread = true;
        fd = open_event(rings, tid, processor);
    }
    if (fd == -ENODEV || fd == -ENXIO)
        return 0; /* a processor that is not there */
    if (fd < 0)
        return fd;
    if (ring->fd < 0)
        error = map_ring(ring, fd);
    else
        error = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) != 0 ? -errno : 0;
    if (error)
        close(fd);
    else
        keep_event(rings, fd);
    return error;
}

static bool is_known(const struct switch_rings *rings, pid_t tid)
{
    for (size_t i = 0; i < rings->tid_count; i++)
        if (rings->tids[i] == tid)
            return true;
    return false;
}

static int open_thread(struct switch_rings *rings, pid_t tid)
{
    int error = 0;

    for (unsigned processor = 0; processor < rings->processors && !error; processor++)
        error = open_on(rings, tid, processor);
    if (error)
        return error == -ESRCH ? 0 : error;
    rings->tids = memory__grown(rings->tids, &rings->tid_room, rings->tid_count + 1, sizeof(pid_t));
    rings->tids[rings->tid_count++] = tid;
    return 0;
}

/* Returns how many threads were new, or -errno. */
static int open_listed(struct switch_rings *rings)
{
    char folder[64];
    const struct dirent *entry;
    DIR *tasks;
    int found = 0, error = 0;

    snprintf(folder, sizeof(folder), "/proc/%d/task", (int)rings->pid);
    tasks = opendir(folder);
    if (!tasks)
        return -errno;
    while (!error && (entry = readdir(tasks))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (tid <= 0 || is_known(rings, tid))
            continue;
        error = open_thread(rings, tid);
        found++;
    }
    closedir(tasks);
    return error ? error : found;
}

static void allow_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int switch_rings__open(struct switch_rings *rings, pid_t pid)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    int found = 1;

    *rings =
        (struct switch_rings){.pid = pid, .processors = processors > 0 ? (unsigned)processors : 1};
    rings->rings = memory__zeroed(rings->processors, sizeof(*rings->rings));
    for (unsigned i = 0; i < rings->processors; i++)
        rings->rings[i].fd = -1;
    allow_descriptors();
    for (unsigned i = 0; i < LISTINGS_MOST && found > 0; i++)
        found = open_listed(rings);
    if (found >= 0 && rings->event_count)
        return 0;
    switch_rings__close(rings);
    return found < 0 ? found : -ESRCH;
}

void switch_rings__close(struct switch_rings *rings)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

    for (unsigned i = 0; i < rings->processors; i++)
        if (rings->rings[i].page)
            munmap(rings->rings[i].page, page_bytes + rings->rings[i].data_bytes);
    for (size_t i = 0; i < rings->event_count; i++)
        close(rings->events[i]);
    free(rings->rings);
    free(rings->events);
    free(rings->tids);
    *rings = (struct switch_rings){0};
}

void switch_rings__wait(const struct switch_rings *rings, int timeout_ms)
{
    struct pollfd *ready = memory__zeroed(rings->processors, sizeof(*ready));
    nfds_t count = 0;

    for (unsigned i = 0; i < rings->processors; i++)
        if (rings->rings[i].fd >= 0)
            ready[count++] = (struct pollfd){.fd = rings->rings[i].fd, .events = POLLIN};
    /* A ring whose threads have all ended hangs up, and would be ready for ever. */
    if (poll(ready, count, timeout_ms) > 0)
        for (nfds_t i = 0; i < count; i++)
            if (ready[i].revents & (POLLHUP | POLLERR)) {
                (void)usleep((useconds_t)timeout_ms * 1000);
                break;
            }
    free(ready);
}

static void take_switch(const struct switch_rings *rings, struct timeline_store *store,
                        const struct record_of_switch *told)
{
    unsigned kind = !(told->header.misc & PERF_RECORD_MISC_SWITCH_OUT)        ? TIMELINE_ON
                    : told->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? TIMELINE_PREEMPTED
                                                                              : TIMELINE_OFF;
    struct timeline_switch one = {.at_ns = told->at_ns,
                                  .tid = (int32_t)told->tid,
                                  .processor = (uint16_t)told->processor,
                                  .kind = (uint16_t)kind};

    if ((pid_t)told->pid == rings->pid)
        timeline_store__add_switch(store, &one);
}

static void take_exit(const struct switch_rings *rings, struct timeline_store *store,
                      const struct record_of_exit *told)
{
    struct timeline_switch one = {.at_ns = told->at_ns,
                                  .tid = (int32_t)told->tid,
                                  .processor = (uint16_t)told->processor,
                                  .kind = TIMELINE_ENDED};

    if ((pid_t)told->pid == rings->pid)
        timeline_store__add_switch(store, &one);
}

static void take_loss(struct timeline_store *store, const struct record_of_loss *told)
{
    struct timeline_switch lost = {.at_ns = told->at_ns,
                                   .tid = told->lost < INT32_MAX ? (int32_t)told->lost : INT32_MAX,
                                   .processor = (uint16_t)told->processor,
                                   .kind = TIMELINE_LOST};

    timeline_store__add_switch(store, &lost);
}

static void take_name(const struct switch_rings *rings, struct timeline_store *store,
                      const char bytes[RECORD_BYTES_MOST])
{
    struct record_of_name told;
    struct end_of_record end;

    memcpy(&told, bytes, sizeof(told));
    if ((pid_t)told.pid != rings->pid || told.header.size > RECORD_BYTES_MOST ||
        told.header.size <= offsetof(struct record_of_name, name) + sizeof(end))
        return;
    memcpy(&end, bytes + told.header.size - sizeof(end), sizeof(end));
    told.name[NAME_BYTES - 1] = '\0';
    timeline_store__add_task(store, (int32_t)told.tid, told.name, end.at_ns);
}

static void take(const struct switch_rings *rings, struct timeline_store *store,
                 const char bytes[RECORD_BYTES_MOST])
{
    union {
        struct perf_event_header header;
        struct record_of_switch change;
        struct record_of_exit end;
        struct record_of_loss loss;
    } record;

    memcpy(&record, bytes, sizeof(record));
    if (record.header.type == PERF_RECORD_SWITCH && record.header.size == sizeof(record.change))
        take_switch(rings, store, &record.change);
    else if (record.header.type == PERF_RECORD_EXIT && record.header.size == sizeof(record.end))
        take_exit(rings, store, &record.end);
    else if (record.header.type == PERF_RECORD_LOST && record.header.size == sizeof(record.loss))
        take_loss(store, &record.loss);
    else if (record.header.type == PERF_RECORD_COMM)
        take_name(rings, store, bytes);
}

static void drain_ring(const struct switch_rings *rings, const struct switch_ring *ring,
                       struct timeline_store *store)
{
    struct perf_event_mmap_page *page = ring->page;
    const char *data = (const char *)page + sysconf(_SC_PAGESIZE);
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at = page->data_tail;

    while (at < head) {
        char record[RECORD_BYTES_MOST] = {0};
        struct perf_event_header header;
        size_t bytes;

        memcpy(&header, data + at % ring->data_bytes, sizeof(header));
        if (header.size < sizeof(header))
            break;
        bytes = header.size < sizeof(record) ? header.size : sizeof(record);
        for (size_t i = 0; i < bytes; i += sizeof(uint64_t))
            memcpy(record + i, data + (at + i) % ring->data_bytes, sizeof(uint64_t));
        take(rings, store, record);
        at += header.size;
    }
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

void switch_rings__drain(struct switch_rings *rings, struct timeline_store *store)
{
    for (unsigned i = 0; i < rings->processors; i++)
        if (rings->rings[i].page)
            drain_ring(rings, &rings->rings[i], store);
}
