/* The native method of VirtualPinned.java; what it does is said there. */
#include <jni.h>

static jmethodID called;

static void call_back(JNIEnv *env, jclass self, jint n, jboolean fails)
{
    for (jint i = 0; i < n && !(*env)->ExceptionCheck(env); i++)
        (*env)->CallStaticVoidMethod(env, self, called, i, fails);
}

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)reserved;
    static char name[] = "callBack", signature[] = "(IZ)V";
    const JNINativeMethod method = {name, signature, (void *)call_back};
    JNIEnv *env;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    jclass self = (*env)->FindClass(env, "VirtualPinned");
    if (!self || !(called = (*env)->GetStaticMethodID(env, self, "called", signature)) ||
        (*env)->RegisterNatives(env, self, &method, 1) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_6;
}
