#include "native/unwind/image_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A search gives up after so many tries: in each of them the array was overwritten, after eight
 * changes. */
#define TRIES 4

struct range_array {
    struct range_array *next; /* among the outgrown ones */
    uint64_t sequence;        /* odd: being written */
    size_t count, room;
    struct image_range ranges[];
};

/* Acquire on every word keeps the last look at the sequence number behind all of them. */
static uint64_t start_of(const struct range_array *array, size_t index)
{
    return __atomic_load_n(&array->ranges[index].start, __ATOMIC_ACQUIRE);
}

static const struct code_image *search(const struct range_array *array, uint64_t address)
{
    size_t low = 0, high = __atomic_load_n(&array->count, __ATOMIC_ACQUIRE);

    if (high > array->room || high == 0 || start_of(array, 0) > address)
        return NULL;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (start_of(array, middle) <= address)
            low = middle;
        else
            high = middle;
    }
    if (address >= __atomic_load_n(&array->ranges[low].end, __ATOMIC_ACQUIRE))
        return NULL;
    return __atomic_load_n(&array->ranges[low].image, __ATOMIC_ACQUIRE);
}

const struct code_image *image_ranges__find(const struct image_ranges *ranges, uint64_t address)
{
    for (int try = 0; try < TRIES; try++) {
        const struct range_array *array = __atomic_load_n(&ranges->current, __ATOMIC_ACQUIRE);
        const struct code_image *found;
        uint64_t sequence;

        if (!array)
            return NULL;
        sequence = __atomic_load_n(&array->sequence, __ATOMIC_ACQUIRE);
        if (sequence & 1)
            continue;
        found = search(array, address);
        if (__atomic_load_n(&array->sequence, __ATOMIC_RELAXED) == sequence)
            return found;
    }
    return NULL;
}

/* The array to write next, with room for `count` ranges. NULL: no memory. */
static struct range_array *array_with_room(struct image_ranges *ranges, size_t count)
{
    struct range_array **slot = &ranges->arrays[ranges->next];
    size_t room = *slot ? (*slot)->room : 64;
    struct range_array *larger;

    if (*slot && room >= count)
        return *slot;
    while (room < count)
        room *= 2;
    larger = calloc(1, sizeof(*larger) + room * sizeof(larger->ranges[0]));
    if (!larger)
        return NULL;
    larger->room = room;
    if (*slot) {
        (*slot)->next = ranges->outgrown;
        ranges->outgrown = *slot;
    }
    *slot = larger;
    return larger;
}

/* Release on every word keeps the words behind the odd sequence number. */
static void write_ranges(struct range_array *array, const struct image_range *sorted, size_t count)
{
    uint64_t sequence = array->sequence;

    __atomic_store_n(&array->sequence, sequence + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&array->count, count, __ATOMIC_RELEASE);
    for (size_t i = 0; i < count; i++) {
        __atomic_store_n(&array->ranges[i].start, sorted[i].start, __ATOMIC_RELEASE);
        __atomic_store_n(&array->ranges[i].end, sorted[i].end, __ATOMIC_RELEASE);
        __atomic_store_n(&array->ranges[i].image, sorted[i].image, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&array->sequence, sequence + 2, __ATOMIC_RELEASE);
}

int image_ranges__publish(struct image_ranges *ranges, const struct image_range *sorted,
                          size_t count)
{
    struct range_array *array = array_with_room(ranges, count);

    if (!array)
        return -ENOMEM;
    write_ranges(array, sorted, count);
    __atomic_store_n(&ranges->current, array, __ATOMIC_RELEASE);
    ranges->next = (ranges->next + 1) % RANGE_ARRAYS;
    return 0;
}

void image_ranges__free(struct image_ranges *ranges)
{
    for (size_t i = 0; i < RANGE_ARRAYS; i++)
        free(ranges->arrays[i]);
    while (ranges->outgrown) {
        struct range_array *array = ranges->outgrown;

        ranges->outgrown = array->next;
        free(array);
    }
    memset(ranges, 0, sizeof(*ranges));
}
