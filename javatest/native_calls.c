/* The native methods of NativeCalls.java; what each does is said there. */
#include <jni.h>

static jmethodID called, leaf, fails, down;

static jint add(JNIEnv *env, jclass self, jint a, jint b)
{
    (void)env;
    (void)self;
    return a + b;
}

static jint call_back(JNIEnv *env, jclass self, jint n)
{
    jint sum = 0;
    for (jint i = 0; i < n; i++)
        sum += (*env)->CallStaticIntMethod(env, self, called, i);
    return sum;
}

static void throwing(JNIEnv *env, jclass self)
{
    (void)self;
    jclass exception = (*env)->FindClass(env, "java/lang/IllegalStateException");
    if (exception)
        (*env)->ThrowNew(env, exception, "native");
}

static void passing(JNIEnv *env, jclass self)
{
    (*env)->CallStaticVoidMethod(env, self, fails);
}

static jint clearing(JNIEnv *env, jclass self, jint n)
{
    jint sum = 0;
    for (jint i = 0; i < n; i++) {
        (*env)->CallStaticVoidMethod(env, self, fails);
        (*env)->ExceptionClear(env);
        sum += (*env)->CallStaticIntMethod(env, self, leaf, i);
    }
    return sum;
}

static jint turn(JNIEnv *env, jobject self, jint n)
{
    return (*env)->CallIntMethod(env, self, down, n - 1);
}

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)reserved;
    static char names[][9] = {"add", "callBack", "throwing", "passing", "clearing", "turn"};
    static char int_to_int[] = "(I)I", ints_to_int[] = "(II)I", nothing[] = "()V";
    const JNINativeMethod methods[] = {
        {names[0], ints_to_int, (void *)add},     {names[1], int_to_int, (void *)call_back},
        {names[2], nothing, (void *)throwing},    {names[3], nothing, (void *)passing},
        {names[4], int_to_int, (void *)clearing}, {names[5], int_to_int, (void *)turn},
    };
    JNIEnv *env;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    jclass self = (*env)->FindClass(env, "NativeCalls");
    if (!self || !(called = (*env)->GetStaticMethodID(env, self, "called", int_to_int)) ||
        !(leaf = (*env)->GetStaticMethodID(env, self, "leaf", int_to_int)) ||
        !(fails = (*env)->GetStaticMethodID(env, self, "fails", nothing)) ||
        !(down = (*env)->GetMethodID(env, self, "down", int_to_int)) ||
        (*env)->RegisterNatives(env, self, methods, 6) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_6;
}
