#include "agent/threads/thread_events.h"

#include "agent/agent.h"
#include "agent/host/log.h"
#include "agent/hotspot/java_host.h"
#include "agent/housekeeping.h"
#include "agent/threads/virtual_threads.h"
#include "native/thread/virtual_thread.h"

#include <dlfcn.h>
#include <string.h>

#define START_FRAMES 256 /* looked at for the method that starts a thread */

#define JNI_VERSION_WITH_VIRTUAL_THREADS 0x00130000 /* 19 */

static void (*start_native)(JNIEnv *jni, jobject thread);
static void (*set_name_native)(JNIEnv *jni, jobject thread, jstring name);

static uint64_t java_id(const struct agent *agent, JNIEnv *jni, jthread thread)
{
    if (!agent->thread_id_field)
        return 0;
    return (uint64_t)(*jni)->GetLongField(jni, thread, agent->thread_id_field);
}

static bool is_of_jdk(const struct ledger *ledger, const struct ledger_method *method)
{
    const struct ledger_string *class_name = ledger__at(ledger, method->class_name);
    const char *name = ledger_string__bytes(class_name);

    return class_name->length > 5 &&
           (memcmp(name, "java.", 5) == 0 || memcmp(name, "jdk.", 4) == 0);
}

/* The innermost method that is not the JDK's own: pools and builders start threads for others. */
static ledger_ref starting_method(const struct agent *agent, const struct ledger_node *node)
{
    for (unsigned steps = 0; node->method && steps < START_FRAMES; steps++) {
        if (!is_of_jdk(&agent->ledger, ledger__at(&agent->ledger, node->method)))
            return node->method;
        node = ledger__at(&agent->ledger, node->parent);
    }
    return 0;
}

/* Whose thread runs here, if that is known: while profiling is stopped nobody tells which of the
 * virtual threads a carrier carries. */
static const struct kernel_thread *current(struct agent *agent, JNIEnv *jni)
{
    struct kernel_thread *mine = kernel_thread_table__find_mine(&agent->kernel_threads);

    if (mine && !kernel_thread__is_profiling(mine)) {
        if (mine->record->carries)
            return NULL;
    } else if (mine && kernel_thread__is_unidentified(mine)) {
        mine = thread_events__identify(agent, jni);
    }
    return mine && mine->thread && !mine->idle && !mine->paused ? mine : NULL;
}

struct java_thread_origin thread_events__here(struct agent *agent, JNIEnv *jni)
{
    const struct kernel_thread *mine = current(agent, jni);
    struct java_thread_origin origin = {0, 0};

    if (!mine)
        return origin;
    origin.parent = ledger__ref(&agent->ledger, mine->thread);
    origin.method = starting_method(agent, mine->tree.current);
    return origin;
}

/* Thread.start0: whoever calls it is the parent. */
static void JNICALL start_wrapper(JNIEnv *jni, jobject thread)
{
    struct agent *agent = &treadle_agent;
    uint64_t id = atomic_load(&agent->active) ? java_id(agent, jni, thread) : 0;

    if (id)
        java_thread_table__starting(&agent->java_threads, id, thread_events__here(agent, jni));
    start_native(jni, thread);
    if (id && (*jni)->ExceptionCheck(jni))
        java_thread_table__not_started(&agent->java_threads, id);
}

void thread_events__record_name(struct agent *agent, ledger_ref ref, const char *name)
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

        thread_events__record_name(agent, java_thread_table__find(&agent->java_threads, id), bytes);
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
    if (class)
        agent->thread_name_field = (*jni)->GetFieldID(jni, class, "name", "Ljava/lang/String;");
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    java_tid__prepare(&agent->java_tid, jni, class);
    /* Not tried in vain: a debugger that waits for exceptions would stop there. */
    class = (*jni)->GetVersion(jni) >= JNI_VERSION_WITH_VIRTUAL_THREADS
                ? (*jni)->FindClass(jni, "java/lang/BaseVirtualThread")
                : NULL;
    if (class)
        agent->virtual_thread_class = (*jni)->NewGlobalRef(jni, class);
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    if (!agent->thread_id_field)
        log__line(LOG_WARN, "this JVM's Thread has no field tid: parents and renames of threads "
                            "are not recorded");
}

