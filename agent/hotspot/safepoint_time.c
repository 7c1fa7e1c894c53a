#include "agent/hotspot/safepoint_time.h"

#include "agent/hotspot/vm_structs.h"

#include <string.h>

#define PERF_MAJOR_VERSION 2u
#define PERF_BYTES_MAX     (16u << 20) /* -XX:PerfDataMemorySize= */
#define PERF_TYPE_LONG     'J'
#define NS_PER_SECOND      UINT64_C(1000000000)

/* What the memory begins with. */
struct perf_prologue {
    uint8_t magic[4];
    uint8_t byte_order;
    uint8_t major_version;
    uint8_t minor_version;
    uint8_t accessible;
    uint32_t used; /* bytes */
    uint32_t overflow;
    uint64_t modified;
    uint32_t entry_offset; /* of the first one */
    uint32_t entry_count;
};

/* Offsets are from the beginning of the entry. */
struct perf_entry {
    uint32_t length;
    uint32_t name_offset;
    uint32_t vector_length; /* 0: one number */
    uint8_t type;
    uint8_t flags;
    uint8_t unit;
    uint8_t variability;
    uint32_t data_offset;
};

static bool is_named(const struct perf_entry *entry, const char *name)
{
    const char *there = (const char *)entry + entry->name_offset;
    size_t length = strlen(name);

    return entry->name_offset < entry->length && length < entry->length - entry->name_offset &&
           memcmp(there, name, length + 1) == 0;
}

static const uint64_t *number_of(const struct perf_entry *entry)
{
    bool is_number = entry->type == PERF_TYPE_LONG && !entry->vector_length &&
                     entry->data_offset % sizeof(uint64_t) == 0 &&
                     entry->length >= sizeof(uint64_t) &&
                     entry->data_offset <= entry->length - sizeof(uint64_t);

    return is_number ? (const uint64_t *)(const void *)((const char *)entry + entry->data_offset)
                     : NULL;
}

/* The counter of that name, or NULL. */
static const uint64_t *find(const char *memory, const char *name)
{
    const struct perf_prologue *prologue = (const struct perf_prologue *)(const void *)memory;
    uint32_t used = prologue->used, at = prologue->entry_offset;

    while (used <= PERF_BYTES_MAX && at % sizeof(uint64_t) == 0 && at < used &&
           used - at >= sizeof(struct perf_entry)) {
        const struct perf_entry *entry = (const struct perf_entry *)(const void *)(memory + at);

        if (entry->length < sizeof(*entry) || entry->length > used - at)
            return NULL;
        if (is_named(entry, name))
            return number_of(entry);
        at += entry->length;
    }
    return NULL;
}

bool safepoint_time__find_in(struct stopped_time *time, const char *memory)
{
    static const uint8_t magic[] = {0xca, 0xfe, 0xc0, 0xc0};
    const struct perf_prologue *prologue = (const struct perf_prologue *)(const void *)memory;
    const uint64_t *frequency, *at_safepoints, *until_stopped;

    memset(time, 0, sizeof(*time));
    if (memcmp(prologue->magic, magic, sizeof(magic)) != 0 ||
        prologue->major_version != PERF_MAJOR_VERSION)
        return false;
    frequency = find(memory, "sun.os.hrt.frequency");
    at_safepoints = find(memory, "sun.rt.safepointTime");
    until_stopped = find(memory, "sun.rt.safepointSyncTime");
    /* Until the JVM has started the frequency may not be told; it is that on every Linux. */
    if (frequency && *frequency != NS_PER_SECOND)
        return false;
    if (!at_safepoints || !until_stopped)
        return false;
    time->counters[0] = at_safepoints;
    time->counters[1] = until_stopped;
    return true;
}

bool safepoint_time__find(struct stopped_time *time)
{
    struct vm_structs structs;
    const char *missing;

    memset(time, 0, sizeof(*time));
    /* What else is missing does not matter here. */
    (void)vm_structs__read(&structs, &missing);
    if (!structs.perf_memory || !*structs.perf_memory)
        return false;
    return safepoint_time__find_in(time, *structs.perf_memory);
}
