#include "agent/threads/thread_waits.h"

#include "agent/host/jvmti_event.h"
#include "agent/host/log.h"
#include "agent/threads/lock_waits.h"
#include "agent/threads/thread_events.h"
#include "native/thread/wait_bracket.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#define LOOKS_PAUSE 63u /* parks that are skipped at most; one less than a power of two */

static bool is_profiling(const struct java_threads *threads)
{
    return __atomic_load_n(&threads->setup->epoch, __ATOMIC_ACQUIRE) != EPOCH_STOPPED;
}

/* Finds out which Java thread runs. At the end of a wait an exception may be pending, with which
 * JNI must not be called. */
static struct kernel_thread *identify(struct java_threads *threads, JNIEnv *jni)
{
    jthrowable pending = (*jni)->ExceptionOccurred(jni);
    struct kernel_thread *mine;

    if (pending)
        (*jni)->ExceptionClear(jni);
    mine = thread_events__identify(threads, jni);
    if (pending) {
        (void)(*jni)->Throw(jni, pending);
        (*jni)->DeleteLocalRef(jni, pending);
    }
    return mine;
}

/* The calling kernel thread's entry, once its Java thread is identified. No stack is looked at: the
 * wait of the others would be longer. */
static struct kernel_thread *waiting(struct java_threads *threads, JNIEnv *jni)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    if (!mine)
        mine = kernel_thread_table__find_mine(threads->kernel_threads);
    if (mine && kernel_thread__is_unidentified(mine))
        mine = identify(threads, jni);
    return mine && mine->thread ? mine : NULL;
}

static void count(uint64_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static bool is_told_by_the_jvm(enum ledger_metric reason)
{
    return reason == METRIC_MONITOR_WAIT || reason == METRIC_OBJECT_WAIT;
}

bool thread_waits__has_room(const struct java_threads *threads, struct kernel_thread *mine,
                            enum ledger_metric reason)
{
    if (atomic_load_explicit(&threads->waits_heard, memory_order_relaxed))
        return true;
    count(&mine->times.unheard_waits);
    if (!is_told_by_the_jvm(reason))
        count(&mine->times.unheard_wrapped);
    if (mine->thread->kind == THREAD_VIRTUAL)
        count(&mine->times.unheard_virtual);
    else if (atomic_load_explicit(&threads->waits_timed, memory_order_relaxed) &&
             wait_bracket__begin_timed(mine, reason))
        count(&mine->times.timed_waits);
    return false;
}

/* The same at the begin of a wait. NULL as well where the budget has no room for it. */
static struct kernel_thread *heard(struct java_threads *threads, JNIEnv *jni,
                                   enum ledger_metric reason)
{
    struct kernel_thread *mine = is_profiling(threads) ? waiting(threads, jni) : NULL;

    return mine && thread_waits__has_room(threads, mine, reason) ? mine : NULL;
}

static bool take(_Atomic uint32_t *left)
{
    uint32_t seen = atomic_load_explicit(left, memory_order_relaxed);

    while (seen && !atomic_compare_exchange_weak(left, &seen, seen - 1))
        ;
    return seen != 0;
}

/* True if the wait that is about to begin is for a lock, and in no other wait that has a reason. */
static bool may_block(const struct java_threads *threads, struct kernel_thread *mine)
{
    return threads->locks && kernel_thread__counts(mine) && !mine->thread->wait_reason;
}

/* A thread that parks for other reasons all the time is looked at less often, so that it leaves the
 * looks to others. */
static bool parks_for_lock(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                           jobject thread)
{
    if (mine->looks_skipped) {
        mine->looks_skipped--;
        return false;
    }
    if (!take(&threads->lock_looks_left))
        return false;
    count(&mine->times.lock_looks);
    if (lock_waits__parks_for_lock(threads, jni, thread)) {
        mine->looks_pause = 0;
        return true;
    }
    if (mine->looks_pause < LOOKS_PAUSE)
        mine->looks_pause = (uint16_t)(2 * mine->looks_pause + 1);
    mine->looks_skipped = mine->looks_pause;
    return false;
}

/* Waits for locks tell more than others, and may be few beside many others: they have a share of
 * their own. thread: the Java thread, or NULL; only for parks. */
static bool has_lock_share(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                           enum ledger_metric reason, jobject thread)
{
    if (atomic_load_explicit(&threads->waits_heard, memory_order_relaxed) ||
        !atomic_load_explicit(&threads->lock_waits_left, memory_order_relaxed) ||
        !may_block(threads, mine))
        return false;
    if (reason == METRIC_PARK && !parks_for_lock(threads, jni, mine, thread))
        return false;
    return take(&threads->lock_waits_left);
}

/* The same at the end of a wait that has this reason. Also if waits are no longer heard. NULL as
 * well where the wait was timed only: it is over then. */
static struct kernel_thread *ending(struct java_threads *threads, JNIEnv *jni,
                                    enum ledger_metric reason)
{
    struct kernel_thread *mine = is_profiling(threads) ? waiting(threads, jni) : NULL;

    if (!mine)
        return NULL;
    lock_blocks__end_unheard(mine->thread);
    if (mine->thread->wait_reason != reason)
        return NULL;
    if (!wait_bracket__is_timed(mine))
        return mine;
    wait_bracket__end(mine, reason);
    return NULL;
}

void thread_waits__begin(struct java_threads *threads, JNIEnv *jni, enum ledger_metric reason)
{
    struct kernel_thread *mine = heard(threads, jni, reason);
    uint64_t began;

    if (!mine)
        return;
    began = timed_hooks__begin(&mine->times.waits);
    wait_bracket__begin(mine, reason);
    timed_hooks__end(&mine->times.waits, began);
    if (threads->locks && kernel_thread__counts(mine))
        lock_orders__look(threads, jni, mine, NULL, NULL);
}

void thread_waits__end(struct java_threads *threads, JNIEnv *jni, enum ledger_metric reason)
{
    struct kernel_thread *mine = ending(threads, jni, reason);
    uint64_t began;

    if (!mine)
        return;
    began = timed_hooks__begin(&mine->times.waits);
    wait_bracket__end(mine, reason);
    timed_hooks__end(&mine->times.waits, began);
}

void thread_waits__object_wait(struct java_threads *threads, JNIEnv *jni, jobject object)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    if (threads->locks && mine && mine->thread && is_profiling(threads) &&
        kernel_thread__counts(mine))
        lock_holds__gives_up(threads, jni, mine, object);
    thread_waits__begin(threads, jni, METRIC_OBJECT_WAIT);
}

