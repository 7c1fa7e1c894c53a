#include "agent/threads/thread_events.h"

#include "agent/host/log.h"
#include "agent/hotspot/java_hosts.h"
#include "agent/threads/io_natives.h"
#include "agent/threads/lock_waits.h"
#include "agent/threads/standing_frames.h"
#include "agent/threads/thread_waits.h"
#include "agent/threads/virtual_threads.h"
#include "native/thread/virtual_thread.h"

#include <dlfcn.h>
#include <string.h>

#define START_FRAMES 256 /* looked at for the method that starts a thread */

#define JNI_VERSION_WITH_VIRTUAL_THREADS 0x00130000 /* 19 */

static uint64_t java_id(const struct java_threads *threads, JNIEnv *jni, jthread thread)
{
    if (!threads->id_field)
        return 0;
    return (uint64_t)(*jni)->GetLongField(jni, thread, threads->id_field);
}

static bool is_of_jdk(const struct ledger *ledger, const struct ledger_method *method)
{
    const struct ledger_string *class_name = ledger__at(ledger, method->class_name);
    const char *name = ledger_string__bytes(class_name);

    return class_name->length > 5 &&
           (memcmp(name, "java.", 5) == 0 || memcmp(name, "jdk.", 4) == 0);
}

/* The innermost method that is not the JDK's own: pools and builders start threads for others. */
static ledger_ref starting_method(const struct java_threads *threads,
                                  const struct ledger_node *node)
{
    for (unsigned steps = 0; node->method && steps < START_FRAMES; steps++) {
        if (!is_of_jdk(threads->ledger, ledger__at(threads->ledger, node->method)))
            return node->method;
        node = ledger__at(threads->ledger, node->parent);
    }
    return 0;
}

/* The Java thread that runs here, if it is known: while profiling is stopped no event tells which
 * virtual thread a carrier carries. */
static const struct kernel_thread *current(struct java_threads *threads, JNIEnv *jni)
{
    struct kernel_thread *mine = kernel_thread_table__find_mine(threads->kernel_threads);

    if (mine && !kernel_thread__is_profiling(mine)) {
        if (mine->record->carries)
            return NULL;
    } else if (mine && kernel_thread__is_unidentified(mine)) {
        mine = thread_events__identify(threads, jni);
    }
    return mine && mine->thread && !mine->idle && !mine->paused ? mine : NULL;
}

struct java_thread_origin thread_events__here(struct java_threads *threads, JNIEnv *jni)
{
    const struct kernel_thread *mine = current(threads, jni);
    struct java_thread_origin origin = {0, 0};

    if (!mine)
        return origin;
    origin.parent = ledger__ref(threads->ledger, mine->thread);
    origin.method = starting_method(threads, mine->tree.current);
    return origin;
}

void thread_events__start_native(struct java_threads *threads, JNIEnv *jni, jobject thread)
{
    uint64_t id = atomic_load(threads->active) ? java_id(threads, jni, thread) : 0;

    if (id)
        java_thread_table__starting(&threads->table, id, thread_events__here(threads, jni));
    threads->start_native(jni, thread);
    if (id && (*jni)->ExceptionCheck(jni))
        java_thread_table__not_started(&threads->table, id);
}

void thread_events__record_name(struct java_threads *threads, ledger_ref ref, const char *name)
{
    if (!ref || !name)
        return;
    pthread_mutex_lock(&threads->names_lock);
    ledger__rename_thread(threads->ledger, ledger__at(threads->ledger, ref), name, strlen(name),
                          ledger_time__now_ns(&threads->setup->time));
    pthread_mutex_unlock(&threads->names_lock);
}

