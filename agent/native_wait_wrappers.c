/* Knows the one agent: callers pass nothing of ours. */
#include "agent/native_wait_wrappers.h"

#include "agent/agent.h"

#include <dlfcn.h>

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

/* Not in all C libraries that the rest runs with: from glibc 2.35 on. */
static __typeof__(&epoll_pwait2) found_epoll_pwait2;

static int wrapper_of_epoll_pwait2(int fd, struct epoll_event *events, int count,
                                   const struct timespec *most, const sigset_t *mask)
{
    struct kernel_thread *mine = native_locks__begin_wait(locks(), METRIC_IO_WAIT);
    int result = found_epoll_pwait2(fd, events, count, most, mask);

    native_locks__end_wait(mine, METRIC_IO_WAIT);
    return result;
}

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
    size_t count = sizeof(rows) / sizeof(*rows);
    void *found = dlsym(RTLD_DEFAULT, "epoll_pwait2");
    _Static_assert(sizeof(rows) / sizeof(*rows) + 1 == NATIVE_WAIT_WRAPPERS, "a row for each");

    for (size_t i = 0; i < count; i++)
        table[i] = rows[i];
    if (!found)
        return count;
    found_epoll_pwait2 = (__typeof__(found_epoll_pwait2))(uintptr_t)found;
    table[count++] = (struct import_replacement){
        .name = "epoll_pwait2",
        .original = found,
        .function = (void *)(uintptr_t)wrapper_of_epoll_pwait2,
    };
    return count;
}
