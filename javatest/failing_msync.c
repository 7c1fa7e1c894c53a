/* Preloaded, and loaded by ForceErrors: the C library's msync fails, with errors in turns. As an
 * agent it makes each binding of the JDK's native take long, too, so that calls come between two of
 * them. */
#include <dlfcn.h>
#include <errno.h>
#include <jni.h>
#include <jvmti.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BINDING_US 500000
#define NATIVE     "force0"
#define DESCRIPTOR "(Ljava/io/FileDescriptor;JJ)V"

JNIEXPORT jint JNICALL Java_ForceErrors_agentCalls(JNIEnv *jni, jclass self);

static const int errors[] = {EIO, ENOMEM, EBUSY};

static _Atomic unsigned calls;
static _Atomic unsigned agent_calls;
static jint(JNICALL *bind)(JNIEnv *, jclass, const JNINativeMethod *, jint);

static int is_of_agent(const void *address)
{
    Dl_info info;

    return dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, "libtreadle.so");
}

/* The C library's names of parameters are reserved.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) int msync(void *address, size_t length, int flags)
{
    (void)address, (void)length, (void)flags;
    if (is_of_agent(__builtin_return_address(0)))
        atomic_fetch_add(&agent_calls, 1);
    errno = errors[atomic_fetch_add(&calls, 1) % (sizeof(errors) / sizeof(*errors))];
    return -1;
}

JNIEXPORT jint JNICALL Java_ForceErrors_agentCalls(JNIEnv *jni, jclass self)
{
    (void)jni, (void)self;
    return (jint)atomic_load(&agent_calls);
}

static jint JNICALL bind_slowly(JNIEnv *jni, jclass class, const JNINativeMethod *natives,
                                jint count)
{
    jint result = bind(jni, class, natives, count);

    for (jint i = 0; i < count; i++)
        if (!strcmp(natives[i].name, NATIVE) && !strcmp(natives[i].signature, DESCRIPTOR))
            (void)usleep(BINDING_US);
    return result;
}

static void JNICALL make_slow(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    jniNativeInterface *functions = NULL;

    (void)jni, (void)thread;
    if ((*jvmti)->GetJNIFunctionTable(jvmti, &functions) != JVMTI_ERROR_NONE)
        return;
    bind = functions->RegisterNatives;
    functions->RegisterNatives = bind_slowly;
    (void)(*jvmti)->SetJNIFunctionTable(jvmti, functions);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)functions);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    const jvmtiEventCallbacks callbacks = {.VMInit = make_slow};
    jvmtiEnv *jvmti;

    (void)options, (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, (jint)sizeof(callbacks)) != JVMTI_ERROR_NONE)
        return JNI_ERR;
    return (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL)
               ? JNI_ERR
               : JNI_OK;
}