void thread_events__set_native_name(struct java_threads *threads, JNIEnv *jni, jobject thread,
                                    jstring name)
{
    uint64_t id = atomic_load(threads->active) ? java_id(threads, jni, thread) : 0;

    threads->set_name_native(jni, thread, name);
    if (id && name && !(*jni)->ExceptionCheck(jni)) {
        const char *bytes = (*jni)->GetStringUTFChars(jni, name, NULL);

        thread_events__record_name(threads, java_thread_table__find(&threads->table, id), bytes);
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
void thread_events__native_bound(struct java_threads *threads, jmethodID method, void *address,
                                 void **new_address)
{
    if (atomic_load(threads->active) && is_before_halt(threads->jvmti, method))
        threads->before_end(threads->context);
    if (thread_waits__native_bound(threads, method, address, new_address) ||
        io_natives__bound(threads, method, address, new_address))
        return;
    if (address == dlsym(RTLD_DEFAULT, "JVM_StartThread")) {
        memcpy(&threads->start_native, &address, sizeof(address));
        *new_address = (void *)(uintptr_t)threads->start_wrapper;
    } else if (address == dlsym(RTLD_DEFAULT, "JVM_SetNativeThreadName")) {
        memcpy(&threads->set_name_native, &address, sizeof(address));
        *new_address = (void *)(uintptr_t)threads->set_name_wrapper;
    }
}

void thread_events__init(struct java_threads *threads)
{
    pthread_mutex_init(&threads->names_lock, NULL);
    java_thread_table__init(&threads->table);
    standing_frames__init(&threads->standing);
}

void thread_events__prepare(struct java_threads *threads, JNIEnv *jni)
{
    jclass class = (*jni)->FindClass(jni, "java/lang/Thread");

    if (class)
        threads->id_field = (*jni)->GetFieldID(jni, class, "tid", "J");
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    if (class)
        threads->name_field = (*jni)->GetFieldID(jni, class, "name", "Ljava/lang/String;");
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    java_tid__prepare(&threads->java_tid, jni, class);
    /* Not tried in vain: a debugger that waits for exceptions would stop there. */
    class = (*jni)->GetVersion(jni) >= JNI_VERSION_WITH_VIRTUAL_THREADS
                ? (*jni)->FindClass(jni, "java/lang/BaseVirtualThread")
                : NULL;
    if (class)
        threads->virtual_thread_class = (*jni)->NewGlobalRef(jni, class);
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    if (!threads->id_field)
        log__line(LOG_WARN, "this JVM's Thread has no field tid: parents and renames of threads "
                            "are not recorded");
}

jint thread_events__rebind(struct java_threads *threads, JNIEnv *jni, jclass *thread_class,
                           JNINativeMethod *methods)
{
    void *start = dlsym(RTLD_DEFAULT, "JVM_StartThread");
    void *set_name = dlsym(RTLD_DEFAULT, "JVM_SetNativeThreadName");

    *thread_class = (*jni)->FindClass(jni, "java/lang/Thread");
    if (!*thread_class || !start || !set_name)
        return 0;
    memcpy(&threads->start_native, &start, sizeof(start));
    memcpy(&threads->set_name_native, &set_name, sizeof(set_name));
    methods[0] = (JNINativeMethod){"start0", "()V", (void *)(uintptr_t)threads->start_wrapper};
    methods[1] = (JNINativeMethod){"setNativeName", "(Ljava/lang/String;)V",
                                   (void *)(uintptr_t)threads->set_name_wrapper};
    return 2;
}

static enum ledger_thread_kind kind_of(const struct java_threads *threads, JNIEnv *jni,
                                       jthread thread)
{
    jclass class = (*jni)->GetObjectClass(jni, thread);
    enum ledger_thread_kind kind = THREAD_PLATFORM;
    char *signature = NULL;

    if ((*threads->jvmti)->GetClassSignature(threads->jvmti, class, &signature, NULL) ==
        JVMTI_ERROR_NONE) {
        if (strcmp(signature, "Ljdk/internal/misc/CarrierThread;") == 0)
            kind = THREAD_CARRIER;
        (*threads->jvmti)->Deallocate(threads->jvmti, (unsigned char *)signature);
    }
    (*jni)->DeleteLocalRef(jni, class);
    return kind;
}

static void drop_info(const struct java_threads *threads, JNIEnv *jni, jvmtiThreadInfo *info)
{
    (*threads->jvmti)->Deallocate(threads->jvmti, (unsigned char *)info->name);
    if (info->thread_group)
        (*jni)->DeleteLocalRef(jni, info->thread_group);
    if (info->context_class_loader)
        (*jni)->DeleteLocalRef(jni, info->context_class_loader);
}

/* Reads what JVMTI knows of a thread; the caller drops info afterwards. False: the thread has
 * ended. */
static bool learn(struct java_threads *threads, JNIEnv *jni, jthread thread, jvmtiThreadInfo *info,
                  struct java_thread_facts *facts)
{
    if ((*threads->jvmti)->GetThreadInfo(threads->jvmti, thread, info) != JVMTI_ERROR_NONE)
        return false;
    facts->name = info->name ? info->name : "";
    facts->name_length = strlen(facts->name);
    facts->kind = kind_of(threads, jni, thread);
    facts->flags |= info->is_daemon ? THREAD_DAEMON : 0;
    facts->java_id = java_id(threads, jni, thread);
    facts->priority = info->priority > 0 ? (uint32_t)info->priority : 0;
    facts->parent = java_thread_table__origin(&threads->table, facts->java_id).parent;
    return true;
}

/* The thread's record begins, on its own kernel thread. NULL if it cannot. */
static struct kernel_thread *begin(struct java_threads *threads, JNIEnv *jni, jthread thread,
                                   uint32_t flags)
{
    struct kernel_thread *mine = kernel_thread_table__enter(threads->kernel_threads);
    struct java_thread_facts facts = {.flags = flags};
    jvmtiThreadInfo info;
    int error = 0;

    java_hosts__set(threads->sampler->hosts, sampler__java_thread(threads->sampler, jni));
    if (!mine || !learn(threads, jni, thread, &info, &facts))
        return NULL;
    mine->host = sampler__java_thread(threads->sampler, jni);
    sampler__watch_me(threads->sampler);
    /* It may have been adopted. */
    if (mine->idle || mine->thread->java_id != facts.java_id)
        error = kernel_thread__start_java(mine, &facts);
    if (strcmp(facts.name, "DestroyJavaVM") == 0)
        threads->before_end(threads->context);
    drop_info(threads, jni, &info);
    if (error)
        return NULL;
    lock_waits__runs(threads, mine);
    if (facts.java_id)
        java_thread_table__started(&threads->table, facts.java_id,
                                   ledger__ref(threads->ledger, mine->thread));
    return mine;
}

void thread_events__start(struct java_threads *threads, JNIEnv *jni, jthread thread)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    if (!atomic_load(threads->active))
        return;
    /* That was another thread. */
    if (mine)
        mine->refused = false;
    /* A method event may have come first; the thread that runs is then this one already. */
    if (mine && !mine->idle && mine->thread->java_id &&
        mine->thread->java_id == java_id(threads, jni, thread))
        return;
    (void)begin(threads, jni, thread, 0);
}

void thread_events__end(struct java_threads *threads, JNIEnv *jni, jthread thread)
{
    jvmtiEnv *jvmti = threads->jvmti;
    struct kernel_thread *mine = kernel_thread_table__find_mine(threads->kernel_threads);
    jvmtiThreadInfo info;

    java_hosts__set(threads->sampler->hosts, NULL);
    if (!atomic_load(threads->active) || !mine || !mine->thread || mine->idle)
        return;
    if ((*jvmti)->GetThreadInfo(jvmti, thread, &info) == JVMTI_ERROR_NONE) {
        thread_events__record_name(threads, ledger__ref(threads->ledger, mine->thread), info.name);
        drop_info(threads, jni, &info);
    }
    if (mine->thread->java_id)
        java_thread_table__ended(&threads->table, mine->thread->java_id);
    lock_waits__ended(threads, jni, mine, mine->thread);
    kernel_thread__end_java(mine);
}

/* True if the current Java thread is a virtual thread, mounted on this kernel thread. */
static bool is_virtual(const struct java_threads *threads, JNIEnv *jni, jthread thread)
{
    return threads->virtual_thread_class &&
           (*jni)->IsInstanceOf(jni, thread, threads->virtual_thread_class);
}

/* The kernel thread's accounts are opened under its carrier's name by thread_events__adopt_all, or
 * when the carrier starts: a mounted virtual thread does not know its carrier. */
static struct kernel_thread *identify(struct java_threads *threads, JNIEnv *jni, jthread thread)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    bool mounted = is_virtual(threads, jni, thread);

    if (mounted) {
        mine = kernel_thread_table__find_mine(threads->kernel_threads);
        return mine && virtual_threads__identify(threads, jni, thread) ? mine : NULL;
    }
    if (!mine || mine->idle || kernel_thread__is_unidentified(mine)) {
        if (mine && mine->refused && !kernel_thread__is_unidentified(mine))
            return NULL;
        /* What was mounted when profiling was stopped is not what is about to begin or over. */
        if (mine)
            virtual_thread__identify(mine, 0);
        mine = begin(threads, jni, thread, 0);
        if (mine)
            kernel_thread__doubt(mine);
    }
    if (mine)
        virtual_thread__identify(mine, 0);
    return mine;
}

