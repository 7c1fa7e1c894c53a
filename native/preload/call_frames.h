/*
 * Where frames lie: the address behind a function's frame (the canonical frame address), for a
 * place in the function that calls a hook. What the function's call frame information says of such
 * a place is looked up once and kept. Async-signal-safe; nothing here locks or allocates.
 */
#ifndef TREADLE_CALL_FRAMES_H
#define TREADLE_CALL_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#define CALL_PLACES_BITS 14u

/* By place: its address << 16 | a rule. Zero: free. */
struct call_frames {
    uint64_t *places;  /* 1 << CALL_PLACES_BITS; address space */
    void *find_object; /* the C library's _dl_find_object; NULL: there is none */
};

/* What a hook knows of the frame that called it. */
struct hook_frame {
    uint64_t place; /* in the calling function: where the hook returns to */
    uint64_t sp;    /* there */
    uint64_t fp;    /* ditto */
};

/* True where a hook that is jumped to, and returns to its caller's caller, has the end of its
 * caller's frame in `sp`. Elsewhere frames have no end that is known. */
#ifdef __x86_64__
#define HOOK_SP_IS_END true
#else
#define HOOK_SP_IS_END false
#endif

/* 0 or -ENOMEM. */
int call_frames__init(struct call_frames *frames);

/* An image was unloaded: other code may come to lie where it was. */
void call_frames__forget(struct call_frames *frames);

/* A rule: CFA = sp or fp + 8 * offset. */
#define FRAME_RULE_FP      0x8000u
#define FRAME_RULE_UNKNOWN 0x7fffu
#define FRAME_RULE_OFFSET  0x7fffu

/* Looks the place up in the call frame information, and keeps what it finds. */
uint32_t call_frames__look_up(struct call_frames *frames, uint64_t place);

/* The address behind the frame; 0: not known. */
static inline uint64_t call_frames__end(struct call_frames *frames, const struct hook_frame *frame)
{
    uint64_t *kept =
        &frames->places[frame->place * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CALL_PLACES_BITS)];
    uint64_t known = __atomic_load_n(kept, __ATOMIC_RELAXED);
    uint32_t rule = (uint32_t)(known & 0xffff);

    if (__builtin_expect(known >> 16 != (frame->place & UINT64_C(0xffffffffffff)), 0))
        rule = call_frames__look_up(frames, frame->place);
    if (__builtin_expect(rule == FRAME_RULE_UNKNOWN, 0))
        return 0;
    return (rule & FRAME_RULE_FP ? frame->fp : frame->sp) +
           8 * (uint64_t)(rule & FRAME_RULE_OFFSET);
}

#endif
