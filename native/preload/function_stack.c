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

/* Both frames are on the thread's own stack. */
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

uint32_t function_stack__alive(const struct function_stack *stack,
                               const struct open_function *entering)
{
    uint32_t depth = stack->depth;

    if (!is_here(stack, entering))
        return depth;
    while (depth && is_here(stack, &stack->frames[depth - 1]) &&
           is_over(&stack->frames[depth - 1], entering))
        depth--;
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
