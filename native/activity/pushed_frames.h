/*
 * The numbers of the logical frames that a program pushes with treadle.h: found by the address of
 * the identifier and by the parameter. What was found once is found again in one look, in most
 * cases. The text of an identifier never changes, but a library that was unloaded leaves its
 * address to another one: so the text's checksum is compared as well.
 *
 * Bounded, as the table of native/activity/logical_frames.h is. For hooks, in any thread and in
 * signal handlers: nothing locks or allocates but address space, with the first frame.
 */
#ifndef TREADLE_PUSHED_FRAMES_H
#define TREADLE_PUSHED_FRAMES_H

#include "native/activity/logical_frames.h"

#ifndef TREADLE_FORMAT_ONLY
#define TREADLE_FORMAT_ONLY
#endif
#include "native/activity/treadle.h"

#define PUSHED_FRAMES_MAX   8192u /* that are remembered */
#define PUSHED_FRAMES_SLOTS 16384u

/* Constant once it is in a slot. */
struct pushed_frame {
    const char *identifier;
    uint64_t text; /* checksum of the identifier's */
    uint64_t what;
    uint64_t parameter[TREADLE_PARAMETER_BYTES / 8];
    int32_t number;
};

struct pushed_frames {
    struct logical_frames frames;
    struct pushed_frame *_Atomic slot[PUSHED_FRAMES_SLOTS];
    void *_Atomic space; /* of PUSHED_FRAMES_MAX; NULL: nothing was pushed yet */
    _Atomic uint32_t used;
};

/* Bytes of memory, the tables included. */
static inline size_t pushed_frames__bytes(const struct pushed_frames *frames)
{
    uint32_t used = atomic_load_explicit(&frames->used, memory_order_relaxed);

    return sizeof(*frames) - sizeof(frames->frames) + used * sizeof(struct pushed_frame) +
           logical_frames__bytes(&frames->frames);
}

/* LOGICAL_FRAME_NONE: there is no memory. Counts in the header identifiers that are cut, each time
 * that one is looked up by its text. */
int32_t pushed_frames__number(struct pushed_frames *frames, const struct treadle_pushed *pushed,
                              struct ledger_header *header);

/* Gives all memory back: no number is valid any more. */
void pushed_frames__release(struct pushed_frames *frames);

#endif