struct kernel_thread *thread_events__late_start(struct java_threads *threads, JNIEnv *jni,
                                                jthread thread)
{
    struct kernel_thread *mine;

    if (__atomic_load_n(&threads->setup->epoch, __ATOMIC_ACQUIRE) == EPOCH_STOPPED ||
        kernel_thread_table__refused_me())
        return NULL;
    mine = kernel_thread_table__find_mine(threads->kernel_threads);
    /* Adopted, or a carrier. */
    if (mine || is_virtual(threads, jni, thread))
        return identify(threads, jni, thread);
    /* None: over already, or it could not be recorded when it started. */
    mine = begin(threads, jni, thread, 0);
    if (mine)
        kernel_thread__doubt(mine);
    return mine;
}

struct kernel_thread *thread_events__identify(struct java_threads *threads, JNIEnv *jni)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    jthread thread;

    if (!mine && kernel_thread_table__refused_me())
        return NULL;
    /* A mounted virtual thread that is known to be one; or one that there is no room for. */
    if (mine && (mine->paused || mine->refused) && !kernel_thread__is_unidentified(mine))
        return NULL;
    ledger__count(&threads->ledger->header->identified, 1);
    if ((*threads->jvmti)->GetCurrentThread(threads->jvmti, &thread) != JVMTI_ERROR_NONE)
        return NULL;
    mine = identify(threads, jni, thread);
    (*jni)->DeleteLocalRef(jni, thread);
    return mine && !mine->paused ? mine : NULL;
}

