/* The native method of Frames.java. */
#include <jni.h>

JNIEXPORT jlong JNICALL Java_Frames_between(JNIEnv *env, jclass self, jint n);

/* Calls Frames.below(n), and not as its last act: the frame must stay. */
JNIEXPORT jlong JNICALL Java_Frames_between(JNIEnv *env, jclass self, jint n)
{
    jmethodID below = (*env)->GetStaticMethodID(env, self, "below", "(I)J");

    return below ? (*env)->CallStaticLongMethod(env, self, below, n) + 1 : 0;
}
