/* The stack that a walk may read: whole words of it. */
#ifndef TREADLE_WALKED_STACK_H
#define TREADLE_WALKED_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_WORD 8u

struct walked_stack {
    uint64_t sp, end;
};

static inline bool walked_stack__holds(const struct walked_stack *stack, uint64_t address)
{
    return address >= stack->sp && address < stack->end && stack->end - address >= STACK_WORD &&
           address % STACK_WORD == 0;
}

/* Not checked by the sanitizers, which call it an error to read what another frame keeps on the
 * stack. */
__attribute__((no_sanitize_address, no_sanitize_thread)) static inline uint64_t walked_stack__load(
    uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address;
}

#endif
