/* The native methods of tests/jvm/NativeLocks.java: locks of the C library. */
#include <errno.h>
#include <jni.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As in NativeLocks.KINDS. */
enum {
    MUTEX,
    RECURSIVE,
    WRITER,
    TIMED,
    CLOCKED,
    TIMED_WRITER,
    READER,
    TIMED_READER,
    EXPIRED,
    ROBUST,
    CLOCKED_WRITER,
    CLOCKED_READER,
    CONDITION,
    TIMED_CONDITION,
    CLOCKED_CONDITION,
    SEMAPHORE,
    TIMED_SEMAPHORE,
    CLOCKED_SEMAPHORE,
    BARRIER,
    JOIN,
    TIMED_JOIN,
    CLOCKED_JOIN,
    FUTEX,
    FUTEX_BITSET,
    FUTEX_PI,
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t robust;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int is_signalled;
static pthread_barrier_t barrier;
static JavaVM *java;
static pthread_t joined;
static atomic_bool is_running, may_end;
static _Atomic uint32_t word, word_pi; /* that is waited for in the kernel, as other runtimes do */

/* Runs Java if there is an argument. Waits for nothing that has a reason. */
static void *run_joined(void *runs_java)
{
    JavaVMAttachArgs arguments = {.version = JNI_VERSION_1_8, .name = "joined"};
    JNIEnv *env;

    if (runs_java)
        (*java)->AttachCurrentThread(java, (void **)&env, &arguments);
    is_running = 1;
    while (!may_end)
        usleep(500);
    if (runs_java)
        (*java)->DetachCurrentThread(java);
    return NULL;
}

static void lock_word(void)
{
    uint32_t free_word = 0;

    if (!atomic_compare_exchange_strong(&word_pi, &free_word, (uint32_t)gettid()))
        syscall(SYS_futex, &word_pi, FUTEX_LOCK_PI_PRIVATE, 0, NULL);
}

static void unlock_word(void)
{
    uint32_t mine = (uint32_t)gettid();

    if (!atomic_compare_exchange_strong(&word_pi, &mine, 0))
        syscall(SYS_futex, &word_pi, FUTEX_UNLOCK_PI_PRIVATE);
}

static void *own_word(void *unused)
{
    (void)unused;
    lock_word();
    is_running = 1;
    while (!may_end)
        usleep(500);
    unlock_word();
    return NULL;
}

/* Before the other thread is to end it: the one that is joined, or has the word. */
static void create(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    if (kind < JOIN || kind == FUTEX || kind == FUTEX_BITSET)
        return;
    is_running = may_end = 0;
    pthread_create(&joined, NULL, kind == FUTEX_PI ? own_word : run_joined,
                   kind == CLOCKED_JOIN ? NULL : &joined);
    if (kind == FUTEX_PI)
        pthread_detach(joined);
    while (!is_running)
        sched_yield();
}

static void prepare(JNIEnv *env, jclass self)
{
    pthread_mutexattr_t kind;

    (void)env, (void)self;
    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &kind);
    pthread_mutexattr_destroy(&kind);
}

static struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec time;

    clock_gettime(clock, &time);
    time.tv_sec += ms / 1000;
    time.tv_nsec += ms % 1000 * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* Of a thread that ended with it. */
static jint acquire_robust(void)
{
    int result = pthread_mutex_lock(&robust);

    return result == EOWNERDEAD ? pthread_mutex_consistent(&robust) : result;
}

/* Returns what the C library returned; 0 for all of these. */
static jint acquire(JNIEnv *env, jclass self, jint kind)
{
    struct timespec later = in_ms(CLOCK_REALTIME, 10000), soon = in_ms(CLOCK_REALTIME, 5);
    struct timespec later_monotonic = in_ms(CLOCK_MONOTONIC, 10000);

    (void)env, (void)self;
    switch (kind) {
    case MUTEX:
        return pthread_mutex_lock(&mutex);
    case RECURSIVE:
        return pthread_mutex_lock(&recursive) + pthread_mutex_lock(&recursive);
    case WRITER:
    case READER:
    case TIMED_READER:
    case CLOCKED_READER:
        return pthread_rwlock_wrlock(&rwlock);
    case CLOCKED_WRITER:
        return pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &later_monotonic);
    case TIMED:
        return pthread_mutex_timedlock(&mutex, &later);
    case CLOCKED:
        return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &later_monotonic);
    case TIMED_WRITER:
        return pthread_rwlock_timedwrlock(&rwlock, &later);
    case EXPIRED:
        return pthread_mutex_timedlock(&mutex, &soon);
    case ROBUST:
        return acquire_robust();
    default:
        return -1;
    }
}

/* Who came so late that the owner was gone has not waited, which its numbers show. */
static jint expect_timeout(jint result)
{
    if (result == 0)
        return pthread_mutex_unlock(&mutex);
    return result == ETIMEDOUT ? 0 : result;
}

