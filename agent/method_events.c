#include "agent/method_events.h"

#include "agent/agent.h"
#include "agent/thread_events.h"

static bool is_known(const struct kernel_thread *mine)
{
    return mine && mine->epoch == __atomic_load_n(&mine->setup->epoch, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&mine->unmet, __ATOMIC_RELAXED) && !call_tree__is_unseen(&mine->tree);
}

/* One that ran before profiling was started, or begins to run in another epoch. The `top` youngest
 * frames are not those that it stands on. */
static __attribute__((noinline, cold)) struct kernel_thread *ready(JNIEnv *jni, jthread thread,
                                                                   jint top)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    if (!mine || kernel_thread__is_unmet(mine))
        mine = thread_events__late_start(&treadle_agent, jni, thread);
    if (mine && kernel_thread__counts(mine) && call_tree__is_unseen(&mine->tree))
        standing_frames__find(&treadle_agent, mine, top);
    return mine;
}

void JNICALL method_events__entry(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti;
    /* The frame that is being entered is on the stack already. */
    if (__builtin_expect(!is_known(mine), 0))
        mine = ready(jni, thread, 1);
    if (__builtin_expect(mine != NULL, 1))
        kernel_thread__enter(mine, (uint64_t)(uintptr_t)method);
}

void JNICALL method_events__exit(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                                 jboolean was_popped_by_exception, jvalue return_value)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti, (void)was_popped_by_exception, (void)return_value;
    if (__builtin_expect(!is_known(mine), 0))
        mine = ready(jni, thread, 0);
    if (__builtin_expect(mine != NULL, 1))
        kernel_thread__leave(mine, (uint64_t)(uintptr_t)method);
}