void thread_waits__object_waited(struct java_threads *threads, JNIEnv *jni)
{
    struct kernel_thread *mine;

    thread_waits__end(threads, jni, METRIC_OBJECT_WAIT);
    mine = kernel_thread_table__mine();
    if (threads->locks && mine && mine->thread && is_profiling(threads) &&
        kernel_thread__counts(mine))
        lock_holds__gets_back(threads, mine);
}

/* The owner is looked for first: it may be another one soon. */
void thread_waits__enter(struct java_threads *threads, JNIEnv *jni, jobject object)
{
    struct kernel_thread *mine = is_profiling(threads) ? waiting(threads, jni) : NULL;
    bool blocks = mine && may_block(threads, mine);
    struct lock_place owner;
    uint64_t began;

    if (!mine)
        return;
    if (!has_lock_share(threads, jni, mine, METRIC_MONITOR_WAIT, NULL) &&
        !thread_waits__has_room(threads, mine, METRIC_MONITOR_WAIT)) {
        if (blocks)
            lock_waits__monitor_unheard(threads, jni, mine);
        return;
    }
    if (!blocks)
        return;
    began = timed_hooks__begin(&mine->times.waits);
    owner = lock_waits__monitor_owner(threads, jni, object);
    wait_bracket__begin(mine, METRIC_MONITOR_WAIT);
    lock_waits__monitor(threads, jni, mine, object, owner);
    timed_hooks__end(&mine->times.waits, began);
}

static jfieldID find_permit(struct java_threads *threads, JNIEnv *jni, jobject thread)
{
    jfieldID field = atomic_load_explicit(&threads->park_permit, memory_order_relaxed);
    jclass class;

    if (field || atomic_exchange(&threads->park_permit_wanted, true))
        return field;
    class = (*jni)->GetObjectClass(jni, thread);
    field = (*jni)->GetFieldID(jni, class, "parkPermit", "Z");
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    (*jni)->DeleteLocalRef(jni, class);
    atomic_store(&threads->park_permit, field);
    return field;
}

/* Such a park is no wait. The JDK leaves a virtual thread a permit after each sleep, and so the
 * first park of the next wait for a lock is over at once, and another one follows. */
static bool has_permit(struct java_threads *threads, JNIEnv *jni, jobject virtual_thread)
{
    jfieldID permit = virtual_thread ? find_permit(threads, jni, virtual_thread) : NULL;

    return permit && (*jni)->GetBooleanField(jni, virtual_thread, permit);
}

/* Unheard parks of platform threads need no note: the JVM lists these threads, and to ask it which
 * one parks would cost more than all else that is done for such a park. */
