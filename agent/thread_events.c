#include "agent/thread_events.h"

#include "agent/housekeeping.h"
#include "agent/log.h"

#include <dlfcn.h>
#include <string.h>

#define SEED_FRAMES 64

static void (*start_native)(JNIEnv *jni, jobject thread);
static void (*set_name_native)(JNIEnv *jni, jobject thread, jstring name);

static uint64_t java_id(const struct agent *agent, JNIEnv *jni, jthread thread)
{
    if (!agent->thread_id_field)
        return 0;
    return (uint64_t)(*jni)->GetLongField(jni, thread, agent->thread_id_field);
}

static ledger_ref current_thread(const struct agent *agent)
{
    const struct kernel_thread *mine = kernel_thread_table__mine();

    return mine && mine->thread && !mine->idle ? ledger__ref(&agent->ledger, mine->thread) : 0;
}

/* Thread.start0: whoever calls it is the parent. */
static void JNICALL start_wrapper(JNIEnv *jni, jobject thread)
{
    struct agent *agent = &treadle_agent;
    uint64_t id = atomic_load(&agent->active) ? java_id(agent, jni, thread) : 0;

    if (id)
        java_thread_table__starting(&agent->java_threads, id, current_thread(agent));
    start_native(jni, thread);
    if (id && (*jni)->ExceptionCheck(jni))
        java_thread_table__not_started(&agent->java_threads, id);
}

static void record_name(struct agent *agent, ledger_ref ref, const char *name)
{
    if (!ref || !name)
        return;
    pthread_mutex_lock(&agent->names_lock);
    ledger__rename_thread(&agent->ledger, ledger__at(&agent->ledger, ref), name, strlen(name),
                          ledger_time__now_ns(&agent->setup.time));
    pthread_mutex_unlock(&agent->names_lock);
}

/* Thread.setNativeName: called by setName on a thread that runs. */
static void JNICALL set_name_wrapper(JNIEnv *jni, jobject thread, jstring name)
{
    struct agent *agent = &treadle_agent;
    uint64_t id = atomic_load(&agent->active) ? java_id(agent, jni, thread) : 0;

    set_name_native(jni, thread, name);
    if (id && name && !(*jni)->ExceptionCheck(jni)) {
        const char *bytes = (*jni)->GetStringUTFChars(jni, name, NULL);

        record_name(agent, java_thread_table__find(&agent->java_threads, id), bytes);
        if (bytes)
            (*jni)->ReleaseStringUTFChars(jni, name, bytes);
    }
}

/* Shutdown.beforeHalt is bound when it is first called: the JVM is about to stop the collector's
 * threads. A JVM that ends because main has returned does not call it; there, the start of the
 * thread DestroyJavaVM tells. */
static bool is_before_halt(jvmtiEnv *jvmti, jmethodID method)
{
    char *name = NULL;
    bool is_it = (*jvmti)->GetMethodName(jvmti, method, &name, NULL, NULL) == JVMTI_ERROR_NONE &&
                 strcmp(name, "beforeHalt") == 0;

    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    return is_it;
}

/* By address rather than by name: the binding happens before JVMTI tells names. */
void JNICALL thread_events__native_bound(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread,
                                         jmethodID method, void *address, void **new_address)
{
    (void)jni, (void)thread;
    if (atomic_load(&treadle_agent.active) && is_before_halt(jvmti, method))
        housekeeping__look(&treadle_agent);
    if (address == dlsym(RTLD_DEFAULT, "JVM_StartThread")) {
        memcpy(&start_native, &address, sizeof address);
        *new_address = (void *)(uintptr_t)start_wrapper;
    } else if (address == dlsym(RTLD_DEFAULT, "JVM_SetNativeThreadName")) {
        memcpy(&set_name_native, &address, sizeof address);
        *new_address = (void *)(uintptr_t)set_name_wrapper;
    }
}

void thread_events__prepare(struct agent *agent, JNIEnv *jni)
{
    jclass class = (*jni)->FindClass(jni, "java/lang/Thread");

    if (class)
        agent->thread_id_field = (*jni)->GetFieldID(jni, class, "tid", "J");
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    if (!agent->thread_id_field)
        log__line(LOG_WARN, "this JVM's Thread has no field tid: parents and renames of threads "
                            "are not recorded");
}

static enum ledger_thread_kind kind_of(const struct agent *agent, JNIEnv *jni, jthread thread)
{
    jclass class = (*jni)->GetObjectClass(jni, thread);
    enum ledger_thread_kind kind = THREAD_PLATFORM;
    char *signature = NULL;

    if ((*agent->jvmti)->GetClassSignature(agent->jvmti, class, &signature, NULL) ==
        JVMTI_ERROR_NONE) {
        if (strcmp(signature, "Ljdk/internal/misc/CarrierThread;") == 0)
            kind = THREAD_CARRIER;
        (*agent->jvmti)->Deallocate(agent->jvmti, (unsigned char *)signature);
    }
    (*jni)->DeleteLocalRef(jni, class);
    return kind;
}

