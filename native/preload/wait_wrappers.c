/*
 * What stands before functions of the C library that wait for time, I/O, signals and processes. A
 * wait inside the C library that the program does not begin by one of these names has no reason.
 */
#include "native/preload/function_hooks.h"
#include "native/preload/program_waits.h"

#include <dlfcn.h>
#include <sys/epoll.h>

/* Not in all C libraries: from glibc 2.35 on. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
WAITS(int, epoll_pwait2, METRIC_IO_WAIT,
      (int fd, struct epoll_event *events, int count, const struct timespec *most,
       const sigset_t *mask),
      (fd, events, count, most, mask))

#define WAITING_CALL    WAITS
#define WAITING_CALL_IF WAITS_IF
/* native/preload/signal_wrappers.c */
#define WAITING_CALL_TAKES(type, name, reason, parameters, arguments)
#include "native/host/waiting_calls.h"
