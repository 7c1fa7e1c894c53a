#include "agent/threads/lock_successor.h"

#include "agent/threads/jdk_names.h"

#include <stdbool.h>
#include <stddef.h>

#define LOCKS "java/util/concurrent/locks/"

void lock_successor__begin(struct lock_successor *successor, JNIEnv *jni)
{
    successor->reentrant = jdk_names__class(jni, LOCKS "ReentrantLock$FairSync");
    successor->read_write = jdk_names__class(jni, LOCKS "ReentrantReadWriteLock$FairSync");
}

static bool is_fair(const struct lock_successor *successor, JNIEnv *jni, jobject lock)
{
    return (successor->reentrant && (*jni)->IsInstanceOf(jni, lock, successor->reentrant)) ||
           (successor->read_write && (*jni)->IsInstanceOf(jni, lock, successor->read_write));
}

/* Where the Lock is free and its queue begins with the same node before and after, the thread was
 * the first one all the time. */
static bool is_as_before(const struct lock_queue *queue, JNIEnv *jni, jobject lock, jobject head)
{
    jobject now = lock_queue__head(queue, jni, lock);
    bool same = (*jni)->IsSameObject(jni, now, head) && lock_queue__state(queue, jni, lock) == 0;

    (*jni)->DeleteLocalRef(jni, now);
    return same;
}

jobject lock_successor__of(const struct lock_successor *successor, const struct lock_queues *queues,
                           JNIEnv *jni, jobject lock)
{
    const struct lock_queue *queue =
        is_fair(successor, jni, lock) ? lock_queues__of(queues, jni, lock) : NULL;
    jobject head, waiter = NULL;

    if (!queue)
        return NULL;
    head = lock_queue__head(queue, jni, lock);
    if (head)
        waiter = lock_queue__first(queue, jni, head);
    if (waiter && !is_as_before(queue, jni, lock, head)) {
        (*jni)->DeleteLocalRef(jni, waiter);
        waiter = NULL;
    }
    (*jni)->DeleteLocalRef(jni, head);
    return waiter;
}