/* What the other thread does meanwhile. */
static jint acquire_second(JNIEnv *env, jclass self, jint kind)
{
    struct timespec later = in_ms(CLOCK_REALTIME, 10000);
    struct timespec later_monotonic = in_ms(CLOCK_MONOTONIC, 10000);

    switch (kind) {
    case READER:
        return pthread_rwlock_rdlock(&rwlock);
    case TIMED_READER:
        return pthread_rwlock_timedrdlock(&rwlock, &later);
    case CLOCKED_READER:
        return pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &later_monotonic);
    case EXPIRED:
        return expect_timeout(acquire(env, self, kind));
    default:
        return acquire(env, self, kind);
    }
}

static jint release(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    switch (kind) {
    case MUTEX:
    case TIMED:
    case CLOCKED:
    case EXPIRED:
        return pthread_mutex_unlock(&mutex);
    case RECURSIVE:
        return pthread_mutex_unlock(&recursive) + pthread_mutex_unlock(&recursive);
    case WRITER:
    case TIMED_WRITER:
    case READER:
    case TIMED_READER:
    case CLOCKED_WRITER:
    case CLOCKED_READER:
        return pthread_rwlock_unlock(&rwlock);
    case ROBUST:
        return pthread_mutex_unlock(&robust);
    default:
        return -1;
    }
}

static jint meet(void)
{
    int result = pthread_barrier_wait(&barrier);

    return result == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : result;
}

static jint await_word(jint kind)
{
    struct timespec later_monotonic = in_ms(CLOCK_MONOTONIC, 10000);

    if (kind == FUTEX_PI) {
        lock_word();
        unlock_word();
        return 0;
    }
    while (!word)
        if (kind == FUTEX_BITSET)
            syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &later_monotonic, NULL,
                    FUTEX_BITSET_MATCH_ANY);
        else
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
    word = 0;
    return 0;
}

static jint await(JNIEnv *env, jclass self, jint kind)
{
    struct timespec later = in_ms(CLOCK_REALTIME, 10000);
    struct timespec later_monotonic = in_ms(CLOCK_MONOTONIC, 10000);

    (void)env, (void)self;
    if (kind == SEMAPHORE)
        return sem_wait(&semaphore);
    if (kind == TIMED_SEMAPHORE)
        return sem_timedwait(&semaphore, &later);
    if (kind == CLOCKED_SEMAPHORE)
        return sem_clockwait(&semaphore, CLOCK_MONOTONIC, &later_monotonic);
    if (kind == BARRIER)
        return meet();
    if (kind == JOIN)
        return pthread_join(joined, NULL);
    if (kind == TIMED_JOIN)
        return pthread_timedjoin_np(joined, NULL, &later);
    if (kind == CLOCKED_JOIN)
        return pthread_clockjoin_np(joined, NULL, CLOCK_MONOTONIC, &later_monotonic);
    if (kind >= FUTEX)
        return await_word(kind);
    pthread_mutex_lock(&of_condition);
    while (!is_signalled)
        if (kind == TIMED_CONDITION)
            pthread_cond_timedwait(&condition, &of_condition, &later);
        else if (kind == CLOCKED_CONDITION)
            pthread_cond_clockwait(&condition, &of_condition, CLOCK_MONOTONIC, &later_monotonic);
        else
            pthread_cond_wait(&condition, &of_condition);
    is_signalled = 0;
    return pthread_mutex_unlock(&of_condition);
}

static jint signal_it(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    if (kind == SEMAPHORE || kind == TIMED_SEMAPHORE || kind == CLOCKED_SEMAPHORE)
        return sem_post(&semaphore);
    if (kind == BARRIER)
        return meet();
    if (kind == FUTEX || kind == FUTEX_BITSET) {
        word = 1;
        return syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1) < 0 ? -1 : 0;
    }
    if (kind >= JOIN) {
        may_end = 1;
        return 0;
    }
    pthread_mutex_lock(&of_condition);
    is_signalled = 1;
    pthread_cond_signal(&condition);
    return pthread_mutex_unlock(&of_condition);
}

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    static const JNINativeMethod natives[] = {
        {"prepare", "()V", (void *)prepare},   {"create", "(I)V", (void *)create},
        {"acquire", "(I)I", (void *)acquire},  {"acquireSecond", "(I)I", (void *)acquire_second},
        {"release", "(I)I", (void *)release},  {"await", "(I)I", (void *)await},
        {"signal", "(I)I", (void *)signal_it},
    };
    JNIEnv *env;
    (void)reserved;
    java = vm;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
        return JNI_ERR;
    jclass class = (*env)->FindClass(env, "NativeLocks");
    if (!class || (*env)->RegisterNatives(env, class, natives, 7) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_8;
}
