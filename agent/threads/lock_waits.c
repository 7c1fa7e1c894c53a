#include "agent/threads/lock_waits.h"

#include "agent/host/log.h"
#include "agent/methods/class_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLASS_PROBES 16u
#define BEING_FILLED UINT64_MAX /* in place of the key of a class */

static void find_fields(struct lock_waits *locks, JNIEnv *jni)
{
    jclass thread = (*jni)->FindClass(jni, "java/lang/Thread");
    jclass ownable;

    if (thread)
        locks->park_blocker = (*jni)->GetFieldID(jni, thread, "parkBlocker", "Ljava/lang/Object;");
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    ownable = (*jni)->FindClass(jni, "java/util/concurrent/locks/AbstractOwnableSynchronizer");
    if (ownable) {
        locks->ownable = (*jni)->NewGlobalRef(jni, ownable);
        locks->exclusive_owner =
            (*jni)->GetFieldID(jni, ownable, "exclusiveOwnerThread", "Ljava/lang/Thread;");
    }
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    (*jni)->DeleteLocalRef(jni, thread);
    (*jni)->DeleteLocalRef(jni, ownable);
}

int lock_waits__begin(struct java_threads *threads, JNIEnv *jni)
{
    struct lock_waits *locks = calloc(1, sizeof(*locks));

    if (!locks)
        return -ENOMEM;
    locks->blocks.ledger = locks->owners.ledger = threads->ledger;
    lock_waiters__init(&locks->waiters);
    lock_orders__init(&locks->orders);
    monitor_owner__prepare(&locks->monitor);
    find_fields(locks, jni);
    lock_queues__begin(&locks->queues, jni);
    lock_nesting__begin(&locks->nesting, jni);
    lock_successor__begin(&locks->successor, jni);
    read_locks__begin(&locks->read_locks, jni);
    shared_holds__begin(&locks->shared, jni);
    if (!locks->monitor.known)
        log__line(LOG_WARN, "this JVM does not tell who owns a monitor: owners are not known");
    threads->locks = locks;
    return 0;
}

static uint32_t thread_kind(const struct lock_waits *locks, ledger_ref thread)
{
    return ((const struct ledger_thread *)ledger__at(locks->blocks.ledger, thread))->kind;
}

static struct lock_place find_host(const struct lock_waits *locks, const void *java_thread)
{
    struct lock_place place = lock_owners__by_host(&locks->owners, java_thread);

    if (!place.thread && java_thread)
        place = lock_owners__by_host(&locks->owners,
                                     monitor_owner__on_stack(&locks->monitor, java_thread));
    /* The carrier may have just left the virtual thread that is the owner. */
    if (place.thread && thread_kind(locks, place.thread) == THREAD_CARRIER)
        place = (struct lock_place){0, 0};
    return place;
}

struct lock_place lock_waits__monitor_owner(const struct java_threads *threads, JNIEnv *jni,
                                            jobject object)
{
    const struct lock_waits *locks = threads->locks;
    struct monitor_holder holder =
        monitor_owner__of(&locks->monitor, sampler__java_thread(threads->sampler, jni), object);

    return holder.java_id ? lock_owners__by_id(&locks->owners, holder.java_id)
                          : find_host(locks, holder.java_thread);
}

static ledger_ref name_class(const struct java_threads *threads, jclass class)
{
    jvmtiEnv *jvmti = threads->jvmti;
    char *signature = NULL;
    size_t length;
    ledger_ref name;

    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) != JVMTI_ERROR_NONE)
        return 0;
    length = strlen(signature);
    class_name__to_dots(signature, length);
    if (length > 2 && signature[0] == 'L')
        name = ledger__string(threads->ledger, signature + 1, length - 2);
    else
        name = ledger__string(threads->ledger, signature, length); /* an array */
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    return name;
}

/* Unless another thread was faster. */
static void note_class(struct named_class *entry, JNIEnv *jni, jclass class, uint64_t key)
{
    uint64_t none = 0;

    if (!atomic_compare_exchange_strong(&entry->key, &none, BEING_FILLED))
        return;
    entry->class = (*jni)->NewWeakGlobalRef(jni, class);
    atomic_store_explicit(&entry->key, entry->class ? key : 0, memory_order_release);
}

/* The JVM is asked once for the name of a class, and never by a class that finds no room here.
 * Identity hashes are the same in each run, and two classes may well have the same. */
