/*
 * What stands before functions of the C library that set, or wait for, the signal that asks for
 * samples: the program sees its own action only, and the signals that others send. Knows the one
 * profiler.
 */
#include "native/preload/signal_wrappers.h"

#include "native/preload/function_hooks.h"
#include "native/preload/preload.h"
#include "native/preload/program_waits.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <time.h>

#define NS_PER_S 1000000000u

typedef void (*signal_handler)(int);

/* Other names of the same two. No header declares all of them. */
signal_handler bsd_signal(int number, signal_handler handler);
signal_handler ssignal(int number, signal_handler handler);
signal_handler sysv_signal(int number, signal_handler handler);
signal_handler __sysv_signal(int number, signal_handler handler);

NEXT(sigaction)
NEXT(signal)
NEXT(sysv_signal)
NEXT(sigtimedwait)
NEXT(signalfd)

#define FIND_NEXT(name)                                                                            \
    do                                                                                             \
        if (__builtin_expect(!next_##name, 0))                                                     \
            find_##name();                                                                         \
    while (0)

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's own names are
 * reserved
 */
PRELOAD_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    FIND_NEXT(sigaction);
    if (!program_signal__is(&preload_process.signal, number))
        return next_sigaction(number, action, before);
    program_signal__exchange(&preload_process.signal, action, before);
    return 0;
}

static signal_handler set_handler(signal_handler handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;

    sigemptyset(&action.sa_mask);
    program_signal__exchange(&preload_process.signal, &action, &before);
    return before.sa_handler;
}

PRELOAD_EXPORT signal_handler signal(int number, signal_handler handler)
{
    FIND_NEXT(signal);
    return program_signal__is(&preload_process.signal, number) && handler != SIG_ERR
               ? set_handler(handler, SA_RESTART)
               : next_signal(number, handler);
}

PRELOAD_EXPORT signal_handler bsd_signal(int number, signal_handler handler)
{
    return signal(number, handler);
}

PRELOAD_EXPORT signal_handler ssignal(int number, signal_handler handler)
{
    return signal(number, handler);
}

PRELOAD_EXPORT signal_handler sysv_signal(int number, signal_handler handler)
{
    FIND_NEXT(sysv_signal);
    return program_signal__is(&preload_process.signal, number) && handler != SIG_ERR
               ? set_handler(handler, (int)SA_RESETHAND | SA_NODEFER)
               : next_sysv_signal(number, handler);
}

PRELOAD_EXPORT signal_handler __sysv_signal(int number, signal_handler handler)
{
    return sysv_signal(number, handler);
}

static struct timespec left_until(uint64_t end_ns)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), left_ns = end_ns > now_ns ? end_ns - now_ns : 0;

    return (struct timespec){.tv_sec = (time_t)(left_ns / NS_PER_S),
                             .tv_nsec = (long)(left_ns % NS_PER_S)};
}

/* For ever where no clock shows that time. */
static uint64_t end_of(const struct timespec *most)
{
    if (most->tv_sec < 0 || (uint64_t)most->tv_sec >= INT64_MAX / NS_PER_S)
        return UINT64_MAX;
    return clock_ns(CLOCK_MONOTONIC) + (uint64_t)most->tv_sec * NS_PER_S + (uint64_t)most->tv_nsec;
}

/* A thread that blocks the profiler's signal finds it among those that are pending. */
static int take_signal(const sigset_t *signals, siginfo_t *info, const struct timespec *most)
{
    uint64_t end_ns = most ? end_of(most) : 0;
    struct timespec left;
    siginfo_t own;
    int number;

    FIND_NEXT(sigtimedwait);
    info = info ? info : &own;
    number = next_sigtimedwait(signals, info, most);
    while (number > 0 && program_signal__is_profilers(&preload_process.signal, number, info)) {
        left = left_until(end_ns);
        number = next_sigtimedwait(signals, info, most ? &left : NULL);
    }
    return number;
}

PRELOAD_EXPORT int sigtimedwait(const sigset_t *signals, siginfo_t *info,
                                const struct timespec *most)
{
    uint64_t frame = WAIT_FRAME();
    struct preload_thread *mine = program_waits__begin(METRIC_PARK, frame);
    int number = take_signal(signals, info, most);

    program_waits__end(mine, frame);
    return number;
}

PRELOAD_EXPORT int sigwaitinfo(const sigset_t *signals, siginfo_t *info)
{
    return sigtimedwait(signals, info, NULL);
}

PRELOAD_EXPORT int sigwait(const sigset_t *signals, int *number)
{
    int error = errno, taken, failure;

    do
        taken = sigtimedwait(signals, NULL, NULL);
    while (taken < 0 && errno == EINTR);
    failure = taken < 0 ? errno : 0;
    errno = error;
    if (!failure)
        *number = taken;
    return failure;
}

/* A descriptor for signals has no way to tell the profiler's from the program's. */
PRELOAD_EXPORT int signalfd(int fd, const sigset_t *signals, int flags)
{
    int number = atomic_load(&preload_process.signal.number);
    sigset_t others;

    FIND_NEXT(signalfd);
    if (!preload__is_active(&preload_process) || !preload_process.samples)
        return next_signalfd(fd, signals, flags);
    others = *signals;
    sigdelset(&others, number ? number : SIGPROF);
    return next_signalfd(fd, &others, flags);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

__typeof__(&sigaction) signal_wrappers__sigaction(void)
{
    FIND_NEXT(sigaction);
    return next_sigaction;
}
