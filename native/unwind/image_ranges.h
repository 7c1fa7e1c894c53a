/*
 * Which image an address is in, while the images change: sorted arrays, each published whole. One
 * writer; readers on any thread and in signal handlers, who wait for nobody. An array is written
 * anew when it was the eighth last; who still searches it notices by its sequence number, as in a
 * seqlock, and begins again with the current one. So the memory is bounded and none is freed.
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
    struct range_array *outgrown; /* were too small */
    size_t next;
};

struct image_range {
    uint64_t start, end;
    const struct code_image *image;
};

/* The image with that address; NULL: none. Async-signal-safe. */
const struct code_image *image_ranges__find(const struct image_ranges *ranges, uint64_t address);

/* The ranges, by start, which do not overlap. 0 or -ENOMEM: then it is as it was. */
int image_ranges__publish(struct image_ranges *ranges, const struct image_range *sorted,
                          size_t count);

/* Nobody may read any more. */
void image_ranges__free(struct image_ranges *ranges);

#endif