static void drop_info(const struct agent *agent, JNIEnv *jni, jvmtiThreadInfo *info)
{
    (*agent->jvmti)->Deallocate(agent->jvmti, (unsigned char *)info->name);
    if (info->thread_group)
        (*jni)->DeleteLocalRef(jni, info->thread_group);
    if (info->context_class_loader)
        (*jni)->DeleteLocalRef(jni, info->context_class_loader);
}

/* The thread's record begins, on its own kernel thread. NULL if it cannot. */
static struct kernel_thread *begin(struct agent *agent, JNIEnv *jni, jthread thread, uint32_t flags)
{
    struct kernel_thread *mine = kernel_thread_table__enter(&agent->kernel_threads);
    struct java_thread_facts facts = {.flags = flags};
    jvmtiThreadInfo info;
    int error;

    if (!mine || (*agent->jvmti)->GetThreadInfo(agent->jvmti, thread, &info) != JVMTI_ERROR_NONE)
        return NULL;
    facts.name = info.name ? info.name : "";
    facts.name_length = strlen(facts.name);
    facts.kind = kind_of(agent, jni, thread);
    facts.flags |= info.is_daemon ? THREAD_DAEMON : 0;
    facts.java_id = java_id(agent, jni, thread);
    facts.parent = java_thread_table__parent(&agent->java_threads, facts.java_id);
    error = kernel_thread__start_java(mine, &facts);
    if (strcmp(facts.name, "DestroyJavaVM") == 0)
        housekeeping__look(agent);
    drop_info(agent, jni, &info);
    if (error)
        return NULL;
    if (facts.java_id)
        java_thread_table__started(&agent->java_threads, facts.java_id,
                                   ledger__ref(&agent->ledger, mine->thread));
    return mine;
}

void JNICALL thread_events__start(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    struct agent *agent = &treadle_agent;
    const struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti;
    if (!atomic_load(&agent->active))
        return;
    /* A method event may have come first; the thread that runs is then this one already. */
    if (mine && !mine->idle && mine->thread->java_id &&
        mine->thread->java_id == java_id(agent, jni, thread))
        return;
    (void)begin(agent, jni, thread, 0);
}

void JNICALL thread_events__end(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    struct agent *agent = &treadle_agent;
    struct kernel_thread *mine = kernel_thread_table__mine();
    jvmtiThreadInfo info;

    if (!mine || !mine->thread || mine->idle)
        return;
    if ((*jvmti)->GetThreadInfo(jvmti, thread, &info) == JVMTI_ERROR_NONE) {
        record_name(agent, ledger__ref(&agent->ledger, mine->thread), info.name);
        drop_info(agent, jni, &info);
    }
    if (mine->thread->java_id)
        java_thread_table__ended(&agent->java_threads, mine->thread->java_id);
    kernel_thread__end_java(mine);
}

/* Oldest frame first, a few at a time: a stack may be deep. */
static void seed_frames(const struct agent *agent, struct kernel_thread *mine, jthread thread,
                        jint top_frames)
{
    jvmtiEnv *jvmti = agent->jvmti;
    jvmtiFrameInfo frames[SEED_FRAMES];
    jint left, got;

    if ((*jvmti)->GetFrameCount(jvmti, thread, &left) != JVMTI_ERROR_NONE)
        return;
    while (left > top_frames) {
        jint from = left - SEED_FRAMES > top_frames ? left - SEED_FRAMES : top_frames;

        if ((*jvmti)->GetStackTrace(jvmti, thread, from, left - from, frames, &got) !=
                JVMTI_ERROR_NONE ||
            got != left - from)
            return;
        while (got > 0)
            call_tree__seed(&mine->tree, (uint64_t)(uintptr_t)frames[--got].method);
        left = from;
    }
    kernel_thread__publish(mine);
}

struct kernel_thread *thread_events__late_start(struct agent *agent, jthread thread,
                                                jint top_frames)
{
    JNIEnv *jni = agent__jni(agent);
    struct kernel_thread *mine = kernel_thread_table__mine();

    /* Over already, or it could not be recorded when it started. */
    if (!jni || mine)
        return NULL;
    mine = begin(agent, jni, thread, THREAD_SEEDED);
    if (mine)
        seed_frames(agent, mine, thread, top_frames);
    return mine;
}

void thread_events__record_names(struct agent *agent, JNIEnv *jni)
{
    jvmtiEnv *jvmti = agent->jvmti;
    jthread *threads;
    jint count;

    if ((*jvmti)->GetAllThreads(jvmti, &count, &threads) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        ledger_ref ref =
            java_thread_table__find(&agent->java_threads, java_id(agent, jni, threads[i]));
        jvmtiThreadInfo info;

        if (ref && (*jvmti)->GetThreadInfo(jvmti, threads[i], &info) == JVMTI_ERROR_NONE) {
            record_name(agent, ref, info.name);
            drop_info(agent, jni, &info);
        }
        (*jni)->DeleteLocalRef(jni, threads[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
}
