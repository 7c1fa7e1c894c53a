/*
 * What stands before functions of the C library that wait for locks, conditions and ends of
 * threads. A lock that is free is taken, and nothing else happens.
 */
#include "native/host/futex_waits.h"
#include "native/preload/function_hooks.h"
#include "native/preload/program_waits.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's own names are
 * reserved
 */

/* The lock is tried; where that says so, it is taken by another, and the function waits. */
#define LOCKS(name, parameters, arguments, try, taken)                                             \
    NEXT(name)                                                                                     \
    PRELOAD_EXPORT int name parameters                                                             \
    {                                                                                              \
        uint64_t frame = WAIT_FRAME();                                                             \
        struct preload_thread *mine;                                                               \
        int result = try;                                                                          \
                                                                                                   \
        if (__builtin_expect(result != (taken), 1))                                                \
            return result;                                                                         \
        if (__builtin_expect(!next_##name, 0))                                                     \
            find_##name();                                                                         \
        mine = program_waits__begin(METRIC_PARK, frame);                                           \
        result = next_##name arguments;                                                            \
        program_waits__end(mine, frame);                                                           \
        return result;                                                                             \
    }

LOCKS(pthread_mutex_lock, (pthread_mutex_t * lock), (lock), pthread_mutex_trylock(lock), EBUSY)
LOCKS(pthread_mutex_timedlock, (pthread_mutex_t * lock, const struct timespec *until),
      (lock, until), pthread_mutex_trylock(lock), EBUSY)
LOCKS(pthread_mutex_clocklock,
      (pthread_mutex_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until),
      pthread_mutex_trylock(lock), EBUSY)
LOCKS(pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock), pthread_rwlock_tryrdlock(lock),
      EBUSY)
LOCKS(pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, const struct timespec *until),
      (lock, until), pthread_rwlock_tryrdlock(lock), EBUSY)
LOCKS(pthread_rwlock_clockrdlock,
      (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until),
      (lock, clock, until), pthread_rwlock_tryrdlock(lock), EBUSY)
LOCKS(pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock), pthread_rwlock_trywrlock(lock),
      EBUSY)
LOCKS(pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, const struct timespec *until),
      (lock, until), pthread_rwlock_trywrlock(lock), EBUSY)
LOCKS(pthread_rwlock_clockwrlock,
      (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until),
      (lock, clock, until), pthread_rwlock_trywrlock(lock), EBUSY)
LOCKS(mtx_lock, (mtx_t * lock), (lock), mtx_trylock(lock), thrd_busy)
LOCKS(mtx_timedlock, (mtx_t * lock, const struct timespec *until), (lock, until), mtx_trylock(lock),
      thrd_busy)

/* A semaphore that is taken leaves errno as it was. */
static int try_semaphore(sem_t *semaphore)
{
    int error = errno, result = sem_trywait(semaphore);

    if (result == 0 || errno != EAGAIN)
        return result;
    errno = error;
    return EBUSY;
}

LOCKS(sem_wait, (sem_t * lock), (lock), try_semaphore(lock), EBUSY)
LOCKS(sem_timedwait, (sem_t * lock, const struct timespec *until), (lock, until),
      try_semaphore(lock), EBUSY)
LOCKS(sem_clockwait, (sem_t * lock, clockid_t clock, const struct timespec *until),
      (lock, clock, until), try_semaphore(lock), EBUSY)

WAITS(int, pthread_cond_wait, METRIC_PARK, (pthread_cond_t * condition, pthread_mutex_t *mutex),
      (condition, mutex))
WAITS(int, pthread_cond_timedwait, METRIC_PARK,
      (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until),
      (condition, mutex, until))
WAITS(int, pthread_cond_clockwait, METRIC_PARK,
      (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock,
       const struct timespec *until),
      (condition, mutex, clock, until))
WAITS(int, cnd_wait, METRIC_PARK, (cnd_t * condition, mtx_t *mutex), (condition, mutex))
WAITS(int, cnd_timedwait, METRIC_PARK,
      (cnd_t * condition, mtx_t *mutex, const struct timespec *until), (condition, mutex, until))
WAITS(int, pthread_barrier_wait, METRIC_PARK, (pthread_barrier_t * barrier), (barrier))
WAITS(int, pthread_join, METRIC_PARK, (pthread_t thread, void **value), (thread, value))
WAITS(int, pthread_timedjoin_np, METRIC_PARK,
      (pthread_t thread, void **value, const struct timespec *until), (thread, value, until))
WAITS(int, pthread_clockjoin_np, METRIC_PARK,
      (pthread_t thread, void **value, clockid_t clock, const struct timespec *until),
      (thread, value, clock, until))
WAITS(int, thrd_join, METRIC_PARK, (thrd_t thread, int *value), (thread, value))

/* ---- waits in the kernel itself, for locks that other runtimes make: futex(2) by syscall(2) ----
 */

static long find_and_call(long number, ...);

/* As with NEXT. */
long (*lock_wrappers__next_syscall)(long number, ...)
    __attribute__((used, visibility("hidden"))) = find_and_call;

static __attribute__((constructor(101))) void find_syscall(void)
{
    lock_wrappers__next_syscall =
        (__typeof__(lock_wrappers__next_syscall))(uintptr_t)dlsym(RTLD_NEXT, "syscall");
}

/* Reads as many arguments as any call has. */
#define TAKE_ARGUMENTS(arguments, before)                                                          \
    do {                                                                                           \
        va_list given;                                                                             \
                                                                                                   \
        va_start(given, before);                                                                   \
        for (unsigned i = 0; i < 6; i++)                                                           \
            (arguments)[i] = va_arg(given, long);                                                  \
        va_end(given);                                                                             \
    } while (0)

__attribute__((no_sanitize("address"))) static long find_and_call(long number, ...)
{
    long arguments[6];

    TAKE_ARGUMENTS(arguments, number);
    find_syscall();
    return lock_wrappers__next_syscall(number, arguments[0], arguments[1], arguments[2],
                                       arguments[3], arguments[4], arguments[5]);
}

/* Not static: it has the name that the code below knows. */
long lock_wrappers__futex(long number, ...) __attribute__((used, visibility("hidden")));

__attribute__((no_sanitize("address"))) long lock_wrappers__futex(long number, ...)
{
    uint64_t frame = WAIT_FRAME();
    struct preload_thread *mine = NULL;
    long arguments[6], result;

    TAKE_ARGUMENTS(arguments, number);
    if (number == SYS_futex && futex_waits__is_wait(arguments[1]))
        mine = program_waits__begin(METRIC_PARK, frame);
    result = lock_wrappers__next_syscall(number, arguments[0], arguments[1], arguments[2],
                                         arguments[3], arguments[4], arguments[5]);
    program_waits__end(mine, frame);
    return result;
}

#if defined(__x86_64__)
_Static_assert(SYS_futex == 202, "the number below");

/* Another call goes on with its registers and its stack as they are: it may be vfork. */
PRELOAD_EXPORT __attribute__((naked)) long syscall(__attribute__((unused)) long number, ...)
{
    __asm__("endbr64\n\t"
            "cmp $202, %rdi\n\t"
            "je lock_wrappers__futex\n\t"
            "jmp *lock_wrappers__next_syscall(%rip)");
}
#else
PRELOAD_EXPORT long syscall(long number, ...) __attribute__((alias("lock_wrappers__futex")));
#endif

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
