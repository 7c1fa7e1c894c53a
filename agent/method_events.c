#include "agent/method_events.h"

#include "agent/agent.h"
#include "agent/thread_events.h"

/* NULL or unmet: a thread that ran before profiling was started. */
static bool is_known(const struct kernel_thread *mine)
{
    return mine && !__atomic_load_n(&mine->unmet, __ATOMIC_RELAXED);
}

void JNICALL method_events__entry(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti;
    /* The frame that is being entered is on the stack already: it is not seeded. */
    if (__builtin_expect(!is_known(mine), 0))
        mine = thread_events__late_start(&treadle_agent, jni, thread, 1);
    if (__builtin_expect(mine != NULL, 1))
        kernel_thread__enter(mine, (uint64_t)(uintptr_t)method);
}

void JNICALL method_events__exit(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                                 jboolean was_popped_by_exception, jvalue return_value)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti, (void)was_popped_by_exception, (void)return_value;
    if (__builtin_expect(!is_known(mine), 0))
        mine = thread_events__late_start(&treadle_agent, jni, thread, 0);
    if (__builtin_expect(mine != NULL, 1))
        kernel_thread__leave(mine, (uint64_t)(uintptr_t)method);
}
