/* The native methods of tests/jvm/NativeLocks.java: locks of the C library. */
#include <jni.h>
#include <pthread.h>
#include <semaphore.h>

enum { MUTEX, RECURSIVE, WRITER, CONDITION, SEMAPHORE };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int is_signalled;

static void prepare(JNIEnv *env, jclass self)
{
    (void)env, (void)self;
    sem_init(&semaphore, 0, 0);
}

/* Returns what the C library returned; 0 for all of these. */
static jint acquire(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    switch (kind) {
    case MUTEX:
        return pthread_mutex_lock(&mutex);
    case RECURSIVE:
        return pthread_mutex_lock(&recursive) + pthread_mutex_lock(&recursive);
    case WRITER:
        return pthread_rwlock_wrlock(&rwlock);
    default:
        return -1;
    }
}

static jint release(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    switch (kind) {
    case MUTEX:
        return pthread_mutex_unlock(&mutex);
    case RECURSIVE:
        return pthread_mutex_unlock(&recursive) + pthread_mutex_unlock(&recursive);
    case WRITER:
        return pthread_rwlock_unlock(&rwlock);
    default:
        return -1;
    }
}

static jint await(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    if (kind == SEMAPHORE)
        return sem_wait(&semaphore);
    pthread_mutex_lock(&of_condition);
    while (!is_signalled)
        pthread_cond_wait(&condition, &of_condition);
    is_signalled = 0;
    return pthread_mutex_unlock(&of_condition);
}

static jint signal_it(JNIEnv *env, jclass self, jint kind)
{
    (void)env, (void)self;
    if (kind == SEMAPHORE)
        return sem_post(&semaphore);
    pthread_mutex_lock(&of_condition);
    is_signalled = 1;
    pthread_cond_signal(&condition);
    return pthread_mutex_unlock(&of_condition);
}

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    static const JNINativeMethod natives[] = {
        {"prepare", "()V", (void *)prepare},   {"acquire", "(I)I", (void *)acquire},
        {"release", "(I)I", (void *)release},  {"await", "(I)I", (void *)await},
        {"signal", "(I)I", (void *)signal_it},
    };
    JNIEnv *env;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
        return JNI_ERR;
    jclass class = (*env)->FindClass(env, "NativeLocks");
    if (!class || (*env)->RegisterNatives(env, class, natives, 5) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_8;
}
