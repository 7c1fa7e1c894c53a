/* What wrappers of the C library's functions return and tell, C11's beside those of POSIX: each is
 * called as a library calls it, on locks that are free, taken and held by this thread. */
#include "agent/agent.h"
#include "agent/native_lock_wrappers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* ---- what the wrappers ask for of the agent ---- */

struct agent treadle_agent;

/* What they told of since it was looked at last. */
static struct told {
    unsigned waits;
    unsigned waited;
    unsigned acquired;
    unsigned acquired_late; /* … after a wait */
    unsigned released;
    enum native_lock_type type; /* of the last wait, as the rest */
    const void *lock;
    pid_t owner;
} told;

struct kernel_thread *native_locks__waiting(struct native_locks *locks, enum native_lock_type type,
                                            const void *lock, pid_t owner, const void *caller)
{
    (void)locks;
    assert_non_null(caller);
    told.waits++;
    told.type = type;
    told.lock = lock;
    told.owner = owner;
    return NULL;
}

void native_locks__waited(struct native_locks *locks, struct kernel_thread *mine)
{
    (void)locks, (void)mine;
    told.waited++;
}

void native_locks__acquired(struct native_locks *locks, const void *lock, bool has_waited)
{
    (void)locks, (void)lock;
    told.acquired++;
    told.acquired_late += has_waited;
}

struct native_hold native_locks__releasing(struct native_locks *locks, const void *lock)
{
    (void)locks, (void)lock;
    told.released++;
    return (struct native_hold){.lock = NULL};
}

void native_locks__released(struct native_locks *locks, const struct native_hold *hold)
{
    (void)locks, (void)hold;
}

static struct told take_told(void)
{
    struct told taken = told;

    told = (struct told){0};
    assert_int_equal(taken.waits, taken.waited);
    return taken;
}

/* ---- calls, as of a library ---- */

static struct import_replacement table[NATIVE_LOCK_WRAPPERS];

static void *find(const char *name)
{
    for (unsigned i = 0; i < NATIVE_LOCK_WRAPPERS; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].function;
    fail_msg("no wrapper of %s", name);
    return NULL;
}

#define CALL(function, ...) (((__typeof__(&(function)))find(#function))(__VA_ARGS__))

static struct timespec in_ms(long ms)
{
    struct timespec time;

