#include "agent/method_events.h"

#include "agent/agent.h"
#include "agent/thread_events.h"

void JNICALL method_events__entry(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti, (void)jni;
    /* The frame that is being entered is on the stack already: it is not seeded. */
    if (__builtin_expect(!mine, 0))
        mine = thread_events__late_start(&treadle_agent, thread, 1);
    if (__builtin_expect(mine != NULL, 1))
        kernel_thread__enter(mine, (uint64_t)(uintptr_t)method);
}

void JNICALL method_events__exit(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                                 jboolean was_popped_by_exception, jvalue return_value)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti, (void)jni, (void)was_popped_by_exception, (void)return_value;
    if (__builtin_expect(!mine, 0))
        mine = thread_events__late_start(&treadle_agent, thread, 0);
    if (__builtin_expect(mine != NULL, 1))
        kernel_thread__leave(mine, (uint64_t)(uintptr_t)method);
}
