#include "agent/threads/stuck_threads.h"

#include "agent/hotspot/vm_structs.h"
#include "agent/threads/hazard_paths.h"
#include "agent/threads/lock_waits.h"
#include "agent/threads/stuck_readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCES 4 /* local ones, of each thread */

uint64_t stuck_threads__waits_since(const struct ledger *ledger, ledger_ref thread)
{
    const struct ledger_thread *record = ledger__at(ledger, thread);

    return __atomic_load_n(&record->block, __ATOMIC_ACQUIRE)
               ? __atomic_load_n(&record->blocked_ns, __ATOMIC_RELAXED)
               : 0;
}

bool stuck_threads__still_waits(const struct stuck_threads *stuck,
                                const struct stuck_thread *thread)
{
    return !thread->block ||
           stuck_threads__waits_since(stuck->java->ledger, thread->thread) == thread->wait;
}

static uint64_t id_of(const struct stuck_threads *stuck, JNIEnv *jni, jthread thread)
{
    jfieldID field = stuck->java->id_field;

    return field ? (uint64_t)(*jni)->GetLongField(jni, thread, field) : 0;
}

static const struct stuck_thread *find(const struct stuck_threads *stuck, uint64_t java_id)
{
    for (uint32_t i = 0; java_id && i < stuck->count; i++)
        if (stuck->threads[i].java_id == java_id)
            return &stuck->threads[i];
    return NULL;
}

/* ---- waits with a record ---- */

/* Under the lock of the waiters: so long its reference is one. */
static void add_waiter(struct stuck_threads *stuck, JNIEnv *jni, const struct lock_waiter *waiter,
                       uint64_t after_ns, uint64_t before_ns)
{
    struct ledger *ledger = stuck->java->ledger;
    struct stuck_thread *thread = &stuck->threads[stuck->count];

    uint64_t wait = stuck_threads__waits_since(ledger, waiter->thread);

    if (wait <= after_ns || wait > before_ns || !atomic_load(&waiter->may_block))
        return;
    if (stuck->count == STUCK_THREADS_MOST) {
        stuck->left_out++;
        return;
    }
    *thread = (struct stuck_thread){
        .java_id = atomic_load(&waiter->java_id), .thread = waiter->thread, .wait = wait};
    thread->block = ((const struct ledger_thread *)ledger__at(ledger, waiter->thread))->block;
    thread->monitor = atomic_load(&waiter->monitor);
    thread->object = (*jni)->NewLocalRef(jni, waiter->object);
    if (!thread->object || !thread->block)
        return;
    thread->host = sampler__java_thread_of(stuck->java->sampler, jni, thread->object);
    stuck->count++;
}

static int longest_first(const void *left, const void *right)
{
    const struct stuck_thread *a = left, *b = right;

    return a->wait != b->wait ? (a->wait > b->wait ? 1 : -1)
                              : (a->java_id > b->java_id) - (a->java_id < b->java_id);
}

static void add_waiters(struct stuck_threads *stuck, JNIEnv *jni, uint64_t after_ns,
                        uint64_t before_ns)
{
    struct lock_waiters *waiters = &stuck->java->locks->waiters;

    pthread_mutex_lock(&waiters->lock);
    for (unsigned i = 0; i < LOCK_WAITERS; i++)
        if (lock_waiters__is_used(&waiters->of[i]))
            add_waiter(stuck, jni, &waiters->of[i], after_ns, before_ns);
    pthread_mutex_unlock(&waiters->lock);
    qsort(stuck->threads, stuck->count, sizeof(*stuck->threads), longest_first);
}

/* ---- waits without one ---- */

/* What the thread parks for; NULL: nothing that has an owner. */
static jobject ownable_of(const struct stuck_threads *stuck, JNIEnv *jni, jthread thread)
{
    const struct lock_waits *locks = stuck->java->locks;
    jobject blocker = locks->park_blocker && locks->exclusive_owner
                          ? (*jni)->GetObjectField(jni, thread, locks->park_blocker)
                          : NULL;

    if (blocker && (*jni)->IsInstanceOf(jni, blocker, locks->ownable))
        return blocker;
    (*jni)->DeleteLocalRef(jni, blocker);
    return NULL;
}

static void add_unheard(struct stuck_threads *stuck, JNIEnv *jni, jthread object)
{
    struct stuck_thread *thread = &stuck->threads[stuck->count];
    jvmtiEnv *jvmti = stuck->java->jvmti;
    uint64_t java_id = id_of(stuck, jni, object);
    jint state = 0;

    if (!java_id || find(stuck, java_id) ||
        (*jvmti)->GetThreadState(jvmti, object, &state) != JVMTI_ERROR_NONE)
        return;
    *thread = (struct stuck_thread){.java_id = java_id, .object = object};
    thread->host = sampler__java_thread_of(stuck->java->sampler, jni, object);
    if (state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) {
        thread->monitor = monitor_owner__pending(&stuck->java->locks->monitor, thread->host);
        thread->wait = thread->monitor;
    } else if (state & JVMTI_THREAD_STATE_PARKED) {
        jobject blocker = ownable_of(stuck, jni, object);

        thread->wait = blocker != NULL;
        (*jni)->DeleteLocalRef(jni, blocker);
    }
    if (thread->wait)
        stuck->count++;
}

