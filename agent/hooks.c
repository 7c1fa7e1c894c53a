#include "agent/hooks.h"

#include "agent/activity_hooks.h"
#include "agent/agent.h"
#include "agent/methods/counted_methods.h"
#include "agent/methods/long_calls.h"
#include "agent/threads/lock_holds.h"
#include "agent/threads/owned_holds.h"
#include "agent/threads/shared_holds.h"
#include "agent/threads/standing_frames.h"
#include "agent/threads/thread_events.h"
#include "agent/threads/thread_waits.h"
#include "agent/threads/virtual_threads.h"
#include "native/thread/kernel_thread_events.h"

/* Two methods that are called from one depth are called from two places. */
#define METHOD_SHIFT 20

struct kernel_thread *hooks__ready(JNIEnv *jni, uintptr_t place, bool stays)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    struct agent *agent = &treadle_agent;

    if (__atomic_load_n(&agent->setup.epoch, __ATOMIC_ACQUIRE) == EPOCH_STOPPED)
        return NULL;
    if (!mine || !kernel_thread__counts(mine))
        mine = thread_events__identify(&agent->java_threads, jni);
    if (!mine || !kernel_thread__counts(mine))
        return NULL;
    standing_frames__check(&agent->java_threads, mine, place, stays);
    return mine;
}

/* Many calls of the method were heard: how long the last one takes shows how many more are worth
 * hearing. A virtual thread may end the call on another kernel thread. */
static __attribute__((noinline, cold)) uint64_t step(JNIEnv *jni, struct kernel_thread *mine,
                                                     uint32_t method, uint64_t token, bool slow)
{
    hook_quotas__step(&treadle_agent.quotas, jni, method, slow);
    if (mine->carrier.thread)
        return token;
    return measured_calls__begin(&mine->measured, token, method, mine->record->charged_cpu_ns);
}

/* A call was heard. Returns the token for its exit. */
static inline uint64_t count_call(JNIEnv *jni, struct kernel_thread *mine, uint32_t method,
                                  uint64_t token, bool slow)
{
    uint8_t *pushes = mine->key_pushes;

    if (pushes && __builtin_expect((++pushes[method] & (HOOK_QUOTA_STEP - 1)) == 0, 0) && jni)
        return step(jni, mine, method, token, slow);
    return token;
}

/* All but the common case: a context that was not the last one, a switch since, or a thread that
 * was not identified, for it ran before profiling was started. */
static __attribute__((noinline, cold)) jlong enter_slowly(JNIEnv *jni, uint32_t method)
{
    /* Number 0: a method that is hooked for other reasons than a node. */
    uintptr_t place = (uintptr_t)__builtin_frame_address(0) ^ (uintptr_t)method << METHOD_SHIFT;
    struct kernel_thread *mine = method ? hooks__ready(jni, place, false) : NULL;
    uint64_t token = mine ? kernel_thread__push(mine, method) : CALL_TOKEN_NONE;

    if (token != CALL_TOKEN_NONE)
        token = count_call(jni, mine, method, token, true);
    if (jni && hook_quotas__have_work(&treadle_agent.quotas))
        hook_quotas__apply(&treadle_agent.quotas, jni);
    return (jlong)token;
}

static void leave_measured(struct kernel_thread *mine, uint64_t token, bool slow)
{
    const struct ledger_node *caller = mine->tree.current;
    uint32_t method;
    uint64_t ns =
        measured_calls__end(&mine->measured, token, mine->record->charged_cpu_ns, &method);

    if (method)
        long_calls__took(&treadle_agent.quotas, method, caller ? caller->key : 0, ns, slow);
}

static uint64_t without_mark(uint64_t token)
{
    return call_token__is_measured(token) ? token & ~CALL_TOKEN_MEASURED : token;
}

