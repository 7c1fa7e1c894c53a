/* Knows the one agent: callers pass nothing of ours. */
#include "agent/native_lock_wrappers.h"

#include "agent/agent.h"
#include "native/host/futex_waits.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* The address in the library that calls the wrapper. */
#define CALLER() __builtin_return_address(0)

static struct native_locks *locks(void)
{
    return &treadle_agent.native_locks;
}

#define TAKEN EBUSY

/* A function cannot do: each needs one of its own, of its type, whose caller is the library. The
 * lock is tried; where it is taken follow the begin of the wait, the function, and its end; what
 * was got is told. Where there is nothing to be tried the lock is taken. */
#define WRAPPER(wrapper, parameters, tried, wait_for, call, got)                                   \
    static int wrapper parameters                                                                  \
    {                                                                                              \
        int result = tried;                                                                        \
        struct kernel_thread *mine;                                                                \
                                                                                                   \
        if (result != TAKEN)                                                                       \
            return got((const void *)(uintptr_t)lock, result, false);                              \
        mine = wait_for(lock, CALLER());                                                           \
        result = call;                                                                             \
        native_locks__waited(locks(), mine);                                                       \
        return got((const void *)(uintptr_t)lock, result, true);                                   \
    }

/* What nobody owns has no holds. */
static int unowned(const void *lock, int result, bool has_waited)
{
    (void)lock, (void)has_waited;
    return result;
}

/* ---- mutexes ---- */

/* The C library's own notes in a mutex, as its header declares them: whose it is, and how often a
 * recursive one is held. */
static pid_t mutex_owner(const pthread_mutex_t *mutex)
{
    return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
}

/* For the owner of the mutex. */
static bool is_nested(const pthread_mutex_t *mutex)
{
    return mutex->__data.__count > 1;
}

static bool has_acquired(int result)
{
    return result == 0 || result == EOWNERDEAD;
}

static int acquired(const pthread_mutex_t *mutex, int result, bool has_waited)
{
    if (has_acquired(result) && !is_nested(mutex))
        native_locks__acquired(locks(), mutex, has_waited);
    return result;
}

static struct kernel_thread *wait_for_mutex(const pthread_mutex_t *mutex, const void *caller)
{
    return native_locks__waiting(locks(), NATIVE_MUTEX, mutex, mutex_owner(mutex), caller);
}

static int mutex_trylock(pthread_mutex_t *mutex)
{
    return acquired(mutex, pthread_mutex_trylock(mutex), false);
}

WRAPPER(mutex_lock, (pthread_mutex_t * lock), pthread_mutex_trylock(lock), wait_for_mutex,
        pthread_mutex_lock(lock), acquired)
WRAPPER(mutex_timedlock, (pthread_mutex_t * lock, const struct timespec *until),
        pthread_mutex_trylock(lock), wait_for_mutex, pthread_mutex_timedlock(lock, until), acquired)
WRAPPER(mutex_clocklock, (pthread_mutex_t * lock, clockid_t clock, const struct timespec *until),
        pthread_mutex_trylock(lock), wait_for_mutex, pthread_mutex_clocklock(lock, clock, until),
        acquired)

static struct native_hold releasing(const pthread_mutex_t *mutex)
{
    const struct native_hold none = {.lock = NULL};

    return is_nested(mutex) ? none : native_locks__releasing(locks(), mutex);
}

static int mutex_unlock(pthread_mutex_t *mutex)
{
    struct native_hold hold = releasing(mutex);
    int result = pthread_mutex_unlock(mutex);

    native_locks__released(locks(), &hold);
    return result;
}

/* ---- conditions: the mutex is given back meanwhile ---- */

struct condition_wait {
    struct native_hold hold;
    struct kernel_thread *mine;
};

static struct condition_wait begin_condition(enum native_lock_type type, const void *condition,
                                             const void *mutex, const void *caller)
{
    struct condition_wait wait = {.hold = native_locks__releasing(locks(), mutex)};

    native_locks__released(locks(), &wait.hold);
    wait.mine = native_locks__waiting(locks(), type, condition, 0, caller);
    return wait;
}

/* Whatever the result, the mutex is held again, but after errors that begin no wait. */
static int end_condition(const struct condition_wait *wait, const void *mutex, int result,
                         int timed_out)
{
    native_locks__waited(locks(), wait->mine);
    if (has_acquired(result) || result == timed_out)
        native_locks__acquired(locks(), mutex, false);
    return result;
}