void thread_waits__parking(struct java_threads *threads, JNIEnv *jni, jobject thread)
{
    struct kernel_thread *mine;
    struct lock_identity lock;
    uint64_t began;
    bool blocks;

    mine =
        is_profiling(threads) && !has_permit(threads, jni, thread) ? waiting(threads, jni) : NULL;
    if (!mine)
        return;
    blocks = may_block(threads, mine);
    if (!has_lock_share(threads, jni, mine, METRIC_PARK, thread) &&
        !thread_waits__has_room(threads, mine, METRIC_PARK)) {
        if (blocks && thread)
            lock_waits__park_unheard(threads, jni, mine, thread);
        return;
    }
    if (!blocks)
        return;
    began = timed_hooks__begin(&mine->times.waits);
    wait_bracket__begin(mine, METRIC_PARK);
    lock = lock_waits__park(threads, jni, mine, thread);
    timed_hooks__end(&mine->times.waits, began);
    lock_orders__look(threads, jni, mine, lock.identity ? &lock : NULL, NULL);
}

/* object: the monitor, or NULL */
static void end_block(struct java_threads *threads, JNIEnv *jni, enum ledger_metric reason,
                      jobject object)
{
    struct kernel_thread *mine = ending(threads, jni, reason);
    uint64_t began;

    if (!mine)
        return;
    began = timed_hooks__begin(&mine->times.waits);
    if (threads->locks && kernel_thread__counts(mine)) {
        lock_waits__over(threads, jni, mine, object);
        if (object)
            lock_holds__won(threads, mine);
    }
    wait_bracket__end(mine, reason);
    timed_hooks__end(&mine->times.waits, began);
    if (threads->locks && object && kernel_thread__counts(mine))
        lock_orders__look(threads, jni, mine, NULL, object);
}

void thread_waits__entered(struct java_threads *threads, JNIEnv *jni, jobject object)
{
    end_block(threads, jni, METRIC_MONITOR_WAIT, object);
}

void thread_waits__parked(struct java_threads *threads, JNIEnv *jni)
{
    end_block(threads, jni, METRIC_PARK, NULL);
}

/* The first calls may come before the native is known (thread_waits__bind). Park may return at any
 * time for no reason, and its callers ask again: a JVM that never tells of its native runs on. */
#define PARK_UNKNOWN_US 1000u

void thread_waits__park(struct java_threads *threads, JNIEnv *jni, jobject unsafe,
                        jboolean is_absolute, jlong time)
{
    park_function *park = atomic_load(&threads->park_native);

    if (!park) {
        (void)usleep(PARK_UNKNOWN_US);
        return;
    }
    thread_waits__parking(threads, jni, NULL);
    park(jni, unsafe, is_absolute, time);
    thread_waits__parked(threads, jni);
}

/* An exception is pending where the sleep was interrupted. */
void thread_waits__sleep(struct java_threads *threads, JNIEnv *jni, jclass thread_class, jlong time)
{
    thread_waits__begin(threads, jni, METRIC_SLEEP);
    threads->sleep_native(jni, thread_class, time);
    thread_waits__end(threads, jni, METRIC_SLEEP);
}

void thread_waits__add_capabilities(const struct java_threads *threads,
                                    jvmtiCapabilities *capabilities)
{
    capabilities->can_generate_monitor_events = threads->hears_waits;
}

void thread_waits__add_optional_capabilities(struct java_threads *threads)
{
    const jvmtiCapabilities capabilities = {.can_get_owned_monitor_info = 1,
                                            .can_get_owned_monitor_stack_depth_info = 1,
                                            .can_get_current_contended_monitor = 1};

    threads->asks_for_monitors =
        threads->hears_waits &&
        (*threads->jvmti)->AddCapabilities(threads->jvmti, &capabilities) == JVMTI_ERROR_NONE;
}

void thread_waits__hear(const struct java_threads *threads, bool on)
{
    static const jvmtiEvent events[] = {JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
                                        JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
                                        JVMTI_EVENT_MONITOR_WAIT, JVMTI_EVENT_MONITOR_WAITED};
    bool heard = true;

    if (!threads->hears_waits)
        return;
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
        heard &= jvmti_event__set(threads->jvmti, events[i], on);
    if (!heard)
        log__line(LOG_WARN, "this JVM does not tell when threads wait for monitors");
}

static bool is_native(const struct java_threads *threads, jmethodID method)
{
    jboolean is_native = JNI_FALSE;

    return (*threads->jvmti)->IsMethodNative(threads->jvmti, method, &is_native) ==
               JVMTI_ERROR_NONE &&
           is_native;
}

/* Thread's native that sleeps, as the JDKs call it; or NULL. */
static const char *sleep_name(const struct java_threads *threads, jmethodID method)
{
    static const char *const names[] = {"sleep", "sleep0", "sleepNanos0"};
    jvmtiEnv *jvmti = threads->jvmti;
    const char *found = NULL;
    char *name = NULL, *signature = NULL;

    if ((*jvmti)->GetMethodName(jvmti, method, &name, &signature, NULL) != JVMTI_ERROR_NONE)
        return NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0 && strcmp(signature, "(J)V") == 0 &&
            is_native(threads, method))
            found = names[i];
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    return found;
}

