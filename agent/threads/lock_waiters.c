#include "agent/threads/lock_waiters.h"

#define PROBES 16u
#define TAKEN  UINT64_MAX /* in place of an id: somebody fills the entry in */

void lock_waiters__init(struct lock_waiters *waiters)
{
    pthread_mutex_init(&waiters->lock, NULL);
}

/* Multiplicative hashing [D. E. Knuth: The Art of Computer Programming 3, 6.4]. */
static struct lock_waiter *place(struct lock_waiters *waiters, uint64_t java_id, unsigned probe)
{
    return &waiters->of[((uint32_t)(java_id * 0x9e3779b97f4a7c15u >> 40) + probe) % LOCK_WAITERS];
}

static struct lock_waiter *find(struct lock_waiters *waiters, uint64_t java_id)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct lock_waiter *waiter = place(waiters, java_id, probe);

        if (atomic_load_explicit(&waiter->java_id, memory_order_acquire) == java_id)
            return waiter;
    }
    return NULL;
}

static struct lock_waiter *take(struct lock_waiters *waiters, uint64_t java_id)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct lock_waiter *waiter = place(waiters, java_id, probe);
        uint64_t none = 0;

        if (atomic_load_explicit(&waiter->java_id, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&waiter->java_id, &none, TAKEN))
            return waiter;
    }
    return NULL;
}

static struct lock_waiter *add(struct lock_waiters *waiters, const struct java_threads *threads,
                               JNIEnv *jni, const struct kernel_thread *mine)
{
    struct lock_waiter *waiter = take(waiters, mine->thread->java_id);
    jthread thread = NULL;

    if (!waiter)
        return NULL;
    waiter->object = NULL;
    if ((*threads->jvmti)->GetCurrentThread(threads->jvmti, &thread) == JVMTI_ERROR_NONE && thread)
        waiter->object = (*jni)->NewWeakGlobalRef(jni, thread);
    (*jni)->DeleteLocalRef(jni, thread);
    waiter->thread = ledger__ref(threads->ledger, mine->thread);
    atomic_store(&waiter->java_id, waiter->object ? mine->thread->java_id : 0);
    return waiter->object ? waiter : NULL;
}

void lock_waiters__note(struct lock_waiters *waiters, const struct java_threads *threads,
                        JNIEnv *jni, const struct kernel_thread *mine, uintptr_t monitor,
                        enum may_block may_block)
{
    uint64_t java_id = mine->thread->java_id;
    struct lock_waiter *waiter = java_id ? find(waiters, java_id) : NULL;

    if (!waiter && may_block != BLOCKS_NEVER && java_id)
        waiter = add(waiters, threads, jni, mine);
    if (!waiter && may_block != BLOCKS_NEVER)
        ledger__count(&threads->ledger->header->unwatched_waits, 1);
    if (!waiter)
        return;
    atomic_store_explicit(&waiter->monitor, monitor, memory_order_relaxed);
    atomic_store_explicit(&waiter->may_block, (uint32_t)may_block, memory_order_release);
}

static void release(struct lock_waiter *waiter, JNIEnv *jni)
{
    (*jni)->DeleteWeakGlobalRef(jni, waiter->object);
    waiter->object = NULL;
    atomic_store(&waiter->may_block, BLOCKS_NEVER);
    atomic_store(&waiter->java_id, 0);
}

void lock_waiters__forget(struct lock_waiters *waiters, JNIEnv *jni, uint64_t java_id)
{
    struct lock_waiter *waiter = java_id ? find(waiters, java_id) : NULL;

    if (!waiter)
        return;
    pthread_mutex_lock(&waiters->lock);
    if (atomic_load(&waiter->java_id) == java_id)
        release(waiter, jni);
    pthread_mutex_unlock(&waiters->lock);
}

void lock_waiters__forget_all(struct lock_waiters *waiters, JNIEnv *jni)
{
    pthread_mutex_lock(&waiters->lock);
    for (unsigned i = 0; i < LOCK_WAITERS; i++) {
        uint64_t java_id = atomic_load(&waiters->of[i].java_id);

        if (java_id && java_id != TAKEN)
            release(&waiters->of[i], jni);
    }
    pthread_mutex_unlock(&waiters->lock);
}