static ledger_ref class_name(const struct java_threads *threads, JNIEnv *jni, jclass class)
{
    jint hash = 0;

    if ((*threads->jvmti)->GetObjectHashCode(threads->jvmti, class, &hash) != JVMTI_ERROR_NONE)
        return 0;
    for (unsigned probe = 0; probe < CLASS_PROBES; probe++) {
        struct named_class *entry =
            &threads->locks->classes[((uint32_t)hash + probe) % LOCK_CLASSES];
        uint64_t there = atomic_load_explicit(&entry->key, memory_order_acquire);

        if (there && there != BEING_FILLED && there >> 32 == (uint32_t)hash &&
            (*jni)->IsSameObject(jni, entry->class, class))
            return (ledger_ref)there;
        if (!there) {
            ledger_ref name = name_class(threads, class);

            if (name)
                note_class(entry, jni, class, (uint64_t)(uint32_t)hash << 32 | name);
            return name;
        }
    }
    return 0;
}

struct lock_identity lock_waits__identify(const struct java_threads *threads, JNIEnv *jni,
                                          enum ledger_block_kind kind, jobject object)
{
    struct lock_identity lock = {.kind = kind};
    jclass class = (*jni)->GetObjectClass(jni, object);
    jint hash = 0;

    if ((*threads->jvmti)->GetObjectHashCode(threads->jvmti, object, &hash) == JVMTI_ERROR_NONE)
        lock.identity = (uint32_t)hash;
    lock.class_name = class ? class_name(threads, jni, class) : 0;
    (*jni)->DeleteLocalRef(jni, class);
    return lock;
}

static struct lock_place place_of(const struct java_threads *threads,
                                  const struct kernel_thread *mine)
{
    return (struct lock_place){ledger__ref(threads->ledger, mine->thread),
                               ledger__ref(threads->ledger, mine->tree.current)};
}

static void tell_timeline(const struct java_threads *threads, struct kernel_thread *mine,
                          const struct lock_identity *lock, struct lock_place owner)
{
    struct timeline_lock told = {
        .class_name = lock->class_name, .identity = lock->identity, .kind = lock->kind};

    if (owner.thread) {
        const struct ledger_thread *thread = ledger__at(threads->ledger, owner.thread);

        told.owner_id = thread->java_id;
        told.owner_tid = thread->tids[0];
    }
    thread_timeline__lock(mine, &told);
}

void lock_waits__native(struct java_threads *threads, struct kernel_thread *mine,
                        const struct lock_identity *lock, struct lock_place owner)
{
    if (timeline__is_on(&mine->setup->timeline_is_on))
        tell_timeline(threads, mine, lock, owner);
    lock_blocks__begin(&threads->locks->blocks, lock, place_of(threads, mine), owner,
                       ledger_time__now_ns(&mine->setup->time));
}

static struct lock_identity begin(struct java_threads *threads, JNIEnv *jni,
                                  struct kernel_thread *mine, enum ledger_block_kind kind,
                                  jobject object, struct lock_place owner, uint64_t now_ns)
{
    struct lock_identity lock = lock_waits__identify(threads, jni, kind, object);

    if (timeline__is_on(&mine->setup->timeline_is_on))
        tell_timeline(threads, mine, &lock, owner);
    lock_blocks__begin(&threads->locks->blocks, &lock, place_of(threads, mine), owner, now_ns);
    return lock;
}

void lock_waits__monitor(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                         jobject object, struct lock_place owner)
{
    uint64_t now_ns = ledger_time__now_ns(&mine->setup->time);

    struct lock_waits *locks = threads->locks;
    uint32_t blocks = atomic_load(&locks->blocks.count);
    uintptr_t monitor =
        monitor_owner__pending_here(&locks->monitor, sampler__java_thread(threads->sampler, jni));
    struct lock_identity lock;

    lock_waiters__note(&locks->waiters, threads, jni, mine, monitor, BLOCKS_FOR_OTHERS);
    lock = begin(threads, jni, mine, BLOCK_MONITOR, object, owner, now_ns);
    if (!monitor)
        return;
    lock_blocks__note_depth(&locks->blocks, ledger__ref(threads->ledger, mine->thread),
                            lock_nesting__of_monitor(&locks->monitor, &locks->owners, monitor));
    lock_holds__contended(threads, jni, mine, &lock, monitor, owner,
                          atomic_load(&locks->blocks.count) != blocks);
}

/* The thread that owns it; or is about to: the waiting one then waits for that one. A successor may
 * have become the owner while it was looked for. */
