/* Knows the one agent: callers pass nothing of ours. */
#include "agent/native_wait_wrappers.h"

#include "agent/agent.h"

static struct native_locks *locks(void)
{
    return &treadle_agent.native_locks;
}

/* A function cannot do: each needs one of its own, of its type. */
#define WAITING_CALL_IF(may_wait, type, name, reason, parameters, arguments)                       \
    static type wrapper_of_##name parameters                                                       \
    {                                                                                              \
        struct kernel_thread *mine =                                                               \
            (may_wait) ? native_locks__begin_wait(locks(), reason) : NULL;                         \
        type result = name arguments;                                                              \
                                                                                                   \
        native_locks__end_wait(mine, reason);                                                      \
        return result;                                                                             \
    }
#define WAITING_CALL(type, name, reason, parameters, arguments)                                    \
    WAITING_CALL_IF(true, type, name, reason, parameters, arguments)
#include "native/host/waiting_calls.h"

size_t native_wait_wrappers__table(struct import_replacement table[NATIVE_WAIT_WRAPPERS])
{
#define WAITING_CALL(type, called, reason, parameters, arguments)                                  \
    {.name = #called,                                                                              \
     .original = (void *)(uintptr_t)(called),                                                      \
     .function = (void *)(uintptr_t)wrapper_of_##called},
#define WAITING_CALL_IF(may_wait, type, called, reason, parameters, arguments)                     \
    WAITING_CALL(type, called, reason, parameters, arguments)
    const struct import_replacement rows[] = {
#include "native/host/waiting_calls.h"
    };
    _Static_assert(sizeof(rows) / sizeof(*rows) == NATIVE_WAIT_WRAPPERS, "a row for each");

    for (size_t i = 0; i < NATIVE_WAIT_WRAPPERS; i++)
        table[i] = rows[i];
    return NATIVE_WAIT_WRAPPERS;
}