/* A token of an earlier epoch: the frame was there before this one began. */
static __attribute__((noinline, cold)) void leave_slowly(struct kernel_thread *mine,
                                                         uint64_t marked_token)
{
    uint64_t token = without_mark(marked_token);
    bool is_measured = token != marked_token;
    bool was_switched = is_measured && !kernel_thread__fast_now_ns(mine);

    if (token != CALL_TOKEN_NONE && token >> 32 != mine->tree.token >> 32 &&
        kernel_thread__counts(mine))
        standing_frames__leave_old(&treadle_agent.java_threads, mine);
    else
        kernel_thread__pop_slowly(mine, token);
    if (is_measured)
        leave_measured(mine, token, was_switched);
}

static jlong JNICALL enter(JNIEnv *jni, jclass class, jint slot)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    uint32_t method = hook_quotas__method(&treadle_agent.quotas, (uint32_t)slot);
    uint64_t token;

    (void)class;
    /* No node that can be entered has the key 0. */
    if (__builtin_expect(mine != NULL, 1) &&
        __builtin_expect(kernel_thread__push_fast(mine, method, &token), 1))
        return (jlong)count_call(jni, mine, method, token, false);
    if (mine && method && kernel_thread__push_folded(mine, method, &token))
        return (jlong)count_call(jni, mine, method, token, false);
    return enter_slowly(jni, method);
}

static void JNICALL leave(JNIEnv *jni, jclass class, jlong token)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jni, (void)class;
    if (__builtin_expect(mine != NULL, 1) &&
        __builtin_expect(!kernel_thread__pop_fast(mine, (uint64_t)token), 0) &&
        !kernel_thread__pop_folded(mine, (uint64_t)token))
        leave_slowly(mine, (uint64_t)token);
}

static void JNICALL caught(JNIEnv *jni, jclass class, jlong token)
{
    struct kernel_thread *mine = hooks__ready(jni, (uintptr_t)__builtin_frame_address(0), true);

    (void)class;
    if (mine)
        kernel_thread__catch(mine, without_mark((uint64_t)token));
}

static void JNICALL hot(JNIEnv *jni, jclass class, jint slot)
{
    (void)class;
    hook_quotas__silent(&treadle_agent.quotas, jni, (uint32_t)slot);
}

/* If it is its first call, nothing else has made the method known. */
static void JNICALL first(JNIEnv *jni, jclass class, jint slot)
{
    uint32_t method = hook_quotas__method(&treadle_agent.quotas, (uint32_t)slot);

    (void)class;
    if (hook_quotas__is_counted(&treadle_agent.quotas, method) &&
        !ledger__find_method(&treadle_agent.ledger, method))
        (void)class_hooks__resolve(&treadle_agent.class_hooks, method);
    counted_methods__first_call(&treadle_agent.quotas, jni, (uint32_t)slot);
}

static void JNICALL counted(JNIEnv *jni, jclass class, jint slot, jlong tid)
{
    (void)class;
    counted_methods__step(&treadle_agent.quotas, jni, (uint32_t)slot, (uint64_t)tid);
}

static void JNICALL starting(JNIEnv *jni, jclass class, jobject thread)
{
    (void)class;
    virtual_threads__starting(&treadle_agent.java_threads, jni, thread);
}

static void JNICALL pinned(JNIEnv *jni, jclass class, jobject thread)
{
    (void)class, (void)thread;
    virtual_threads__pinned(&treadle_agent.java_threads, jni);
}

static void JNICALL parking(JNIEnv *jni, jclass class, jobject thread)
{
    (void)class;
    thread_waits__parking(&treadle_agent.java_threads, jni, thread);
}

static void JNICALL parked(JNIEnv *jni, jclass class)
{
    (void)class;
    thread_waits__parked(&treadle_agent.java_threads, jni);
}

static void JNICALL sleeping(JNIEnv *jni, jclass class, jobject thread)
{
    (void)class, (void)thread;
    thread_waits__begin(&treadle_agent.java_threads, jni, METRIC_SLEEP);
}

static void JNICALL slept(JNIEnv *jni, jclass class)
{
    (void)class;
    thread_waits__end(&treadle_agent.java_threads, jni, METRIC_SLEEP);
}

