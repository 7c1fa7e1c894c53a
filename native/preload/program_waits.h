/*
 * Why the program's threads wait: wrappers of the C library's functions bracket their waits, whose
 * reasons and times are noted as native/thread/wait_bracket.h says of waits that are only timed.
 * Waits that are too many for the budget are timed one in so many.
 *
 * Async-signal-safe, errno stays as it is; nothing here locks, blocks or allocates.
 */
#ifndef TREADLE_PROGRAM_WAITS_H
#define TREADLE_PROGRAM_WAITS_H

#include "native/preload/preload_thread.h"

#include <stdint.h>

/* Where the function's frame lies that brackets a wait. */
#define WAIT_FRAME() ((uint64_t)(uintptr_t)__builtin_frame_address(0))

/* The calling thread is about to wait, for that reason. NULL: its wait is not timed. Of nested
 * waits, as that of a signal's handler that comes in a wait, the outermost one counts. One that was
 * left by longjmp or an exception ends with the next one that begins no further in. */
struct preload_thread *program_waits__begin(enum ledger_metric reason, uint64_t frame);

/* mine: what begin has returned. */
void program_waits__end_timed(struct preload_thread *mine, uint64_t frame);

static inline void program_waits__end(struct preload_thread *mine, uint64_t frame)
{
    if (mine)
        program_waits__end_timed(mine, frame);
}

/* The function `name` that the program would call without this library: the C library's, or that of
 * another library that was preloaded. Found before the program begins, or at the first call. */
#define NEXT(name)                                                                                 \
    static __typeof__(&(name)) next_##name;                                                        \
    static __attribute__((constructor(101))) void find_##name(void)                                \
    {                                                                                              \
        if (!next_##name)                                                                          \
            next_##name = (__typeof__(next_##name))(uintptr_t)dlsym(RTLD_NEXT, #name);             \
    }

/* A function that waits, and does nothing else of ours. */
#define WAITS_IF(may_wait, type, name, reason, parameters, arguments)                              \
    NEXT(name)                                                                                     \
    PRELOAD_EXPORT type name parameters                                                            \
    {                                                                                              \
        uint64_t frame = WAIT_FRAME();                                                             \
        struct preload_thread *mine = (may_wait) ? program_waits__begin(reason, frame) : NULL;     \
        type result;                                                                               \
                                                                                                   \
        if (__builtin_expect(!next_##name, 0))                                                     \
            find_##name();                                                                         \
        result = next_##name arguments;                                                            \
        program_waits__end(mine, frame);                                                           \
        return result;                                                                             \
    }

#define WAITS(type, name, reason, parameters, arguments)                                           \
    WAITS_IF(true, type, name, reason, parameters, arguments)

#endif
