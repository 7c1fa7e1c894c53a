#include "native/preload/function_stack.h"

#include <stddef.h>
#include <sys/mman.h>

#define SP_ONLY UINT64_C(1) /* in `end` */

void function_stack__init(struct function_stack *stack)
{
    void *frames = mmap(NULL, FUNCTION_STACK_MOST * sizeof(struct open_function),
                        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    stack->frames = frames == MAP_FAILED ? NULL : frames;
    stack->depth = 0;
}

void function_stack__release(struct function_stack *stack)
{
    if (stack->frames)
        munmap(stack->frames, FUNCTION_STACK_MOST * sizeof(struct open_function));
    stack->frames = NULL;
    stack->depth = 0;
}

static bool is_here(const struct function_stack *stack, const struct open_function *frame)
{
    return frame->end - stack->low <= stack->high - stack->low;
}

static bool is_exact(const struct open_function *frame)
{
    return !(frame->end & SP_ONLY);
}

void function_stack__add(struct function_stack *stack, const struct open_function *frame)
{
    struct open_function *added = &stack->frames[stack->depth];

    *added = *frame;
    added->other = 0;
    if (stack->depth)
        added->other = open_function__is_logical(added - 1) == open_function__is_logical(frame)
                           ? added[-1].other
                           : stack->depth;
    stack->depth++;
}

uint32_t function_stack__logical(const struct function_stack *stack, uint32_t depth)
{
    if (depth && !open_function__is_logical(&stack->frames[depth - 1]))
        return stack->frames[depth - 1].other;
    return depth;
}

/* Marks rise along a stack. */
uint32_t function_stack__marked(const struct function_stack *stack, uint64_t mark)
{
    uint32_t at = function_stack__logical(stack, stack->depth);

    while (at && stack->frames[at - 1].mark > mark)
        at = function_stack__logical(stack, at - 1);
    return at && stack->frames[at - 1].mark == mark ? at : 0;
}

uint64_t function_stack__place_of(const struct function_stack *stack, uint64_t key, bool *found)
{
    for (uint32_t at = stack->depth; at && at + 2 > stack->depth; at--) {
        const struct open_function *frame = &stack->frames[at - 1];

        *found = frame->key == key && open_function__is_logical(frame);
        if (*found)
            return frame->end == FUNCTION_STACK_ELSEWHERE ? 0 : frame->end;
    }
    *found = false;
    return 0;
}

/* Both frames are functions on the thread's own stack. */
static bool is_over(const struct open_function *frame, const struct open_function *entering)
{
    if (!is_exact(frame) || !is_exact(entering))
        return (frame->end & ~SP_ONLY) < (entering->end & ~SP_ONLY);
    if (frame->end < entering->end)
        return true;
    if (frame->end > entering->end)
        return *(const volatile uint64_t *)(uintptr_t)(frame->end - 8) != frame->site;
    return frame->site != entering->site || frame->place == entering->place;
}

/* A function on the thread's own stack, and the place of a logical frame that is pushed or popped.
 * Where the end is not known, nothing is. */
static bool is_over_at(const struct open_function *function, uint64_t place)
{
    return is_exact(function) &&
           (function->end <= place ||
            *(const volatile uint64_t *)(uintptr_t)(function->end - 8) != function->site);
}

/* The logical frame is on the thread's own stack. */
static bool is_logical_over(const struct function_stack *stack, const struct open_function *logical,
                            const struct open_function *entering)
{
    const struct open_function *around;

    if (logical->end >= (entering->end & ~SP_ONLY))
        return false;
    if (open_function__is_logical(entering) || !logical->other)
        return true;
    around = &stack->frames[logical->other - 1];
    return around->end != entering->end || is_over(around, entering);
}

/* The logical frame was pushed on another stack, as by the handler of a signal, and something
 * happens on the thread's own. A function around it that is on another stack, too, says when it is
 * over. */
static bool is_elsewhere_over(const struct function_stack *stack,
                              const struct open_function *logical)
{
    return logical->end == FUNCTION_STACK_ELSEWHERE &&
           (!logical->other || is_here(stack, &stack->frames[logical->other - 1]));
}

/* Whether the frames below a logical one that is not over are, the function around it says. */
uint32_t function_stack__alive(const struct function_stack *stack,
                               const struct open_function *entering)
{
    uint32_t depth = stack->depth, at = depth;

    if (!is_here(stack, entering))
        return depth;
    while (at) {
        const struct open_function *frame = &stack->frames[at - 1];
        bool here = is_here(stack, frame);

        if (open_function__is_logical(frame)) {
            if (here ? is_logical_over(stack, frame, entering) : is_elsewhere_over(stack, frame))
                depth = --at;
            else
                at = frame->other;
            continue;
        }
        if (!here || !(open_function__is_logical(entering) ? is_over_at(frame, entering->end)
                                                           : is_over(frame, entering)))
            break;
        depth = --at;
    }
    return depth;
}

/* A frame whose end is not known is the same one if it is of the same call of the same function. */
static bool is_same(const struct open_function *frame, const struct open_function *leaving)
{
    if (frame->key != leaving->key || frame->site != leaving->site)
        return false;
    return !is_exact(frame) || !is_exact(leaving) || frame->end == leaving->end;
}

uint32_t function_stack__leaving(const struct function_stack *stack,
                                 const struct open_function *leaving, bool *found)
{
    bool here = is_here(stack, leaving);
    uint32_t at, over = stack->depth;

    *found = false;
    for (at = stack->depth; at; at--) {
        const struct open_function *frame = &stack->frames[at - 1];
        bool comparable = here && is_here(stack, frame) && is_exact(frame) && is_exact(leaving);

        *found = is_same(frame, leaving);
        if (*found)
            return at - 1;
        if (comparable && frame->end > leaving->end)
            break;
        if (comparable && frame->end < leaving->end)
            over = at - 1;
    }
    return over;
}