static jobject find_owner(const struct lock_waits *locks, JNIEnv *jni, jobject lock)
{
    jobject owner = (*jni)->GetObjectField(jni, lock, locks->exclusive_owner);

    if (!owner)
        owner = lock_successor__of(&locks->successor, &locks->queues, jni, lock);
    return owner ? owner : (*jni)->GetObjectField(jni, lock, locks->exclusive_owner);
}

/* The owner of a lock of java.util.concurrent, if it has one; or its first reader. A waiting thread
 * that is the next one itself waits for nobody any more. */
static struct lock_place park_owner(const struct java_threads *threads, JNIEnv *jni,
                                    const struct kernel_thread *mine, jobject blocker,
                                    bool *is_ownable, bool *is_read)
{
    const struct lock_waits *locks = threads->locks;
    struct lock_place place = {0, 0};
    jobject owner = NULL;

    *is_ownable = locks->exclusive_owner && threads->id_field &&
                  (*jni)->IsInstanceOf(jni, blocker, locks->ownable);
    if (*is_ownable)
        owner = find_owner(locks, jni, blocker);
    if (*is_ownable && !owner) {
        owner = read_locks__first(&locks->read_locks, jni, blocker);
        *is_read = owner != NULL;
    }
    if (owner) {
        uint64_t id = (uint64_t)(*jni)->GetLongField(jni, owner, threads->id_field);

        if (id != mine->thread->java_id)
            place = lock_owners__by_id(&locks->owners, id);
        (*jni)->DeleteLocalRef(jni, owner);
    }
    return place;
}

/* blocker: it may have an owner. */
static enum may_block may_block(const struct lock_waits *locks, JNIEnv *jni, jobject blocker)
{
    return read_locks__is(&locks->read_locks, jni, blocker) ? BLOCKS_FOR_ITSELF : BLOCKS_FOR_OTHERS;
}

static struct lock_identity wait_for(struct java_threads *threads, JNIEnv *jni,
                                     struct kernel_thread *mine, jobject blocker, uint64_t now_ns)
{
    struct lock_waits *locks = threads->locks;
    const struct lock_identity unowned = {.identity = 0};
    struct lock_identity lock = lock_waits__identify(threads, jni, BLOCK_PARK, blocker);
    bool is_ownable = false, is_read = false;
    bool is_shared = shared_holds__contended(threads, &locks->shared, jni, blocker, lock.identity);
    struct lock_place owner = park_owner(threads, jni, mine, blocker, &is_ownable, &is_read);

    lock_waiters__note(&locks->waiters, threads, jni, mine, 0,
                       is_ownable ? may_block(locks, jni, blocker) : BLOCKS_NEVER);
    lock_blocks__begin(&locks->blocks, &lock, place_of(threads, mine), owner, now_ns);
    if (is_ownable || is_shared) {
        ledger_ref waiter = ledger__ref(threads->ledger, mine->thread);

        lock_blocks__note_depth(
            &locks->blocks, waiter,
            lock_nesting__of_lock(&locks->nesting, &locks->queues, jni, blocker));
        lock_blocks__count_acquisitions(&locks->blocks, waiter, lock.identity);
        lock_holds__contended(threads, jni, mine, &lock, 0, owner, false);
    }
    return owner.thread && !is_read ? lock : unowned; /* others may read as well */
}

/* A local reference, or NULL. thread: the calling one; or NULL. */
static jobject find_blocker(const struct java_threads *threads, JNIEnv *jni, jobject thread)
{
    jthread current = NULL;
    jobject blocker;

    if (!threads->locks->park_blocker)
        return NULL;
    if (!thread &&
        (*threads->jvmti)->GetCurrentThread(threads->jvmti, &current) == JVMTI_ERROR_NONE)
        thread = current;
    blocker = thread ? (*jni)->GetObjectField(jni, thread, threads->locks->park_blocker) : NULL;
    (*jni)->DeleteLocalRef(jni, current);
    return blocker;
}

struct lock_identity lock_waits__park(struct java_threads *threads, JNIEnv *jni,
                                      struct kernel_thread *mine, jobject thread)
{
    uint64_t now_ns = ledger_time__now_ns(&mine->setup->time);
    struct lock_identity lock = {.identity = 0};
    jobject blocker = find_blocker(threads, jni, thread);

