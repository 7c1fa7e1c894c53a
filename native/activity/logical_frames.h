/*
 * The logical frames that a program pushes, as a profiler inside the process numbers them: pairs of
 * an identifier and a parameter, each with a number by which call trees name the frame. For Java
 * programs (agent/api) and for those that have treadle.h (native/preload).
 *
 * Bounded; nothing is ever removed. Any thread may add and look up, also in a signal handler:
 * nothing locks or allocates. The texts' memory is one piece of address space, which the first
 * addition maps and which takes memory as it is used.
 */
#ifndef TREADLE_LOGICAL_FRAMES_H
#define TREADLE_LOGICAL_FRAMES_H

#include "native/ledger/ledger.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOGICAL_FRAMES_MAX     6000u
#define LOGICAL_PARAMETERS_MAX 1000u /* frames with a parameter */
#define LOGICAL_FRAME_SLOTS    8192u
#define LOGICAL_FRAME_SPACE    (8u << 20)
#define LOGICAL_OTHER          "(other)"

/* Flags of a number: the frame stands for those that found no room, with its own identifier or with
 * none. */
#define LOGICAL_OTHER_PARAMETER  0x100000
#define LOGICAL_OTHER_IDENTIFIER 0x200000
#define LOGICAL_FRAME_NONE       (-1)

struct logical_frame;

struct logical_frames {
    struct logical_frame *_Atomic frame[LOGICAL_FRAME_SLOTS]; /* by hash of the texts and flags */
    _Atomic uint32_t count;
    _Atomic uint32_t parameters;
    _Atomic size_t bytes; /* of all frames */
    void *_Atomic space;  /* LOGICAL_FRAME_SPACE; NULL: nothing was added yet */
};

/* Bytes of memory, the table included. */
static inline size_t logical_frames__bytes(const struct logical_frames *frames)
{
    return sizeof(*frames) + atomic_load_explicit(&frames->bytes, memory_order_relaxed);
}

/* The frame's number, which is the same for the same texts and flags; for want of room that of the
 * frame that stands for it. An empty parameter is none. LOGICAL_FRAME_NONE: no memory. */
int32_t logical_frames__number(struct logical_frames *frames, const char *identifier,
                               const char *parameter, int32_t flags);

/* True if there is a frame with that number. */
bool logical_frames__has(const struct logical_frames *frames, int32_t number);

/* The frame's key in call trees, and its number. */
static inline uint64_t logical_frame__key(int32_t number)
{
    return LEDGER_LOGICAL_KEYS | ((uint32_t)number & LEDGER_LOGICAL_KEY_MASK);
}

static inline int32_t logical_frame__number(uint64_t key)
{
    return (int32_t)(key & LEDGER_LOGICAL_KEY_MASK);
}

/* A call_tree_resolve but for its context: makes the method record of the frame with that key. */
ledger_ref logical_frames__resolve(const struct logical_frames *frames, struct ledger *ledger,
                                   uint64_t key);

/* Gives the texts' memory back: no number is valid any more. */
void logical_frames__release(struct logical_frames *frames);

/* To be called for each push: what the frame of that number stands for instead. */
static inline void logical_frame__count(struct ledger_header *header, int32_t number)
{
    if (__builtin_expect(number & LOGICAL_OTHER_PARAMETER, 0))
        ledger__count(&header->other_parameters, 1);
    else if (__builtin_expect(number & LOGICAL_OTHER_IDENTIFIER, 0))
        ledger__count(&header->lost_identifiers, 1);
}

#endif
