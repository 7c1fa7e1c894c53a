#include "agent/hooks/hook_cost.h"

#include "native/thread/kernel_thread_table.h"

#include <stdlib.h>
#include <unistd.h>

#define LEDGER_BYTES (64u * 1024u)
#define TRIES        24u
#define CALLS        128u

typedef jlong(JNICALL *enter_hook)(JNIEnv *jni, jclass class, jint method);
typedef void(JNICALL *leave_hook)(JNIEnv *jni, jclass class, jlong token);

/* Like the JVM's: what the other threads look at when they want this one to stop. */
struct native_state {
    volatile uint32_t state;
    volatile uint32_t stop;
};

enum { IN_JAVA, IN_NATIVE, ON_THE_WAY_BACK };

static void return_to_java(struct native_state *thread)
{
    thread->state = ON_THE_WAY_BACK;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    while (thread->stop)
        ;
    thread->state = IN_JAVA;
}

static __attribute__((noinline)) jlong call_enter(struct native_state *thread, enter_hook enter)
{
    jlong token;

    thread->state = IN_NATIVE;
    token = enter(NULL, NULL, 1);
    return_to_java(thread);
    return token;
}

static __attribute__((noinline)) void call_leave(struct native_state *thread, leave_hook leave,
                                                 jlong token)
{
    thread->state = IN_NATIVE;
    leave(NULL, NULL, token);
    return_to_java(thread);
}

static uint64_t ticks_of_calls(enter_hook enter, leave_hook leave)
{
    struct native_state thread = {0};
    uint64_t before = cycle_counter__read();

    for (unsigned i = 0; i < CALLS; i++)
        call_leave(&thread, leave, call_enter(&thread, enter));
    return cycle_counter__read() - before;
}

static uint64_t least_ticks(const JNINativeMethod hooks[HOOK_COUNT])
{
    enter_hook enter = (enter_hook)hooks[HOOK_ENTER].fnPtr;
    leave_hook leave = (leave_hook)hooks[HOOK_LEAVE].fnPtr;
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t ticks = ticks_of_calls(enter, leave);

        if (ticks < least)
            least = ticks;
    }
    return least;
}

static ledger_ref resolve(void *context, uint64_t key)
{
    const struct ledger_method_names names = {.class_name = "", .name = "", .signature = ""};

    return ledger__add_method(context, key, &names, 0);
}

static uint64_t measure(const struct kernel_thread_setup *setup,
                        const JNINativeMethod hooks[HOOK_COUNT])
{
    const struct java_thread_facts facts = {.name = "", .kind = THREAD_PLATFORM};
    struct kernel_thread *thread = calloc(1, sizeof(*thread));
    struct ledger_kernel_thread record = {.tid = gettid()};
    uint64_t ticks = 0;

    if (!thread)
        return 0;
    call_tree__init(&thread->tree, setup->ledger, setup->resolve, setup->resolve_context);
    kernel_thread__begin(thread, setup, &record);
    if (kernel_thread__start_java(thread, &facts) == 0) {
        kernel_thread_mine = thread;
        ticks = least_ticks(hooks);
        kernel_thread_mine = NULL;
    }
    kernel_thread__end(thread);
    free(thread);
    return (uint64_t)((unsigned __int128)ticks * setup->time.tsc_mult * 1000 >> 64) / CALLS;
}

uint64_t hook_cost__measure_ps(const struct kernel_thread_setup *setup,
                               const JNINativeMethod hooks[HOOK_COUNT])
{
    struct kernel_thread_setup own = {
        .epoch = 1,
        .time = setup->time,
        .clock = setup->clock,
        .admits_all = true,
        .resolve = resolve,
    };
    struct ledger ledger;
    uint64_t cost_ps;

    /* Without the counter there is nothing to measure with. */
    if (!setup->time.tsc_mult || kernel_thread_mine ||
        ledger__create(&ledger, NULL, LEDGER_BYTES) != 0)
        return 0;
    own.ledger = &ledger;
    own.resolve_context = &ledger;
    cost_ps = measure(&own, hooks);
    ledger__close(&ledger);
    return cost_ps;
}
