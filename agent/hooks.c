#include "agent/hooks.h"

#include "agent/agent.h"
#include "agent/thread_events.h"
#include "agent/virtual_threads.h"

/* All but the common case: a context that was not the last one, a switch since, or a thread that
 * was not met, for it ran before profiling was started. */
static __attribute__((noinline, cold)) jlong enter_slowly(JNIEnv *jni, jint method)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    struct agent *agent = &treadle_agent;
    uint64_t token = CALL_TOKEN_NONE;

    /* Number 0: a method that is hooked for other reasons than a node. */
    if (!method)
        return (jlong)CALL_TOKEN_NONE;
    if (mine)
        token = kernel_thread__push_slowly(mine, (uint32_t)method);
    if (token != CALL_TOKEN_NONE ||
        __atomic_load_n(&agent->setup.epoch, __ATOMIC_ACQUIRE) == EPOCH_STOPPED)
        return (jlong)token;
    mine = thread_events__meet(agent, jni);
    return (jlong)(mine ? kernel_thread__push(mine, (uint32_t)method) : CALL_TOKEN_NONE);
}

static jlong JNICALL enter(JNIEnv *jni, jclass class, jint method)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    uint64_t token;

    (void)class;
    /* No node that can be entered has the key 0. */
    if (__builtin_expect(mine != NULL, 1) &&
        __builtin_expect(kernel_thread__push_fast(mine, (uint32_t)method, &token), 1))
        return (jlong)token;
    return enter_slowly(jni, method);
}

static void JNICALL leave(JNIEnv *jni, jclass class, jlong token)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jni, (void)class;
    if (__builtin_expect(mine != NULL, 1))
        kernel_thread__pop(mine, (uint64_t)token);
}

static void JNICALL caught(JNIEnv *jni, jclass class, jlong token)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jni, (void)class;
    if (__builtin_expect(mine != NULL, 1))
        kernel_thread__catch(mine, (uint64_t)token);
}

const JNINativeMethod hooks__natives[HOOK_COUNT] = {
    [HOOK_ENTER] = {"enter", "(I)J", (void *)(uintptr_t)enter},
    [HOOK_LEAVE] = {"leave", "(J)V", (void *)(uintptr_t)leave},
    [HOOK_CAUGHT] = {"caught", "(J)V", (void *)(uintptr_t)caught},
    [HOOK_STARTING] = {"starting", "(Ljava/lang/Object;)V",
                       (void *)(uintptr_t)virtual_threads__starting},
    [HOOK_PINNED] = {"pinned", "(Ljava/lang/Object;)V", (void *)(uintptr_t)virtual_threads__pinned},
};
