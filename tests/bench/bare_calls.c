/* The floor for hooks: native methods that read the cycle counter and do nothing else. */
#include "native/ledger/cycle_counter.h"

#include <jni.h>

JNIEXPORT jlong JNICALL Java_CallCost_00024Bare_enter(JNIEnv *jni, jclass class, jint method);
JNIEXPORT void JNICALL Java_CallCost_00024Bare_leave(JNIEnv *jni, jclass class, jlong token);

/* Where the readings go, so that the compiler cannot leave them out. */
static __thread volatile jlong reading;

JNIEXPORT jlong JNICALL Java_CallCost_00024Bare_enter(JNIEnv *jni, jclass class, jint method)
{
    (void)jni, (void)class;
    return (jlong)cycle_counter__read() + method;
}

JNIEXPORT void JNICALL Java_CallCost_00024Bare_leave(JNIEnv *jni, jclass class, jlong token)
{
    (void)jni, (void)class;
    reading = (jlong)cycle_counter__read() - token;
}
