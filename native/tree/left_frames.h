/*
 * Left frames: frames that are on the stack but not on the path of the current node. When a folded
 * frame continues at a node further up, its callers below that node are left. Their number per
 * method is kept, because a new frame's recursion level is the number of frames of its method on
 * its path plus the left frames.
 *
 * At most LEFT_METHODS_MAX methods are kept at once. For other methods the level is that of the
 * path alone. Used by the writer of the tree. Nothing here locks, blocks or allocates.
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

/* The left frames of one method. */
uint64_t left_frames__of(const struct left_frames *left, uint64_t key);

/* add: adds so many left frames of a method. take: removes one. */
void left_frames__add(struct left_frames *left, uint64_t key, uint64_t frames);
void left_frames__take(struct left_frames *left, uint64_t key);

void left_frames__clear(struct left_frames *left);

#endif