static const char *find_sleep(const struct java_threads *threads, jclass thread_class)
{
    jvmtiEnv *jvmti = threads->jvmti;
    jmethodID *methods = NULL;
    const char *found = NULL;
    jint count = 0;

    if ((*jvmti)->GetClassMethods(jvmti, thread_class, &count, &methods) != JVMTI_ERROR_NONE)
        return NULL;
    for (jint i = 0; i < count && !found; i++)
        found = sleep_name(threads, methods[i]);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)methods);
    return found;
}

/* The JVM exports the function that sleeps. */
static bool bind_sleep(struct java_threads *threads, JNIEnv *jni, struct bound_natives *natives,
                       JNINativeMethod *method)
{
    void *sleep = dlsym(RTLD_DEFAULT, "JVM_SleepNanos");
    const char *name;

    if (!sleep)
        sleep = dlsym(RTLD_DEFAULT, "JVM_Sleep");
    natives->class = sleep ? (*jni)->FindClass(jni, "java/lang/Thread") : NULL;
    name = natives->class ? find_sleep(threads, natives->class) : NULL;
    if (!name)
        return false;
    memcpy(&threads->sleep_native, &sleep, sizeof(sleep));
    *method = (JNINativeMethod){(char *)(uintptr_t)name, "(J)V",
                                (void *)(uintptr_t)threads->sleep_wrapper};
    return true;
}

/* The JVM does not export the function that parks. It tells of it (thread_waits__native_bound) when
 * the class binds its natives once more, where another function has taken the place of that one. */
static bool bind_park(struct java_threads *threads, JNIEnv *jni, struct bound_natives *natives,
                      JNINativeMethod *method)
{
    natives->class = (*jni)->FindClass(jni, "jdk/internal/misc/Unsafe");
    natives->class = natives->class ? (*jni)->NewGlobalRef(jni, natives->class) : NULL;
    if (natives->class)
        natives->bind_again =
            (*jni)->GetStaticMethodID(jni, natives->class, "registerNatives", "()V");
    if (natives->bind_again)
        threads->park_method = (*jni)->GetMethodID(jni, natives->class, "park", "(ZJ)V");
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    if (!threads->park_method)
        return false;
    *method = (JNINativeMethod){"park", "(ZJ)V", (void *)(uintptr_t)threads->park_wrapper};
    return true;
}

const struct bound_natives *thread_waits__bind(struct java_threads *threads, JNIEnv *jni,
                                               struct bound_natives natives[WAIT_NATIVES],
                                               JNINativeMethod methods[WAIT_NATIVES],
                                               const struct bound_natives *next)
{
    bool (*const binders[WAIT_NATIVES])(struct java_threads *, JNIEnv *, struct bound_natives *,
                                        JNINativeMethod *) = {bind_sleep, bind_park};

    for (unsigned i = 0; i < WAIT_NATIVES && threads->hears_waits; i++) {
        natives[i] = (struct bound_natives){.methods = &methods[i], .count = 1, .next = next};
        if (binders[i](threads, jni, &natives[i], &methods[i]))
            next = &natives[i];
        else
            log__line(LOG_WARN,
                      "this JVM's natives for %s are not known: these waits have no "
                      "reason",
                      i ? "park" : "sleep");
    }
    return next;
}

bool thread_waits__native_bound(struct java_threads *threads, jmethodID method, void *address,
                                void **new_address)
{
    void *wrapper = (void *)(uintptr_t)threads->park_wrapper;
    park_function *park;

    if (!threads->park_method || method != threads->park_method || address == wrapper)
        return false;
    memcpy(&park, &address, sizeof(address));
    atomic_store(&threads->park_native, park);
    *new_address = wrapper;
    return true;
}

unsigned thread_waits__reason(const struct java_threads *threads, jthread thread)
{
    static const struct {
        jint state;
        enum ledger_metric reason;
    } reasons[] = {
        {JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, METRIC_MONITOR_WAIT},
        {JVMTI_THREAD_STATE_IN_OBJECT_WAIT, METRIC_OBJECT_WAIT},
        {JVMTI_THREAD_STATE_SLEEPING, METRIC_SLEEP},
        {JVMTI_THREAD_STATE_PARKED, METRIC_PARK},
    };
    jint state = 0;

    if (!threads->hears_waits ||
        (*threads->jvmti)->GetThreadState(threads->jvmti, thread, &state) != JVMTI_ERROR_NONE)
        return 0;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        if (state & reasons[i].state)
            return reasons[i].reason;
    return 0;
}