jint thread_events__rebind(JNIEnv *jni, jclass *thread_class, JNINativeMethod *methods)
{
    void *start = dlsym(RTLD_DEFAULT, "JVM_StartThread");
    void *set_name = dlsym(RTLD_DEFAULT, "JVM_SetNativeThreadName");

    *thread_class = (*jni)->FindClass(jni, "java/lang/Thread");
    if (!*thread_class || !start || !set_name)
        return 0;
    memcpy(&start_native, &start, sizeof start);
    memcpy(&set_name_native, &set_name, sizeof set_name);
    methods[0] = (JNINativeMethod){"start0", "()V", (void *)(uintptr_t)start_wrapper};
    methods[1] = (JNINativeMethod){"setNativeName", "(Ljava/lang/String;)V",
                                   (void *)(uintptr_t)set_name_wrapper};
    return 2;
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

/* What is known of a thread; info is to be dropped afterwards. False if it is over. */
static bool learn(struct agent *agent, JNIEnv *jni, jthread thread, jvmtiThreadInfo *info,
                  struct java_thread_facts *facts)
{
    if ((*agent->jvmti)->GetThreadInfo(agent->jvmti, thread, info) != JVMTI_ERROR_NONE)
        return false;
    facts->name = info->name ? info->name : "";
    facts->name_length = strlen(facts->name);
    facts->kind = kind_of(agent, jni, thread);
    facts->flags |= info->is_daemon ? THREAD_DAEMON : 0;
    facts->java_id = java_id(agent, jni, thread);
    facts->parent = java_thread_table__origin(&agent->java_threads, facts->java_id).parent;
    return true;
}

/* The thread's record begins, on its own kernel thread. NULL if it cannot. */
static struct kernel_thread *begin(struct agent *agent, JNIEnv *jni, jthread thread, uint32_t flags)
{
    struct kernel_thread *mine = kernel_thread_table__enter(&agent->kernel_threads);
    struct java_thread_facts facts = {.flags = flags};
    jvmtiThreadInfo info;
    int error = 0;

    java_host__set(sampler__java_thread(&agent->sampler, jni));
    if (!mine || !learn(agent, jni, thread, &info, &facts))
        return NULL;
    mine->host = sampler__java_thread(&agent->sampler, jni);
    sampler__watch_me(&agent->sampler);
    /* It may have been adopted. */
    if (mine->idle || mine->thread->java_id != facts.java_id)
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
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti;
    if (!atomic_load(&agent->active))
        return;
    /* That was another thread. */
    if (mine)
        mine->refused = false;
    /* A method event may have come first; the thread that runs is then this one already. */
    if (mine && !mine->idle && mine->thread->java_id &&
        mine->thread->java_id == java_id(agent, jni, thread))
        return;
    (void)begin(agent, jni, thread, 0);
}

void JNICALL thread_events__end(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    struct agent *agent = &treadle_agent;
    struct kernel_thread *mine = kernel_thread_table__find_mine(&agent->kernel_threads);
    jvmtiThreadInfo info;

    java_host__set(NULL);
    if (!atomic_load(&agent->active) || !mine || !mine->thread || mine->idle)
        return;
    if ((*jvmti)->GetThreadInfo(jvmti, thread, &info) == JVMTI_ERROR_NONE) {
        thread_events__record_name(agent, ledger__ref(&agent->ledger, mine->thread), info.name);
        drop_info(agent, jni, &info);
    }
    if (mine->thread->java_id)
        java_thread_table__ended(&agent->java_threads, mine->thread->java_id);
    kernel_thread__end_java(mine);
}

/* Is the current thread a virtual one, mounted on the carrier that this kernel thread is? */
static bool is_virtual(const struct agent *agent, JNIEnv *jni, jthread thread)
{
    return agent->virtual_thread_class &&
           (*jni)->IsInstanceOf(jni, thread, agent->virtual_thread_class);
}

/* The kernel thread's accounts are opened under its carrier's name by thread_events__adopt_all, or
 * when the carrier starts: a mounted virtual thread does not know its carrier. */
static struct kernel_thread *identify(struct agent *agent, JNIEnv *jni, jthread thread)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    bool mounted = is_virtual(agent, jni, thread);

    if (mounted) {
        mine = kernel_thread_table__find_mine(&agent->kernel_threads);
        return mine && virtual_threads__identify(agent, jni, thread) ? mine : NULL;
    }
    if (!mine || mine->idle || kernel_thread__is_unidentified(mine)) {
        if (mine && mine->refused && !kernel_thread__is_unidentified(mine))
            return NULL;
        /* What was mounted when profiling was stopped is not what is about to begin or over. */
        if (mine)
            virtual_thread__identify(mine, 0);
        mine = begin(agent, jni, thread, 0);
        if (mine)
            kernel_thread__doubt(mine);
    }
    if (mine)
        virtual_thread__identify(mine, 0);
    return mine;
}

