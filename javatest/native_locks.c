/* The native methods of tests/jvm/NativeLocks.java: locks of the C library. */
#include <errno.h>
#include <jni.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
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

/* Before the other thread is to end it: the one that is joined. */
static void create(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    if (kind < JOIN)
        return;
    is_running = may_end = 0;
    pthread_create(&joined, NULL, run_joined, kind == CLOCKED_JOIN ? NULL : &joined);
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
        return acquire(env, self, kind) == ETIMEDOUT ? 0 : -1;
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
