#include "agent/threads/lock_nesting.h"

#include "agent/threads/jdk_names.h"

#define LOCKS        "java/util/concurrent/locks/"
#define WRITE_STATES 0xffffu

void lock_nesting__begin(struct lock_nesting *nesting, JNIEnv *jni)
{
    nesting->reentrant = jdk_names__class(jni, LOCKS "ReentrantLock$Sync");
    nesting->read_write = jdk_names__class(jni, LOCKS "ReentrantReadWriteLock$Sync");
}

uint32_t lock_nesting__of_lock(const struct lock_nesting *nesting, const struct lock_queues *queues,
                               JNIEnv *jni, jobject lock)
{
    const struct lock_queue *queue = lock_queues__of(queues, jni, lock);

    if (!queue)
        return 0;
    if (nesting->reentrant && (*jni)->IsInstanceOf(jni, lock, nesting->reentrant))
        return (uint32_t)lock_queue__state(queue, jni, lock);
    if (nesting->read_write && (*jni)->IsInstanceOf(jni, lock, nesting->read_write))
        return (uint32_t)lock_queue__state(queue, jni, lock) & WRITE_STATES;
    return 0;
}

uint32_t lock_nesting__of_monitor(const struct monitor_owner *owner,
                                  const struct lock_owners *owners, uintptr_t monitor)
{
    struct monitor_holder holder;
    uintptr_t recursions;

    /* An owner of whom only an address on its stack is known entered the monitor when nobody waited
     * for it, and the monitor does not count what was entered then. */
    if (monitor_owner__read(owner, monitor, &holder) != MONITOR_OWNED ||
        (!holder.java_id && !lock_owners__by_host(owners, holder.java_thread).thread))
        return 0;
    recursions = monitor_owner__recursions(owner, monitor);
    return recursions < UINT32_MAX ? (uint32_t)recursions + 1 : 0;
}