struct kernel_thread *thread_events__late_start(struct agent *agent, JNIEnv *jni, jthread thread)
{
    struct kernel_thread *mine;

    if (__atomic_load_n(&agent->setup.epoch, __ATOMIC_ACQUIRE) == EPOCH_STOPPED ||
        kernel_thread_table__refused_me())
        return NULL;
    mine = kernel_thread_table__find_mine(&agent->kernel_threads);
    /* Adopted, or a carrier. */
    if (mine || is_virtual(agent, jni, thread))
        return identify(agent, jni, thread);
    /* None: over already, or it could not be recorded when it started. */
    mine = begin(agent, jni, thread, 0);
    if (mine)
        kernel_thread__doubt(mine);
    return mine;
}

struct kernel_thread *thread_events__identify(struct agent *agent, JNIEnv *jni)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    jthread thread;

    if (!mine && kernel_thread_table__refused_me())
        return NULL;
    /* A mounted virtual thread that is known to be one; or one that there is no room for. */
    if (mine && (mine->paused || mine->refused) && !kernel_thread__is_unidentified(mine))
        return NULL;
    ledger__count(&agent->ledger.header->identified, 1);
    if ((*agent->jvmti)->GetCurrentThread(agent->jvmti, &thread) != JVMTI_ERROR_NONE)
        return NULL;
    mine = identify(agent, jni, thread);
    (*jni)->DeleteLocalRef(jni, thread);
    return mine && !mine->paused ? mine : NULL;
}

static void adopt(struct agent *agent, JNIEnv *jni, jthread thread)
{
    struct java_thread_facts facts = {0};
    pid_t tid = java_tid__of(&agent->java_tid, jni, thread);
    jvmtiThreadInfo info;
    ledger_ref ref;

    if (tid <= 0 || !learn(agent, jni, thread, &info, &facts))
        return;
    facts.host = sampler__java_thread_of(&agent->sampler, jni, thread);
    java_host__note(tid, facts.host);
    ref = kernel_thread_table__adopt(&agent->kernel_threads, tid, &facts);
    if (ref && facts.java_id)
        java_thread_table__started(&agent->java_threads, facts.java_id, ref);
    drop_info(agent, jni, &info);
}

void thread_events__note_hosts(struct agent *agent, JNIEnv *jni)
{
    jvmtiEnv *jvmti = agent->jvmti;
    jthread *threads;
    jint count;

    if ((*jvmti)->GetAllThreads(jvmti, &count, &threads) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        pid_t tid = java_tid__of(&agent->java_tid, jni, threads[i]);

        if (tid > 0)
            java_host__note(tid, sampler__java_thread_of(&agent->sampler, jni, threads[i]));
        (*jni)->DeleteLocalRef(jni, threads[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
}

void thread_events__adopt_all(struct agent *agent, JNIEnv *jni)
{
    jvmtiEnv *jvmti = agent->jvmti;
    jthread *threads;
    jint count;

    java_host__forget_noted();
    if ((*jvmti)->GetAllThreads(jvmti, &count, &threads) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        adopt(agent, jni, threads[i]);
        (*jni)->DeleteLocalRef(jni, threads[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
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
            thread_events__record_name(agent, ref, info.name);
            drop_info(agent, jni, &info);
        }
        (*jni)->DeleteLocalRef(jni, threads[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
}