    timespec_get(&time, TIME_UTC);
    time.tv_nsec += ms * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static const struct timespec never = {.tv_nsec = -1};

/* The thread sanitizer knows none of C11's functions, and dies in a thread of thrd_create. */
static void leave_out_if_unknown(void)
{
#if defined(__SANITIZE_THREAD__)
    print_message("left out: the thread sanitizer knows no thread of thrd_create\n");
    skip();
#endif
}

/* ---- mutexes of C11 ---- */

static int try_taken(void *lock)
{
    const struct timespec soon = in_ms(1);

    assert_int_equal(CALL(mtx_trylock, lock), thrd_busy);
    assert_int_equal(take_told().waits, 0);
    assert_int_equal(CALL(mtx_timedlock, lock, &soon), thrd_timedout);
    assert_int_equal(told.waits, 1);
    assert_int_equal(told.type, NATIVE_MTX);
    assert_ptr_equal(told.lock, lock);
    assert_int_equal(told.owner, getpid());
    assert_int_equal(take_told().acquired, 0);
    assert_int_equal(CALL(mtx_timedlock, lock, &never), thrd_error);
    assert_int_equal(take_told().acquired, 0);
    return 1;
}

static atomic_bool is_owned;

static void *own_for_a_while(void *lock)
{
    mtx_lock(lock);
    is_owned = true;
    usleep(20000);
    mtx_unlock(lock);
    return NULL;
}

static void mutexes_of_c11(void **state)
{
    mtx_t lock;
    thrd_t other;
    pthread_t owner;
    int value = 0;

    (void)state;
    leave_out_if_unknown();
    mtx_init(&lock, mtx_timed);
    assert_int_equal(CALL(mtx_lock, &lock), thrd_success);
    assert_int_equal(take_told().acquired, 1);
    thrd_create(&other, try_taken, &lock);
    thrd_join(other, &value);
    assert_int_equal(value, 1);
    assert_int_equal(CALL(mtx_unlock, &lock), thrd_success);
    assert_int_equal(take_told().released, 1);
    assert_int_equal(CALL(mtx_trylock, &lock), thrd_success);
    assert_int_equal(take_told().acquired, 1);
    assert_int_equal(CALL(mtx_unlock, &lock), thrd_success);
    (void)take_told();
    pthread_create(&owner, NULL, own_for_a_while, &lock);
    while (!is_owned)
        sched_yield();
    assert_int_equal(CALL(mtx_lock, &lock), thrd_success);
    pthread_join(owner, NULL);
    assert_int_equal(CALL(mtx_unlock, &lock), thrd_success);
    assert_int_equal(told.waits, 1);
    assert_int_equal(told.acquired_late, 1);
    assert_int_equal(take_told().acquired, 1);
    mtx_destroy(&lock);
}

/* Who has it already acquires nothing, and gives nothing back but with the last call. */
static void recursive_mutexes_of_c11(void **state)
{
    mtx_t lock;

    (void)state;
    leave_out_if_unknown();
    mtx_init(&lock, mtx_plain | mtx_recursive);
    CALL(mtx_lock, &lock);
    CALL(mtx_trylock, &lock);
    CALL(mtx_lock, &lock);
    assert_int_equal(take_told().acquired, 1);
    CALL(mtx_unlock, &lock);
    CALL(mtx_unlock, &lock);
    assert_int_equal(take_told().released, 0);
    assert_int_equal(CALL(mtx_unlock, &lock), thrd_success);
    assert_int_equal(take_told().released, 1);
    mtx_destroy(&lock);
}

/* ---- conditions: the mutex is held again after a wait, in time or not ---- */

static void conditions_that_nobody_signals(void **state)
{
    const struct timespec soon = in_ms(1);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct told seen;

    (void)state;
    pthread_mutex_lock(&mutex);
    assert_int_equal(CALL(pthread_cond_timedwait, &condition, &mutex, &soon), ETIMEDOUT);
    seen = take_told();
    assert_int_equal(seen.type, NATIVE_CONDITION);
    assert_int_equal(seen.released, 1);
    assert_int_equal(seen.acquired, 1);
    assert_int_equal(CALL(pthread_cond_timedwait, &condition, &mutex, &never), EINVAL);
    assert_int_equal(take_told().acquired, 0);
    pthread_mutex_unlock(&mutex);
}

static void conditions_of_c11_that_nobody_signals(void **state)
{
    const struct timespec soon = in_ms(1);
    mtx_t mutex;
    cnd_t condition;
    struct told seen;

    (void)state;
    leave_out_if_unknown();
    mtx_init(&mutex, mtx_plain);
    cnd_init(&condition);
    mtx_lock(&mutex);
    assert_int_equal(CALL(cnd_timedwait, &condition, &mutex, &soon), thrd_timedout);
    seen = take_told();
    assert_int_equal(seen.type, NATIVE_CND);
    assert_ptr_equal(seen.lock, &condition);
    assert_int_equal(seen.released, 1);
    assert_int_equal(seen.acquired, 1);
    assert_int_equal(seen.acquired_late, 0); /* which is the condition's wait, not the mutex's */
    assert_int_equal(CALL(cnd_timedwait, &condition, &mutex, &never), thrd_error);
    assert_int_equal(take_told().acquired, 0);
    mtx_unlock(&mutex);
    cnd_destroy(&condition);
    mtx_destroy(&mutex);
}

/* ---- ends of threads ---- */

#define ENDS_WITH 7

static int end_after(void *us)
{
    usleep(*(useconds_t *)us);
    return ENDS_WITH;
}

/* Waits for the end of a thread that ends so late, when it has run so long. */
static struct told join(useconds_t end_us, useconds_t after_us, int *value)
{
    thrd_t thread;

