#include "native/sampling/kernel_stacks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGES_MAX  16u
#define KEPT_NS    100000000u
#define MEAN_BYTES 160u

struct taken {
    char *bytes; /* samples as the kernel wrote them, one behind the other, in order of time */
    size_t used;
};

struct kernel_stacks {
    struct perf_event_mmap_page *page; /* the ring's samples lie behind it */
    size_t page_bytes;
    size_t ring_bytes;
    struct taken newer, older;
};

/* A sample as kernel_stacks__ask has it. */
struct perf_sample {
    struct perf_event_header header;
    uint64_t ip;
    uint64_t time_ns;
    uint64_t count;
    uint64_t frames[];
};

void kernel_stacks__ask(struct perf_event_attr *attributes)
{
    attributes->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    attributes->exclude_callchain_user = 1;
    attributes->sample_max_stack = KERNEL_STACK_FRAMES;
    attributes->use_clockid = 1;
    attributes->clockid = CLOCK_MONOTONIC;
}

static unsigned pages_for(uint64_t interval_ns)
{
    uint64_t bytes = (interval_ns ? KEPT_NS / interval_ns : KEPT_NS) * MEAN_BYTES;
    unsigned pages = 1;

    while (pages < PAGES_MAX && pages * UINT64_C(4096) < bytes)
        pages *= 2;
    return pages;
}

struct kernel_stacks *kernel_stacks__new(int fd, uint64_t interval_ns)
{
    struct kernel_stacks *stacks = calloc(1, sizeof(*stacks));
    void *memory = MAP_FAILED;

    if (!stacks)
        return NULL;
    stacks->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    stacks->ring_bytes = pages_for(interval_ns) * stacks->page_bytes;
    stacks->newer.bytes = malloc(stacks->ring_bytes);
    stacks->older.bytes = malloc(stacks->ring_bytes);
    if (stacks->newer.bytes && stacks->older.bytes)
        memory = mmap(NULL, stacks->page_bytes + stacks->ring_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) {
        stacks->page = memory;
        return stacks;
    }
    kernel_stacks__delete(stacks);
    return NULL;
}

void kernel_stacks__delete(struct kernel_stacks *stacks)
{
    if (!stacks)
        return;
    if (stacks->page)
        munmap(stacks->page, stacks->page_bytes + stacks->ring_bytes);
    free(stacks->newer.bytes);
    free(stacks->older.bytes);
    free(stacks);
}

static void copy_out(const struct kernel_stacks *stacks, uint64_t from, uint64_t to)
{
    const char *ring = (const char *)stacks->page + stacks->page_bytes;
    size_t at = from % stacks->ring_bytes;
    size_t bytes = (size_t)(to - from);
    size_t first = bytes < stacks->ring_bytes - at ? bytes : stacks->ring_bytes - at;

    memcpy(stacks->newer.bytes, ring + at, first);
    memcpy(stacks->newer.bytes + first, ring, bytes - first);
}

void kernel_stacks__read(struct kernel_stacks *stacks)
{
    struct taken oldest = stacks->older;
    uint64_t head = __atomic_load_n(&stacks->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = stacks->page->data_tail;

    stacks->older = stacks->newer;
    stacks->newer = oldest;
    stacks->newer.used = 0;
    if (head - tail <= stacks->ring_bytes) {
        copy_out(stacks, tail, head);
        stacks->newer.used = (size_t)(head - tail);
    }
    __atomic_store_n(&stacks->page->data_tail, head, __ATOMIC_RELEASE);
}

/* The last sample that is not later than monotonic_ns; NULL: there is none. */
static const struct perf_sample *find_in(const struct taken *taken, uint64_t monotonic_ns)
{
    const struct perf_sample *found = NULL;
    size_t at = 0;

    while (at + sizeof(struct perf_event_header) <= taken->used) {
        const struct perf_sample *sample =
            (const struct perf_sample *)(const void *)(taken->bytes + at);

        if (sample->header.size < sizeof(sample->header) || sample->header.size > taken->used - at)
            break;
        at += sample->header.size;
        if (sample->header.type != PERF_RECORD_SAMPLE || sample->header.size < sizeof(*sample))
            continue;
        if (sample->time_ns > monotonic_ns)
            break;
        found = sample;
    }
    return found;
}

bool kernel_stacks__find(const struct kernel_stacks *stacks, uint64_t monotonic_ns,
                         struct kernel_stack *stack)
{
    const struct perf_sample *sample = find_in(&stacks->newer, monotonic_ns);
    uint64_t room;

    if (!sample)
        sample = find_in(&stacks->older, monotonic_ns);
    if (!sample)
        return false;
    stack->in_kernel =
        (sample->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    stack->count = 0;
    room = (sample->header.size - sizeof(*sample)) / sizeof(*sample->frames);
    for (uint64_t i = 0; stack->in_kernel && i < sample->count && i < room; i++)
        /* Without the words that say whether frames of the kernel or of the user follow. */
        if (sample->frames[i] < (uint64_t)PERF_CONTEXT_MAX && stack->count < KERNEL_STACK_FRAMES)
            stack->frames[stack->count++] = sample->frames[i];
    return true;
}
