/*
 * The functions that a thread is in, as far as hooks told, with where each frame lies; and among
 * them the logical frames that it has pushed. A frame that
 * longjmp or an exception left has no exit: it is found out by the frames that are there, at the
 * next event of a function.
 *
 * Of two frames on one stack the inner one has the lower end, and a live frame's return address is
 * where it was. So a frame is over if a function enters whose frame ends above it, if the word
 * below its end is no longer its return address, or if the same call at the same place enters
 * again. A function that is inlined shares the frame of the one around it.
 *
 * A logical frame has the place where the stack of the function that pushed it ended. So it is over
 * if a logical frame is pushed or popped, or a function enters, whose place or end lies above that,
 * unless that function is inlined in the pusher; and whenever the function around it is over.
 *
 * On a stack that is not the thread's own (a signal's, a coroutine's) addresses say nothing: there
 * a frame is over when one below it exits; a logical frame without a function of that stack around
 * it, with the next event on the thread's own. Where a logical frame does not know its place, that
 * is 0, on no stack.
 *
 * Used by the thread itself, in hooks: nothing here locks or allocates but __init, at the first
 * one.
 */
#ifndef TREADLE_FUNCTION_STACK_H
#define TREADLE_FUNCTION_STACK_H

#include "native/ledger/ledger_nodes.h"

#include <stdbool.h>
#include <stdint.h>

#define FUNCTION_STACK_MOST      262144u     /* frames; deeper ones are not recorded */
#define FUNCTION_STACK_ELSEWHERE UINT64_C(2) /* the place of what is pushed on another stack */

struct open_function {
    uint64_t end; /* of the frame: where the caller's begins; if it is not known, sp | 1. Of a
                     logical frame: its place */
    union {
        uint64_t site; /* the frame's return address */
        uint64_t mark; /* of a logical frame */
    };
    union {
        uint64_t place;        /* where the function called its hook */
        uint64_t segment_mark; /* of a logical frame */
    };
    uint64_t token; /* of the call tree */
    uint64_t key;   /* of a function's node, or of LEDGER_LOGICAL_KEYS */
    uint32_t other; /* 1 + the index of the youngest frame of the other kind below; 0: none */
    bool has_part;  /* a logical frame: it is a part of a chain */
};

struct function_stack {
    struct open_function *frames; /* FUNCTION_STACK_MOST; address space. NULL: no memory */
    uint32_t depth;
    uint32_t
        unrecorded;     /* logical frames that were pushed when there was no room, and not popped */
    uint64_t marks;     /* given so far */
    uint64_t low, high; /* the thread's stack; 0, 0: not known */
};

static inline bool open_function__is_logical(const struct open_function *frame)
{
    return ledger_key__is_logical(frame->key);
}

/* Takes address space, which takes memory as it is used. */
void function_stack__init(struct function_stack *stack);
void function_stack__release(struct function_stack *stack);

/* Adds a frame, whose `other` is filled in here. There must be room. */
void function_stack__add(struct function_stack *stack, const struct open_function *frame);

/* 1 + the index of the youngest logical frame among the first `depth` frames; 0: none. */
uint32_t function_stack__logical(const struct function_stack *stack, uint32_t depth);

/* The same for the frame with that mark. */
uint32_t function_stack__marked(const struct function_stack *stack, uint64_t mark);

/* Where the youngest frame lies, a logical one with that key; it may be the last but one while a
 * hook has still to take off the last. *found: it is there. 0: it does not know its place,
 * or lies on another stack. Async-signal-safe. */
uint64_t function_stack__place_of(const struct function_stack *stack, uint64_t key, bool *found);

/* Returns how many frames are open when the frame `entering` enters: those behind are over. */
uint32_t function_stack__alive(const struct function_stack *stack,
                               const struct open_function *entering);

/* Returns the index of the frame that exits, or, if it is not there, that of the outermost frame
 * that is over because of it: *found says which. The depth: there is neither. */
uint32_t function_stack__leaving(const struct function_stack *stack,
                                 const struct open_function *leaving, bool *found);

#endif