#define CONDITION_WRAPPER(type, wrapper, parameters, call, timed_out)                              \
    static int wrapper parameters                                                                  \
    {                                                                                              \
        struct condition_wait wait = begin_condition(type, condition, mutex, CALLER());            \
                                                                                                   \
        return end_condition(&wait, mutex, call, timed_out);                                       \
    }

CONDITION_WRAPPER(NATIVE_CONDITION, cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex),
                  pthread_cond_wait(condition, mutex), ETIMEDOUT)
CONDITION_WRAPPER(NATIVE_CONDITION, cond_timedwait,
                  (pthread_cond_t * condition, pthread_mutex_t *mutex,
                   const struct timespec *until),
                  pthread_cond_timedwait(condition, mutex, until), ETIMEDOUT)
CONDITION_WRAPPER(NATIVE_CONDITION, cond_clockwait,
                  (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock,
                   const struct timespec *until),
                  pthread_cond_clockwait(condition, mutex, clock, until), ETIMEDOUT)

/* ---- read-write locks: holds are those of writers ---- */

static pid_t writer(const pthread_rwlock_t *lock)
{
    return __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED);
}

static struct kernel_thread *wait_for_rwlock(const pthread_rwlock_t *lock, const void *caller)
{
    return native_locks__waiting(locks(), NATIVE_RWLOCK, lock, writer(lock), caller);
}

static int written(const pthread_rwlock_t *lock, int result, bool has_waited)
{
    if (result == 0)
        native_locks__acquired(locks(), lock, has_waited);
    return result;
}

static int rwlock_trywrlock(pthread_rwlock_t *lock)
{
    return written(lock, pthread_rwlock_trywrlock(lock), false);
}

WRAPPER(rwlock_wrlock, (pthread_rwlock_t * lock), pthread_rwlock_trywrlock(lock), wait_for_rwlock,
        pthread_rwlock_wrlock(lock), written)
WRAPPER(rwlock_timedwrlock, (pthread_rwlock_t * lock, const struct timespec *until),
        pthread_rwlock_trywrlock(lock), wait_for_rwlock, pthread_rwlock_timedwrlock(lock, until),
        written)
WRAPPER(rwlock_clockwrlock,
        (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until),
        pthread_rwlock_trywrlock(lock), wait_for_rwlock,
        pthread_rwlock_clockwrlock(lock, clock, until), written)
WRAPPER(rwlock_rdlock, (pthread_rwlock_t * lock), pthread_rwlock_tryrdlock(lock), wait_for_rwlock,
        pthread_rwlock_rdlock(lock), unowned)
WRAPPER(rwlock_timedrdlock, (pthread_rwlock_t * lock, const struct timespec *until),
        pthread_rwlock_tryrdlock(lock), wait_for_rwlock, pthread_rwlock_timedrdlock(lock, until),
        unowned)
WRAPPER(rwlock_clockrdlock,
        (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until),
        pthread_rwlock_tryrdlock(lock), wait_for_rwlock,
        pthread_rwlock_clockrdlock(lock, clock, until), unowned)

static int rwlock_unlock(pthread_rwlock_t *lock)
{
    struct native_hold hold = {.lock = NULL};
    int result;

    if (writer(lock))
        hold = native_locks__releasing(locks(), lock);
    result = pthread_rwlock_unlock(lock);
    native_locks__released(locks(), &hold);
    return result;
}

/* ---- semaphores ---- */

/* A semaphore that is taken leaves errno as it was. */
static int try_semaphore(sem_t *semaphore)
{
    int error = errno, result = sem_trywait(semaphore);

    if (result == 0 || errno != EAGAIN)
        return result;
    errno = error;
    return TAKEN;
}

static struct kernel_thread *wait_for_semaphore(const sem_t *semaphore, const void *caller)
{
    return native_locks__waiting(locks(), NATIVE_SEMAPHORE, semaphore, 0, caller);
}

WRAPPER(semaphore_wait, (sem_t * lock), try_semaphore(lock), wait_for_semaphore, sem_wait(lock),
        unowned)
WRAPPER(semaphore_timedwait, (sem_t * lock, const struct timespec *until), try_semaphore(lock),
        wait_for_semaphore, sem_timedwait(lock, until), unowned)
