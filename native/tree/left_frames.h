/*
 * Frames that stand, but not on the path of the current node: where a folded frame continued at a
 * node further up, its callers below that node were left there. How many of each method, so that a
 * new frame's recursion level is known: those on its path, and these.
 *
 * Of more than LEFT_METHODS_MAX methods at once the others' levels are taken for those of their
 * paths.
 */
#ifndef TREADLE_LEFT_FRAMES_H
#define TREADLE_LEFT_FRAMES_H

#include <stdint.h>

#define LEFT_METHOD_SLOTS 256u
#define LEFT_METHODS_MAX  (LEFT_METHOD_SLOTS * 3 / 4)

struct left_frames {
    uint32_t methods; /* slots that are not free */
    struct left_method {
        uint64_t key; /* 0: free */
        uint64_t frames;
    } slots[LEFT_METHOD_SLOTS];
};

/* … of a method. */
uint64_t left_frames__of(const struct left_frames *left, uint64_t key);

/* So many more, one less. */
void left_frames__add(struct left_frames *left, uint64_t key, uint64_t frames);
void left_frames__take(struct left_frames *left, uint64_t key);

void left_frames__clear(struct left_frames *left);

#endif
