/*
 * Which image contains an address, while the images change: sorted arrays, each published as a
 * whole. One writer; readers on any thread and in signal handlers, which never wait. An array is
 * overwritten when it is the eighth last. A reader that still searches it notices that by its
 * sequence number, as in a seqlock, and starts again with the current array. So the memory is
 * bounded and none is freed.
 */
#ifndef TREADLE_IMAGE_RANGES_H
#define TREADLE_IMAGE_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct code_image;
struct range_array;

#define RANGE_ARRAYS 8u

struct image_ranges {
    struct range_array *current;
    struct range_array *arrays[RANGE_ARRAYS];
    struct range_array *outgrown; /* arrays that were too small */
    size_t next;
};

struct image_range {
    uint64_t start, end;
    const struct code_image *image;
};

/* Returns the image that contains the address; NULL: none. Async-signal-safe. */
const struct code_image *image_ranges__find(const struct image_ranges *ranges, uint64_t address);

/* Sets the ranges, which are sorted by start and do not overlap. 0 or -ENOMEM: nothing has changed.
 */
int image_ranges__publish(struct image_ranges *ranges, const struct image_range *sorted,
                          size_t count);

/* No reader may be left. */
void image_ranges__free(struct image_ranges *ranges);

#endif
