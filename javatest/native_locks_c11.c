/* The native methods of tests/jvm/NativeLocks.java for the kinds that C11's threads.h has. */
#include <jni.h>
#include <stdatomic.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* As in NativeLocks.KINDS. */
enum {
    MUTEX = 0,
    RECURSIVE = 1,
    TIMED = 3,
    EXPIRED = 8,
    CONDITION = 12,
    TIMED_CONDITION = 13,
    JOIN = 19,
};

#define ENDS_WITH 7

static mtx_t mutex, recursive, timed, of_condition;
static cnd_t condition;
static int is_signalled;
static JavaVM *java;
static thrd_t joined;
static unsigned joins;
static atomic_bool is_running, may_end, are_checked, are_right;

static struct timespec in_ms(long ms)
{
    struct timespec time;

    timespec_get(&time, TIME_UTC);
    time.tv_sec += ms / 1000;
    time.tv_nsec += ms % 1000 * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* ---- what the functions return, by a thread that runs no Java ---- */

static int find_taken(void *lock)
{
    struct timespec soon = in_ms(1), never = {.tv_nsec = -1};

    return mtx_trylock(lock) == thrd_busy && mtx_timedlock(lock, &soon) == thrd_timedout &&
           mtx_timedlock(lock, &never) == thrd_error;
}

static int end_soon(void *unused)
{
    (void)unused;
    usleep(3000);
    return ENDS_WITH;
}

/* Of a thread that has ended, or has not. */
static int is_joined(int (*runs)(void *), void *argument, long after_us, int expected)
{
    thrd_t thread;
    int value = -1;

    thrd_create(&thread, runs, argument);
    usleep((useconds_t)after_us);
    return thrd_join(thread, &value) == thrd_success && value == expected;
}

static int are_all_right(void)
{
    struct timespec soon = in_ms(1), never = {.tv_nsec = -1};
    mtx_t lock;
    cnd_t never_signalled;
    int right;

    mtx_init(&lock, mtx_timed);
    cnd_init(&never_signalled);
    right = mtx_lock(&lock) == thrd_success && is_joined(find_taken, &lock, 0, 1) &&
            cnd_timedwait(&never_signalled, &lock, &soon) == thrd_timedout &&
            cnd_timedwait(&never_signalled, &lock, &never) == thrd_error &&
            mtx_unlock(&lock) == thrd_success && mtx_trylock(&lock) == thrd_success &&
            mtx_unlock(&lock) == thrd_success && is_joined(end_soon, NULL, 0, ENDS_WITH) &&
            is_joined(end_soon, NULL, 20000, ENDS_WITH);
    mtx_destroy(&lock);
    cnd_destroy(&never_signalled);
    return right;
}

static int check_results(void *unused)
{
    (void)unused;
    are_right = are_all_right();
    are_checked = 1;
    return 0;
}

/* ---- the threads that take turns ---- */

/* Runs Java if there is an argument. Waits for nothing that has a reason. */
static int run_joined(void *runs_java)
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
    return ENDS_WITH;
}

static void create(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    if (kind != JOIN)
        return;
    is_running = may_end = 0;
    thrd_create(&joined, run_joined, joins++ % 2 ? NULL : &joined);
    while (!is_running)
        thrd_yield();
}

static void prepare(JNIEnv *env, jclass self)
{
    thrd_t checks;

    (void)env, (void)self;
    mtx_init(&mutex, mtx_plain);
    mtx_init(&recursive, mtx_plain | mtx_recursive);
    mtx_init(&timed, mtx_timed);
    mtx_init(&of_condition, mtx_plain);
    cnd_init(&condition);
    thrd_create(&checks, check_results, NULL);
    thrd_detach(checks);
    while (!are_checked)
        usleep(500);
}

/* Each third time, tried before. */
static int try_and_lock(void)
{
    static atomic_uint times;

    return times++ % 3 == 0 && mtx_trylock(&mutex) == thrd_success ? thrd_success
                                                                   : mtx_lock(&mutex);
}

/* Returns what the C library returned; 0 for all of these. */
static jint acquire(JNIEnv *env, jclass self, jint kind)
{
    struct timespec later = in_ms(10000), soon = in_ms(5);

    (void)env, (void)self;
    if (!are_right)
        return -2;
    switch (kind) {
    case MUTEX:
        return try_and_lock();
    case RECURSIVE:
        return mtx_lock(&recursive) + mtx_trylock(&recursive);
    case TIMED:
        return mtx_timedlock(&timed, &later);
    case EXPIRED:
        return mtx_timedlock(&timed, &soon);
    default:
        return -1;
    }
}

static jint acquire_second(JNIEnv *env, jclass self, jint kind)
{
    jint result = acquire(env, self, kind);

    if (kind != EXPIRED)
        return result;
    if (result == thrd_success) /* who came so late has not waited, which its numbers show */
        return mtx_unlock(&timed);
    return result == thrd_timedout ? 0 : result;
}

static jint release(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    switch (kind) {
    case MUTEX:
        return mtx_unlock(&mutex);
    case RECURSIVE:
        return mtx_unlock(&recursive) + mtx_unlock(&recursive);
    case TIMED:
    case EXPIRED:
        return mtx_unlock(&timed);
    default:
        return -1;
    }
}

static jint await(JNIEnv *env, jclass self, jint kind)
{
    struct timespec later = in_ms(10000);
    int value = ENDS_WITH;

    (void)env, (void)self;
    if (kind == JOIN)
        return thrd_join(joined, joins % 2 ? &value : NULL) + value - ENDS_WITH;
    mtx_lock(&of_condition);
    while (!is_signalled)
        if (kind == TIMED_CONDITION)
            cnd_timedwait(&condition, &of_condition, &later);
        else
            cnd_wait(&condition, &of_condition);
    is_signalled = 0;
    return mtx_unlock(&of_condition);
}

static jint signal_it(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    if (kind == JOIN) {
        may_end = 1;
        return 0;
    }
    mtx_lock(&of_condition);
    is_signalled = 1;
    cnd_signal(&condition);
    return mtx_unlock(&of_condition);
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