static void JNICALL polling(JNIEnv *jni, jclass class, jobject poller)
{
    (void)class, (void)poller;
    thread_waits__begin(&treadle_agent.java_threads, jni, METRIC_IO_WAIT);
}

static void JNICALL polled(JNIEnv *jni, jclass class)
{
    (void)class;
    thread_waits__end(&treadle_agent.java_threads, jni, METRIC_IO_WAIT);
}

static void JNICALL activity(JNIEnv *jni, jclass class, jobject api_class)
{
    (void)class;
    activity_hooks__bind(&treadle_agent, jni, api_class);
}

static void JNICALL entered(JNIEnv *jni, jclass class)
{
    (void)class;
    lock_holds__acquired(&treadle_agent.java_threads, jni);
}

static void JNICALL exited(JNIEnv *jni, jclass class)
{
    (void)class;
    lock_holds__released(&treadle_agent.java_threads, jni);
}

static void JNICALL exiting(JNIEnv *jni, jclass class)
{
    (void)class;
    lock_holds__releasing(&treadle_agent.java_threads, jni);
}

static void JNICALL owned(JNIEnv *jni, jclass class, jobject lock)
{
    (void)class;
    owned_holds__tell(&treadle_agent.java_threads, jni, lock);
}

static void JNICALL shared(JNIEnv *jni, jclass class, jint number, jobject lock, jint operation,
                           jint permits)
{
    (void)class;
    shared_holds__tell(&treadle_agent.java_threads, jni, number, lock,
                       (enum sharing_operation)operation, permits);
}

const JNINativeMethod hooks__natives[HOOK_COUNT] = {
    [HOOK_ENTER] = {"push", "(I)J", (void *)(uintptr_t)enter},
    [HOOK_LEAVE] = {"pop", "(J)V", (void *)(uintptr_t)leave},
    [HOOK_CAUGHT] = {"resume", "(J)V", (void *)(uintptr_t)caught},
    [HOOK_HOT] = {"hot", "(I)V", (void *)(uintptr_t)hot},
    [HOOK_FIRST] = {"first", "(I)V", (void *)(uintptr_t)first},
    [HOOK_COUNTED] = {"counted", "(IJ)V", (void *)(uintptr_t)counted},
    [HOOK_STARTING] = {"starting", "(Ljava/lang/Object;)V", (void *)(uintptr_t)starting},
    [HOOK_PINNED] = {"pinned", "(Ljava/lang/Object;)V", (void *)(uintptr_t)pinned},
    [HOOK_PARKING] = {"parking", "(Ljava/lang/Object;)V", (void *)(uintptr_t)parking},
    [HOOK_PARKED] = {"parked", "()V", (void *)(uintptr_t)parked},
    [HOOK_SLEEPING] = {"sleeping", "(Ljava/lang/Object;)V", (void *)(uintptr_t)sleeping},
    [HOOK_SLEPT] = {"slept", "()V", (void *)(uintptr_t)slept},
    [HOOK_POLLING] = {"polling", "(Ljava/lang/Object;)V", (void *)(uintptr_t)polling},
    [HOOK_POLLED] = {"polled", "()V", (void *)(uintptr_t)polled},
    [HOOK_ACTIVITY] = {"activity", "(Ljava/lang/Object;)V", (void *)(uintptr_t)activity},
    [HOOK_ACQUIRED] = {"entered", "()V", (void *)(uintptr_t)entered},
    [HOOK_RELEASED] = {"exited", "()V", (void *)(uintptr_t)exited},
    [HOOK_RELEASING] = {"exiting", "()V", (void *)(uintptr_t)exiting},
    [HOOK_OWNED] = {"owned", "(Ljava/lang/Object;)V", (void *)(uintptr_t)owned},
    [HOOK_SHARED] = {"shared", "(ILjava/lang/Object;II)V", (void *)(uintptr_t)shared},
};