static void add_all(struct stuck_threads *stuck, JNIEnv *jni)
{
    jvmtiEnv *jvmti = stuck->java->jvmti;
    jthread *threads = NULL;
    jint count = 0;

    if ((*jvmti)->GetAllThreads(jvmti, &count, &threads) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        uint32_t before = stuck->count;

        if (stuck->count < STUCK_THREADS_MOST)
            add_unheard(stuck, jni, threads[i]);
        else
            stuck->left_out++; /* or it does not wait, or is here already */
        if (stuck->count == before)
            (*jni)->DeleteLocalRef(jni, threads[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
}

/* ---- who owns what ---- */

static uint32_t index_of(const struct stuck_threads *stuck, uint64_t java_id)
{
    const struct stuck_thread *thread = find(stuck, java_id);

    return thread ? (uint32_t)(thread - stuck->threads) : WAIT_FOR_NOBODY;
}

uint32_t stuck_threads__index(const struct stuck_threads *stuck, JNIEnv *jni, jthread thread)
{
    return index_of(stuck, id_of(stuck, jni, thread));
}

static void find_park_owner(struct stuck_threads *stuck, JNIEnv *jni, uint32_t i)
{
    const struct lock_waits *locks = stuck->java->locks;
    jobject blocker = ownable_of(stuck, jni, stuck->threads[i].object), owner = NULL;

    stuck->owner_of[i] = WAIT_FOR_NOBODY;
    if (blocker)
        owner = (*jni)->GetObjectField(jni, blocker, locks->exclusive_owner);
    if (owner)
        stuck->owner_of[i] = stuck_threads__index(stuck, jni, owner);
    else if (blocker && read_locks__is(&locks->read_locks, jni, blocker))
        stuck_readers__find(stuck, jni, i, blocker);
    (*jni)->DeleteLocalRef(jni, owner);
    (*jni)->DeleteLocalRef(jni, blocker);
}

/* True if that thread has entered the monitor of that object. */
static bool has_entered(const struct stuck_threads *stuck, JNIEnv *jni, jthread thread,
                        jobject object)
{
    jvmtiEnv *jvmti = stuck->java->jvmti;
    jobject *monitors = NULL;
    jint count = 0;
    bool found = false;

    if ((*jvmti)->GetOwnedMonitorInfo(jvmti, thread, &count, &monitors) != JVMTI_ERROR_NONE)
        return false;
    for (jint i = 0; i < count; i++) {
        found |= (*jni)->IsSameObject(jni, monitors[i], object);
        (*jni)->DeleteLocalRef(jni, monitors[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)monitors);
    return found;
}

/* The object of the monitor that it waits for; NULL: not known. Only an agent that was there from
 * the start can ask. */
static jobject contended(const struct stuck_threads *stuck, const struct stuck_thread *thread)
{
    jvmtiEnv *jvmti = stuck->java->jvmti;
    jobject object = NULL;

    if (!stuck->java->asks_for_monitors ||
        (*jvmti)->GetCurrentContendedMonitor(jvmti, thread->object, &object) != JVMTI_ERROR_NONE)
        return NULL;
    return object;
}

/* The JVM has not written down who owned the object before others came. The lock stack of a virtual
 * thread that is not mounted is nowhere to be found: such threads are asked. */
static uint32_t find_anonymous(const struct stuck_threads *stuck, JNIEnv *jni,
                               const struct stuck_thread *thread)
{
    const struct monitor_owner *monitor = &stuck->java->locks->monitor;
    uint32_t index = WAIT_FOR_NOBODY;
    jobject object;

    for (uint32_t i = 0; i < stuck->count; i++)
        if (monitor_owner__has_locked(monitor, stuck->threads[i].host, thread->monitor))
            return i;
    object = contended(stuck, thread);
    for (uint32_t i = 0; object && i < stuck->count && index == WAIT_FOR_NOBODY; i++)
        if (&stuck->threads[i] != thread &&
            has_entered(stuck, jni, stuck->threads[i].object, object))
            index = i;
    (*jni)->DeleteLocalRef(jni, object);
    return index;
}

static uint32_t find_monitor_owner(const struct stuck_threads *stuck, JNIEnv *jni,
                                   const struct stuck_thread *thread)
{
    const struct monitor_owner *monitor = &stuck->java->locks->monitor;
    struct monitor_holder holder;

    switch (monitor_owner__read(monitor, thread->monitor, &holder)) {
    case MONITOR_ANONYMOUS:
        return find_anonymous(stuck, jni, thread);
    case MONITOR_OWNED:
        break;
    default:
        return WAIT_FOR_NOBODY;
    }
    if (holder.java_id)
        return index_of(stuck, holder.java_id);
    for (uint32_t i = 0; i < stuck->count; i++)
        if (monitor_owner__is(monitor, holder, stuck->threads[i].host))
            return i;
    return WAIT_FOR_NOBODY;
}

static void find_owners(struct stuck_threads *stuck, JNIEnv *jni)
{
    for (uint32_t i = 0; i < stuck->count; i++)
        if (stuck->threads[i].monitor)
            stuck->owner_of[i] = find_monitor_owner(stuck, jni, &stuck->threads[i]);
        else
            find_park_owner(stuck, jni, i);
    wait_cycle__choose(stuck->owner_of, stuck->count, stuck->choices, stuck->choice_count,
                       stuck->scratch);
}

void stuck_threads__release(struct stuck_threads *stuck, JNIEnv *jni)
{
    if (stuck->has_frame)
        (void)(*jni)->PopLocalFrame(jni, NULL);
    stuck->has_frame = false;
    stuck->count = stuck->choice_count = stuck->left_out = 0;
}

void stuck_threads__collect(struct stuck_threads *stuck, struct java_threads *java, JNIEnv *jni,
                            uint64_t before_ns, bool all)
{
    stuck_threads__release(stuck, jni);
    stuck->java = java;
    stuck->has_frame = (*jni)->PushLocalFrame(jni, REFERENCES * STUCK_THREADS_MOST) == 0;
    if (!stuck->has_frame) {
        (*jni)->ExceptionClear(jni);
        return;
    }
    /* A wait with a record is told from others by that in each of two looks, also if it has come to
     * last for long between them. */
    add_waiters(stuck, jni, 0, before_ns);
    if (all) {
        add_waiters(stuck, jni, before_ns, UINT64_MAX);
        add_all(stuck, jni);
    }
    find_owners(stuck, jni);
}

/* ---- in words ---- */

static ledger_ref name_thread(const struct stuck_threads *stuck, JNIEnv *jni,
                              const struct stuck_thread *thread)
{
    jvmtiEnv *jvmti = stuck->java->jvmti;
    jvmtiThreadInfo info = {.name = NULL};
    char unnamed[64];
    ledger_ref name;

    snprintf(unnamed, sizeof(unnamed), "VirtualThread[#%llu]", (unsigned long long)thread->java_id);
    if ((*jvmti)->GetThreadInfo(jvmti, thread->object, &info) != JVMTI_ERROR_NONE)
        return ledger__string(stuck->java->ledger, unnamed, strlen(unnamed));
    if (info.name && *info.name)
        name = ledger__string(stuck->java->ledger, info.name, strlen(info.name));
    else
        name = ledger__string(stuck->java->ledger, unnamed, strlen(unnamed));
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info.name);
    (*jni)->DeleteLocalRef(jni, info.thread_group);
    (*jni)->DeleteLocalRef(jni, info.context_class_loader);
    return name;
}

#define WEAK_TAG 1u /* of a JNI handle that is a weak global reference */

/* The object of a monitor that a thread of a deadlock waits for: so long neither can go away. A
 * monitor has a weak reference to its object, as JNI has them; a JVM that checks JNI's handles does
 * not know it. */
static jobject object_of(const struct stuck_threads *stuck, JNIEnv *jni,
                         const struct stuck_thread *thread)
{
    uintptr_t handle = monitor_owner__handle(&stuck->java->locks->monitor, thread->monitor);

    if (!handle || lock_blocks__is_block(thread->block) || vm_structs__flag("CheckJNICalls") ||
        monitor_owner__pending(&stuck->java->locks->monitor, thread->host) != thread->monitor)
        return NULL;
    return (*jni)->NewLocalRef(jni, (jobject)(handle | WEAK_TAG));
}

static void name_lock(const struct stuck_threads *stuck, JNIEnv *jni,
                      const struct stuck_thread *thread, struct ledger_stuck *record)
{
    jobject object =
        thread->monitor ? contended(stuck, thread) : ownable_of(stuck, jni, thread->object);

    record->kind = thread->monitor ? BLOCK_MONITOR : BLOCK_PARK;
    if (!object && thread->monitor)
        object = object_of(stuck, jni, thread);
    if (object) {
        struct lock_identity lock = lock_waits__identify(stuck->java, jni, BLOCK_MONITOR, object);

        record->class_name = lock.class_name;
        record->identity = lock.identity;
    } else if (lock_blocks__is_block(thread->block)) {
        const struct ledger_block *block = ledger__at(stuck->java->ledger, thread->block);

        record->class_name = block->class_name;
        record->identity = block->identity;
    }
    (*jni)->DeleteLocalRef(jni, object);
}

void stuck_threads__describe(const struct stuck_threads *stuck, JNIEnv *jni,
                             const struct stuck_thread *thread, struct ledger_stuck *record)
{
    record->java_id = thread->java_id;
    record->since_ns = thread->block ? thread->wait : 0;
    record->thread = name_thread(stuck, jni, thread);
    name_lock(stuck, jni, thread, record);
    if (!thread->host)
        record->flags |= STUCK_VIRTUAL;
    if (thread->is_behind)
        record->flags |= STUCK_BEHIND;
    if (hazard_paths__of_wait(stuck->java, jni, thread->object, record->path))
        record->flags |= STUCK_TIMED;
}
