/*
 * The functions that a thread is in, as far as hooks told, with where each frame lies. A frame that
 * longjmp or an exception left has no exit: it is found out by the frames that are there, at the
 * next event of a function.
 *
 * Of two frames on one stack the inner one has the lower end, and a live frame's return address is
 * where it was. So a frame is over if a function enters whose frame ends above it, if the word
 * below its end is no longer its return address, or if the same call at the same place enters
 * again. A function that is inlined shares the frame of the one around it.
 *
 * On a stack that is not the thread's own (a signal's, a coroutine's) addresses say nothing: there
 * a frame is over when one below it exits.
 *
 * Used by the thread itself, in hooks: nothing here locks or allocates but __init, at the first
 * one.
 */
#ifndef TREADLE_FUNCTION_STACK_H
#define TREADLE_FUNCTION_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define FUNCTION_STACK_MOST 262144u /* frames; deeper ones are not recorded */

struct open_function {
    uint64_t end;   /* of the frame: where the caller's begins; if it is not known, sp | 1 */
    uint64_t site;  /* the frame's return address */
    uint64_t place; /* where the function called its hook */
    uint64_t token; /* of the call tree */
    uint64_t key;
};

struct function_stack {
    struct open_function *frames; /* FUNCTION_STACK_MOST; address space. NULL: no memory */
    uint32_t depth;
    uint64_t low, high; /* the thread's stack; 0, 0: not known */
};

/* Takes address space, which takes memory as it is used. */
void function_stack__init(struct function_stack *stack);
void function_stack__release(struct function_stack *stack);

/* Returns how many frames are open when the frame `entering` enters: those behind are over. */
uint32_t function_stack__alive(const struct function_stack *stack,
                               const struct open_function *entering);

/* Returns the index of the frame that exits, or, if it is not there, that of the outermost frame
 * that is over because of it: *found says which. The depth: there is neither. */
uint32_t function_stack__leaving(const struct function_stack *stack,
                                 const struct open_function *leaving, bool *found);

#endif