WRAPPER(semaphore_clockwait, (sem_t * lock, clockid_t clock, const struct timespec *until),
        try_semaphore(lock), wait_for_semaphore, sem_clockwait(lock, clock, until), unowned)

/* ---- barriers: nobody knows beforehand who comes last, so that one's call is a wait, too ---- */

static struct kernel_thread *wait_for_barrier(const pthread_barrier_t *barrier, const void *caller)
{
    return native_locks__waiting(locks(), NATIVE_BARRIER, barrier, 0, caller);
}

WRAPPER(barrier_wait, (pthread_barrier_t * lock), TAKEN, wait_for_barrier,
        pthread_barrier_wait(lock), unowned)

/* ---- ends of threads ---- */

/* 0: it has ended. The clock of a thread's CPU time names the thread, as clock_getcpuclockid(3) and
 * the kernel's posix-timers.h have it: the bits above the lowest three, inverted. */
static pid_t tid_of(pthread_t thread)
{
    clockid_t clock;

    return pthread_getcpuclockid(thread, &clock) == 0 ? ~(clock >> 3) : 0;
}

/* The thread's struct, whose address is its name, stands for the lock. */
static struct kernel_thread *wait_for_end(pthread_t thread, const void *caller)
{
    return native_locks__waiting(locks(), NATIVE_JOIN, (const void *)(uintptr_t)thread,
                                 tid_of(thread), caller);
}

WRAPPER(join, (pthread_t lock, void **value), pthread_tryjoin_np(lock, value), wait_for_end,
        pthread_join(lock, value), unowned)
WRAPPER(timedjoin, (pthread_t lock, void **value, const struct timespec *until),
        pthread_tryjoin_np(lock, value), wait_for_end, pthread_timedjoin_np(lock, value, until),
        unowned)
WRAPPER(clockjoin, (pthread_t lock, void **value, clockid_t clock, const struct timespec *until),
        pthread_tryjoin_np(lock, value), wait_for_end,
        pthread_clockjoin_np(lock, value, clock, until), unowned)

/* ---- the same of C11's threads: other results, and calls of their own inside the C library ----
 */

/* Its mtx_t and thrd_t are what the pthread functions below them take. */
_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "a mutex");
_Static_assert(sizeof(thrd_t) == sizeof(pthread_t), "a thread");
_Static_assert(thrd_success == 0, "what acquired() takes for success");

static int tried(int result)
{
    return result == thrd_busy ? TAKEN : result;
}

static struct kernel_thread *wait_for_mtx(const void *mutex, const void *caller)
{
    return native_locks__waiting(locks(), NATIVE_MTX, mutex, mutex_owner(mutex), caller);
}

static int c11_trylock(mtx_t *mutex)
{
    return acquired((const void *)mutex, mtx_trylock(mutex), false);
}

WRAPPER(c11_lock, (mtx_t * lock), tried(mtx_trylock(lock)), wait_for_mtx, mtx_lock(lock), acquired)
WRAPPER(c11_timedlock, (mtx_t * lock, const struct timespec *until), tried(mtx_trylock(lock)),
        wait_for_mtx, mtx_timedlock(lock, until), acquired)

static int c11_unlock(mtx_t *mutex)
{
    struct native_hold hold = releasing((const void *)mutex);
    int result = mtx_unlock(mutex);

    native_locks__released(locks(), &hold);
    return result;
}

CONDITION_WRAPPER(NATIVE_CND, c11_wait, (cnd_t * condition, mtx_t *mutex),
                  cnd_wait(condition, mutex), thrd_timedout)
CONDITION_WRAPPER(NATIVE_CND, c11_timedwait,
                  (cnd_t * condition, mtx_t *mutex, const struct timespec *until),
                  cnd_timedwait(condition, mutex, until), thrd_timedout)

/* C11 has no such function. */
static int try_thrd(thrd_t thread, int *value)
{
    void *returned;
    int result = pthread_tryjoin_np(thread, &returned);

    if (result == TAKEN)
        return TAKEN;
    if (result == 0 && value)
        *value = (int)(intptr_t)returned;
    return result == 0 ? thrd_success : thrd_error;
}

static struct kernel_thread *wait_for_thrd(thrd_t thread, const void *caller)
{
    return native_locks__waiting(locks(), NATIVE_THRD, (const void *)(uintptr_t)thread,
                                 tid_of(thread), caller);
}

