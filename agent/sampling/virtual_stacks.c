#include "agent/sampling/virtual_stacks.h"

#include "native/hash_table.h"

#include <stdlib.h>

#define STACKS_MAX 1024u /* threads whose stacks are known; the oldest is forgotten */

/* The whole stack of a virtual thread at some time, innermost frame first. */
struct known_stack {
    ledger_ref thread;
    uint32_t count;
    uint64_t java_id; /* the record may be another thread's by now */
    struct java_method **methods;
    UT_hash_handle hh;
};

static void forget_stack(struct virtual_stacks *stacks, struct known_stack *stack)
{
    HASH_DEL(stacks->known, stack);
    free(stack->methods);
    free(stack);
}

static struct known_stack *find_stack(const struct virtual_stacks *stacks, ledger_ref thread)
{
    const struct ledger_thread *record = ledger__at(stacks->ledger, thread);
    struct known_stack *stack;

    HASH_FIND_INT(stacks->known, &thread, stack);
    return stack && stack->java_id == record->java_id ? stack : NULL;
}

/* A place for so many frames. */
static struct known_stack *renew_stack(struct virtual_stacks *stacks, ledger_ref thread,
                                       uint32_t count)
{
    const struct ledger_thread *record = ledger__at(stacks->ledger, thread);
    struct known_stack *stack;

    HASH_FIND_INT(stacks->known, &thread, stack);
    if (stack)
        forget_stack(stacks, stack);
    if (HASH_COUNT(stacks->known) >= STACKS_MAX)
        forget_stack(stacks, stacks->known);
    stack = count ? calloc(1, sizeof(*stack)) : NULL;
    if (!stack)
        return NULL;
    stack->thread = thread;
    stack->java_id = record->java_id;
    stack->methods = calloc(count, sizeof(struct java_method *));
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the table has let go of what was freed */
    HASH_ADD_INT(stacks->known, thread, stack);
    if (stack->hh.tbl && stack->methods)
        return stack;
    if (stack->hh.tbl)
        HASH_DEL(stacks->known, stack);
    free(stack->methods);
    free(stack);
    return NULL;
}

void virtual_stacks__note_recorded(struct virtual_stacks *stacks, const struct sample *sample)
{
    struct known_stack *stack = renew_stack(stacks, sample->thread, sample->frame_count);

    for (uint32_t i = 0; stack && i < sample->frame_count; i++)
        stack->methods[stack->count++] = (struct java_method *)(uintptr_t)sample->frames[i].where;
}

void virtual_stacks__note_sampled(struct virtual_stacks *stacks, const struct sample *sample,
                                  const struct named_frames *frames)
{
    struct known_stack *stack = renew_stack(stacks, sample->thread, frames->count);

    for (uint32_t i = 0; stack && i < frames->count; i++)
        if (frames->frame[i].java)
            stack->methods[stack->count++] = frames->frame[i].java;
}

static bool is_on_stack(const struct named_frames *frames, const struct java_method *method)
{
    for (uint32_t i = 0; i < frames->count; i++)
        if (frames->frame[i].java == method)
            return true;
    return false;
}

void virtual_stacks__complete(const struct virtual_stacks *stacks, struct frame_names *names,
                              const struct sample *sample, struct named_frames *frames)
{
    const struct known_stack *stack = find_stack(stacks, sample->thread);
    const struct java_method *last = frames->count ? frames->frame[frames->count - 1].java : NULL;
    const struct ledger_node *node = ledger__at(stacks->ledger, sample->node);
    uint32_t at = 0;

    if (!stack || !last)
        return;
    while (at < stack->count && stack->methods[at] != last)
        at++;
    while (++at < stack->count)
        named_frames__add_java(frames, stack->methods[at], -1, false);
    for (; node->method && ledger_node__kind(node) == NODE_EXACT;
         node = ledger__at(stacks->ledger, node->parent))
        if (!ledger_key__is_logical(node->key) &&
            !is_on_stack(frames, frame_names__method_of(names, node->method)))
            frames->count = frames->walked;
}

size_t virtual_stacks__bytes(const struct virtual_stacks *stacks)
{
    const struct known_stack *stack, *next;
    size_t bytes = 0;

    HASH_ITER (hh, stacks->known, stack, next)
        bytes += sizeof(*stack) + stack->count * sizeof(struct java_method *);
    return bytes;
}
