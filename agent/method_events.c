#include "agent/method_events.h"

#include "agent/agent.h"
#include "agent/threads/standing_frames.h"
#include "agent/threads/thread_events.h"
#include "native/thread/kernel_thread_events.h"

/* Two methods that are called from one depth are called from two places. */
#define METHOD_SHIFT 20

static bool is_known(const struct kernel_thread *mine)
{
    return mine && mine->epoch == __atomic_load_n(&mine->setup->epoch, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&mine->unidentified, __ATOMIC_RELAXED) &&
           !call_tree__is_unseen(&mine->tree) && !call_tree__is_on_seed(&mine->tree);
}

/* Makes a thread ready for an event that ran before profiling was started, or first runs in another
 * epoch, or stands on a frame that was entered before that epoch: HotSpot may report no exit of
 * such a frame in compiled code. NULL: the event does not count. */
static __attribute__((noinline, cold)) struct kernel_thread *ready(JNIEnv *jni, jthread thread,
                                                                   jmethodID method, bool is_exit)
{
    uint64_t key = (uint64_t)(uintptr_t)method;
    uintptr_t place = (uintptr_t)__builtin_frame_address(0) ^ key << METHOD_SHIFT;
    struct kernel_thread *mine = kernel_thread_table__mine();
    struct agent *agent = &treadle_agent;

    if (!mine || kernel_thread__is_unidentified(mine))
        mine = thread_events__late_start(&agent->java_threads, jni, thread);
    if (!mine || !kernel_thread__counts(mine))
        return NULL;
    if (call_tree__is_unseen(&mine->tree))
        standing_frames__find(&agent->java_threads, mine, is_exit ? 0 : 1);
    else if (!call_tree__is_on_seed(&mine->tree) || call_tree__leaves_out(&mine->tree, key))
        return mine;
    else if (is_exit && mine->tree.current->key != key)
        standing_frames__find(&agent->java_threads, mine, 0);
    else
        standing_frames__check(&agent->java_threads, mine, place, is_exit);
    return mine;
}

void JNICALL method_events__entry(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti;
    /* The frame that is being entered is on the stack already. */
    if (__builtin_expect(!is_known(mine), 0))
        mine = ready(jni, thread, method, false);
    if (__builtin_expect(mine != NULL, 1))
        kernel_thread__enter(mine, (uint64_t)(uintptr_t)method);
}

void JNICALL method_events__exit(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                                 jboolean was_popped_by_exception, jvalue return_value)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti, (void)was_popped_by_exception, (void)return_value;
    if (__builtin_expect(!is_known(mine), 0))
        mine = ready(jni, thread, method, true);
    if (__builtin_expect(mine != NULL, 1))
        kernel_thread__leave(mine, (uint64_t)(uintptr_t)method);
}
