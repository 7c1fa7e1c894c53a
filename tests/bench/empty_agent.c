/* The least a JVMTI agent with method events can do: nothing. The rest is HotSpot's own cost. */
#include <jvmti.h>

static void JNICALL on_entry(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jmethodID method)
{
    (void)jvmti;
    (void)env;
    (void)thread;
    (void)method;
}

static void JNICALL on_exit(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jmethodID method,
                            jboolean by_exception, jvalue value)
{
    (void)jvmti;
    (void)env;
    (void)thread;
    (void)method;
    (void)by_exception;
    (void)value;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    const jvmtiEventCallbacks callbacks = {.MethodEntry = on_entry, .MethodExit = on_exit};
    const jvmtiCapabilities capabilities = {
        .can_generate_method_entry_events = 1,
        .can_generate_method_exit_events = 1,
    };
    jvmtiEnv *jvmti;

    (void)options;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
        (*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_METHOD_ENTRY, NULL) !=
            JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_METHOD_EXIT, NULL) !=
            JVMTI_ERROR_NONE)
        return JNI_ERR;
    return JNI_OK;
}