    if (blocker)
        lock = wait_for(threads, jni, mine, blocker, now_ns);
    (*jni)->DeleteLocalRef(jni, blocker);
    return lock;
}

/* A local reference, or NULL: it is none that may have an owner. */
static jobject find_ownable(const struct java_threads *threads, JNIEnv *jni, jobject thread)
{
    jobject blocker = find_blocker(threads, jni, thread);

    if (blocker && threads->locks->ownable &&
        (*jni)->IsInstanceOf(jni, blocker, threads->locks->ownable))
        return blocker;
    (*jni)->DeleteLocalRef(jni, blocker);
    return NULL;
}

bool lock_waits__parks_for_lock(const struct java_threads *threads, JNIEnv *jni, jobject thread)
{
    jobject ownable = find_ownable(threads, jni, thread);

    (*jni)->DeleteLocalRef(jni, ownable);
    return ownable != NULL;
}

void lock_waits__monitor_unheard(const struct java_threads *threads, JNIEnv *jni,
                                 struct kernel_thread *mine)
{
    struct lock_waits *locks = threads->locks;
    uintptr_t monitor =
        monitor_owner__pending_here(&locks->monitor, sampler__java_thread(threads->sampler, jni));

    lock_waiters__note(&locks->waiters, threads, jni, mine, monitor, BLOCKS_FOR_OTHERS);
    lock_blocks__begin_unheard(mine->thread, ledger_time__now_ns(&mine->setup->time));
}

void lock_waits__park_unheard(const struct java_threads *threads, JNIEnv *jni,
                              struct kernel_thread *mine, jobject thread)
{
    struct lock_waits *locks = threads->locks;
    jobject ownable = locks->exclusive_owner ? find_ownable(threads, jni, thread) : NULL;

    if (!ownable)
        return;
    lock_waiters__note(&locks->waiters, threads, jni, mine, 0, may_block(locks, jni, ownable));
    lock_blocks__begin_unheard(mine->thread, ledger_time__now_ns(&mine->setup->time));
    (*jni)->DeleteLocalRef(jni, ownable);
}

void lock_waits__over(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                      jobject object)
{
    const struct lock_place nobody = {0, 0};
    uint64_t now_ns = ledger_time__now_ns(&mine->setup->time);
    uint64_t from_ns = threads->ledger->header->since_ns;
    ledger_ref ref = ledger__ref(threads->ledger, mine->thread);

    if (lock_blocks__end(&threads->locks->blocks, ref, from_ns, now_ns) || !object)
        return;
    /* It has waited since before profiling began; whom for nobody knows any more. */
    if (mine->thread->start_ns > from_ns)
        from_ns = mine->thread->start_ns;
    (void)begin(threads, jni, mine, BLOCK_MONITOR, object, nobody, from_ns);
    (void)lock_blocks__end(&threads->locks->blocks, ref, from_ns, now_ns);
}

void lock_waits__before_start(struct java_threads *threads, JNIEnv *jni)
{
    if (!threads->locks)
        return;
    lock_owners__forget_all(&threads->locks->owners);
    lock_waiters__forget_all(&threads->locks->waiters, jni);
    atomic_fetch_add(&threads->holds_round, 2);
}

void lock_waits__stopped(const struct java_threads *threads, uint64_t now_ns)
{
    if (threads->locks)
        lock_blocks__settle(&threads->locks->blocks, now_ns);
}

void lock_waits__runs(const struct java_threads *threads, const struct kernel_thread *mine)
{
    bool is_virtual = mine->thread->kind == THREAD_VIRTUAL;
    ledger_ref kernel_thread = ledger__ref(threads->ledger, mine->record);

    if (!threads->locks)
        return;
    lock_owners__note(&threads->locks->owners, ledger__ref(threads->ledger, mine->thread),
                      kernel_thread, is_virtual ? NULL : mine->host);
    if (!is_virtual)
        lock_owners__note_kernel_thread(&threads->locks->owners, kernel_thread);
}

void lock_waits__ended(const struct java_threads *threads, JNIEnv *jni,
                       const struct kernel_thread *mine, const struct ledger_thread *thread)
{
    if (!threads->locks)
        return;
    lock_owners__forget(&threads->locks->owners, thread->java_id,
                        thread->kind == THREAD_VIRTUAL ? NULL : mine->host);
    lock_waiters__forget(&threads->locks->waiters, jni, thread->java_id);
    lock_holds__forget(&threads->locks->holds, ledger__ref(threads->ledger, thread));
}