    thrd_create(&thread, end_after, &end_us);
    usleep(after_us);
    assert_int_equal(CALL(thrd_join, thread, value), thrd_success);
    return take_told();
}

static void ends_of_threads_of_c11(void **state)
{
    int value = 0;
    struct told seen;

    (void)state;
    leave_out_if_unknown();
    seen = join(50000, 1000, &value);
    assert_int_equal(seen.waits, 1);
    assert_int_equal(seen.type, NATIVE_THRD);
    assert_true(seen.owner > 0 && seen.owner != getpid());
    assert_int_equal(value, ENDS_WITH);
    value = 0;
    (void)join(0, 50000, &value);
    assert_int_equal(value, ENDS_WITH);
    (void)join(20000, 0, NULL);
    (void)join(0, 20000, NULL);
    assert_int_equal(CALL(thrd_join, thrd_current(), &value), thrd_error); /* itself */
    (void)take_told();
}

/* ---- semaphores: errno is that of the function itself ---- */

static void semaphores_keep_errno(void **state)
{
    struct timespec soon = in_ms(1);
    sem_t semaphore;

    (void)state;
    sem_init(&semaphore, 0, 1);
    errno = ENOTTY;
    assert_int_equal(CALL(sem_wait, &semaphore), 0);
    assert_int_equal(errno, ENOTTY);
    assert_int_equal(take_told().waits, 0);
    assert_int_equal(CALL(sem_timedwait, &semaphore, &soon), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(told.type, NATIVE_SEMAPHORE);
    assert_int_equal(take_told().waits, 1);
}

/* ---- system calls ---- */

#define PAGE 4096

/* Six arguments, of which the last one stands on the stack. */
static void other_system_calls_are_as_they_were(void **state)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    char expected[PAGE];
    const void *mapped;

    (void)state;
    assert_int_equal(pread(fd, expected, PAGE, PAGE), PAGE);
    mapped = (const void *)CALL(syscall, SYS_mmap, NULL, (size_t)PAGE, PROT_READ, MAP_PRIVATE, fd,
                                (off_t)PAGE);
    assert_true(mapped != MAP_FAILED);
    assert_memory_equal(mapped, expected, PAGE);
    assert_int_equal(CALL(syscall, SYS_munmap, mapped, (size_t)PAGE), 0);
    assert_int_equal(CALL(syscall, SYS_getpid), getpid());
    close(fd);
    errno = 0;
    assert_int_equal(CALL(syscall, SYS_close, -1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(take_told().waits, 0);
}

/* The wake finds nobody. */
static void futexes_that_do_not_wait(void **state)
{
    uint32_t word = 1;

    (void)state;
    assert_int_equal(CALL(syscall, SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1), 0);
    assert_int_equal(CALL(syscall, SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 1),
                     0);
    errno = 0;
    assert_int_equal(CALL(syscall, SYS_futex, &word, 1 << 20, 1), -1); /* no such operation */
    assert_int_equal(errno, ENOSYS);
    assert_int_equal(take_told().waits, 0);
}

/* One wait; the result, and the errno. */
static int wait_for(const uint32_t *word, int operation, uint32_t value,
                    const struct timespec *until, uint32_t bits)
{
    struct told seen;
    long result;

    errno = 0;
    result = CALL(syscall, SYS_futex, word, operation, value, until, NULL, bits);
    seen = take_told();
    assert_int_equal(seen.waits, 1);
    assert_int_equal(seen.type, NATIVE_FUTEX);
    assert_ptr_equal(seen.lock, word);
    assert_int_equal(seen.owner, 0);
    return result == 0 ? 0 : errno;
}

static void futexes_that_wait(void **state)
{
    const struct timespec short_time = {.tv_nsec = 1000000};
    const struct timespec soon = in_ms(1);
    uint32_t word = 1;

    (void)state;
    assert_int_equal(wait_for(&word, FUTEX_WAIT, 1, &short_time, 0), ETIMEDOUT);
    assert_int_equal(wait_for(&word, FUTEX_WAIT_PRIVATE, 2, NULL, 0), EAGAIN);
    assert_int_equal(wait_for(NULL, FUTEX_WAIT_PRIVATE, 0, NULL, 0), EFAULT);
    assert_int_equal(wait_for(&word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 1, &soon, 4),
                     ETIMEDOUT);
    assert_int_equal(wait_for(&word, FUTEX_WAIT_BITSET_PRIVATE, 1, &soon, 0), EINVAL);
    word = 0;
    assert_int_equal(wait_for(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, 0), 0);
    assert_int_equal(word, getpid());
    assert_int_equal(wait_for(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, 0), EDEADLK);
    assert_int_equal(CALL(syscall, SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE), 0);
    assert_int_equal(take_told().waits, 0);
}

#if defined(__x86_64__)
#define BESIDE UINT64_C(0x123456789abcdef)

/* A call with four arguments: where a seventh one would stand lies what is the caller's. Returns
 * what lies there afterwards. */
static uint64_t look_beside(const void *wrapper, const uint32_t *word)
{
    register const struct timespec *until __asm__("r8") = NULL;
    uint64_t beside = BESIDE, result = SYS_futex, operation = FUTEX_WAIT_PRIVATE, value = 0;

    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "sub $256, %%rsp\n\t"
                     "and $-16, %%rsp\n\t"
                     "push %[beside]\n\t"
                     "push %[beside]\n\t"
                     "xor %%eax, %%eax\n\t"
                     "call *%[wrapper]\n\t"
                     "pop %[beside]\n\t"
                     "mov %%rbx, %%rsp"
                     : [beside] "+r"(beside), "+D"(result), "+d"(operation), "+c"(value),
                       "+S"(word), "+r"(until)
                     : [wrapper] "r"(wrapper)
                     : "rax", "rbx", "r9", "r10", "r11", "memory", "cc");
    return beside;
}

static void what_lies_beside_the_arguments_is_the_callers(void **state)
{
    uint32_t word = 1;

    (void)state;
    assert_int_equal(look_beside(find("syscall"), &word), BESIDE);
    assert_int_equal(take_told().waits, 1);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutexes_of_c11),
        cmocka_unit_test(recursive_mutexes_of_c11),
        cmocka_unit_test(conditions_that_nobody_signals),
        cmocka_unit_test(conditions_of_c11_that_nobody_signals),
        cmocka_unit_test(ends_of_threads_of_c11),
        cmocka_unit_test(semaphores_keep_errno),
        cmocka_unit_test(other_system_calls_are_as_they_were),
        cmocka_unit_test(futexes_that_do_not_wait),
        cmocka_unit_test(futexes_that_wait),
#if defined(__x86_64__)
        cmocka_unit_test(what_lies_beside_the_arguments_is_the_callers),
#endif
    };

    assert_int_equal(native_lock_wrappers__table(table), NATIVE_LOCK_WRAPPERS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
