/* The native method of Forks.java. */
#include <jni.h>
#include <sys/wait.h>
#include <unistd.h>

static jint in_a_child(JNIEnv *env, jclass self)
{
    jmethodID child = (*env)->GetStaticMethodID(env, self, "child", "(I)I");
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit((int)(*env)->CallStaticIntMethod(env, self, child, (jint)10));
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    static char name[] = "inAChild", type[] = "()I";
    const JNINativeMethod method = {name, type, (void *)in_a_child};
    JNIEnv *env;
    jclass self;

    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    self = (*env)->FindClass(env, "Forks");
    if (!self || (*env)->RegisterNatives(env, self, &method, 1) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_6;
}