static void note_owner(struct kernel_thread *kernel_thread, void *context)
{
    if (kernel_thread->thread)
        lock_waits__runs(context, kernel_thread);
}

static void adopt(struct java_threads *threads, JNIEnv *jni, jthread thread, void *context)
{
    struct java_thread_facts facts = {0};
    pid_t tid = java_tid__of(&threads->java_tid, jni, thread);
    jvmtiThreadInfo info;
    ledger_ref ref;

    (void)context;
    if (tid <= 0 || !learn(threads, jni, thread, &info, &facts))
        return;
    facts.host = sampler__java_thread_of(threads->sampler, jni, thread);
    java_hosts__note(threads->sampler->hosts, tid, facts.host);
    ref = kernel_thread_table__adopt(threads->kernel_threads, tid, &facts);
    if (ref && facts.java_id)
        java_thread_table__started(&threads->table, facts.java_id, ref);
    kernel_thread_table__visit(threads->kernel_threads, tid, note_owner, threads);
    drop_info(threads, jni, &info);
}

static void note_host(struct java_threads *threads, JNIEnv *jni, jthread thread, void *context)
{
    pid_t tid = java_tid__of(&threads->java_tid, jni, thread);

    (void)context;
    if (tid > 0)
        java_hosts__note(threads->sampler->hosts, tid,
                         sampler__java_thread_of(threads->sampler, jni, thread));
}

void thread_events__note_hosts(struct java_threads *threads, JNIEnv *jni)
{
    java_threads__each(threads, jni, note_host, NULL);
}

void thread_events__adopt_all(struct java_threads *threads, JNIEnv *jni)
{
    java_hosts__forget_noted(threads->sampler->hosts);
    java_threads__each(threads, jni, adopt, NULL);
}

static void record_present_name(struct java_threads *threads, JNIEnv *jni, jthread thread,
                                void *context)
{
    jvmtiEnv *jvmti = threads->jvmti;
    ledger_ref ref = java_thread_table__find(&threads->table, java_id(threads, jni, thread));
    jvmtiThreadInfo info;

    (void)context;
    if (ref && (*jvmti)->GetThreadInfo(jvmti, thread, &info) == JVMTI_ERROR_NONE) {
        thread_events__record_name(threads, ref, info.name);
        drop_info(threads, jni, &info);
    }
}

void thread_events__record_names(struct java_threads *threads, JNIEnv *jni)
{
    java_threads__each(threads, jni, record_present_name, NULL);
}
