/* The native methods of NativeLockCost.java. */
#include <jni.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

JNIEXPORT void JNICALL Java_NativeLockCost_lock(JNIEnv *env, jclass self, jlong times);
JNIEXPORT void JNICALL Java_NativeLockCost_call(JNIEnv *env, jclass self, jlong times);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

JNIEXPORT void JNICALL Java_NativeLockCost_lock(JNIEnv *env, jclass self, jlong times)
{
    (void)env, (void)self;
    for (jlong i = 0; i < times; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

JNIEXPORT void JNICALL Java_NativeLockCost_call(JNIEnv *env, jclass self, jlong times)
{
    (void)env, (void)self;
    for (jlong i = 0; i < times; i++)
        syscall(SYS_getppid);
}