WRAPPER(c11_join, (thrd_t lock, int *value), try_thrd(lock, value), wait_for_thrd,
        thrd_join(lock, value), unowned)

/* ---- waits in the kernel itself, for locks that other runtimes make: futex(2) by syscall(2) ----
 */

/* Whether it will wait the kernel alone can say: the word may be in no memory. */
static long wait_for_futex(const long arguments[6], const void *caller)
{
    struct kernel_thread *mine =
        native_locks__waiting(locks(), NATIVE_FUTEX, (const void *)arguments[0], 0, caller);
    long result = syscall(SYS_futex, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);

    native_locks__waited(locks(), mine);
    return result;
}

/* As the function itself, it reads as many arguments as any call has: what stands in the place of
 * those that this call has not is read and passed on, and may be anything. It is never written: it
 * may be a variable of the caller. So these are no parameters, whose places would be the callee's.
 * Not static: it has the name that the code below knows. */
long native_lock_wrappers__futex(long number, ...) __attribute__((used, visibility("hidden")));

__attribute__((no_sanitize("address"))) long native_lock_wrappers__futex(long number, ...)
{
    long arguments[6];
    va_list given;

    va_start(given, number);
    for (unsigned i = 0; i < 6; i++)
        arguments[i] = va_arg(given, long);
    va_end(given);
    if (number == SYS_futex && futex_waits__is_wait(arguments[1]))
        return wait_for_futex(arguments, CALLER());
    return syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                   arguments[5]);
}

#if defined(__x86_64__)
_Static_assert(SYS_futex == 202, "the number below");

/* Of the function's type. Another call goes on with its registers and its stack as they are. */
__attribute__((naked)) static void system_call(void)
{
    __asm__("cmp $202, %rdi\n\t"
            "je native_lock_wrappers__futex\n\t"
            "jmp syscall@PLT");
}
#else
#define system_call native_lock_wrappers__futex
#endif

#define ROW(name, wrapper)                                                                         \
    {                                                                                              \
#name, (void *)(uintptr_t)(name), (void *)(uintptr_t)(wrapper)                             \
    }

size_t native_lock_wrappers__table(struct import_replacement table[NATIVE_LOCK_WRAPPERS])
{
    const struct import_replacement rows[NATIVE_LOCK_WRAPPERS] = {
        ROW(pthread_mutex_lock, mutex_lock),
        ROW(pthread_mutex_trylock, mutex_trylock),
        ROW(pthread_mutex_timedlock, mutex_timedlock),
        ROW(pthread_mutex_clocklock, mutex_clocklock),
        ROW(pthread_mutex_unlock, mutex_unlock),
        ROW(pthread_cond_wait, cond_wait),
        ROW(pthread_cond_timedwait, cond_timedwait),
        ROW(pthread_cond_clockwait, cond_clockwait),
        ROW(pthread_rwlock_wrlock, rwlock_wrlock),
        ROW(pthread_rwlock_trywrlock, rwlock_trywrlock),
        ROW(pthread_rwlock_timedwrlock, rwlock_timedwrlock),
        ROW(pthread_rwlock_rdlock, rwlock_rdlock),
        ROW(pthread_rwlock_timedrdlock, rwlock_timedrdlock),
        ROW(pthread_rwlock_clockwrlock, rwlock_clockwrlock),
        ROW(pthread_rwlock_clockrdlock, rwlock_clockrdlock),
        ROW(pthread_rwlock_unlock, rwlock_unlock),
        ROW(sem_wait, semaphore_wait),
        ROW(sem_timedwait, semaphore_timedwait),
        ROW(sem_clockwait, semaphore_clockwait),
        ROW(pthread_barrier_wait, barrier_wait),
        ROW(pthread_join, join),
        ROW(pthread_timedjoin_np, timedjoin),
        ROW(pthread_clockjoin_np, clockjoin),
        ROW(mtx_lock, c11_lock),
        ROW(mtx_trylock, c11_trylock),
        ROW(mtx_timedlock, c11_timedlock),
        ROW(mtx_unlock, c11_unlock),
        ROW(cnd_wait, c11_wait),
        ROW(cnd_timedwait, c11_timedwait),
        ROW(thrd_join, c11_join),
        ROW(syscall, system_call),
    };

    for (size_t i = 0; i < NATIVE_LOCK_WRAPPERS; i++)
        table[i] = rows[i];
    return NATIVE_LOCK_WRAPPERS;
}
