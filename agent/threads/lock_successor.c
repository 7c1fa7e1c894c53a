#include "agent/threads/lock_successor.h"

#include "agent/threads/jdk_names.h"

#include <stdbool.h>
#include <stddef.h>

#define LOCKS        "java/util/concurrent/locks/"
#define SYNCHRONIZER LOCKS "AbstractQueuedSynchronizer"
#define NODE         SYNCHRONIZER "$Node"

void lock_successor__begin(struct lock_successor *successor, JNIEnv *jni)
{
    successor->reentrant = jdk_names__class(jni, LOCKS "ReentrantLock$FairSync");
    successor->read_write = jdk_names__class(jni, LOCKS "ReentrantReadWriteLock$FairSync");
    successor->exclusive = jdk_names__class(jni, SYNCHRONIZER "$ExclusiveNode");
    successor->state = jdk_names__field(jni, SYNCHRONIZER, "state", "I");
    successor->head = jdk_names__field(jni, SYNCHRONIZER, "head", "L" NODE ";");
    successor->next = jdk_names__field(jni, NODE, "next", "L" NODE ";");
    successor->waiter = jdk_names__field(jni, NODE, "waiter", "Ljava/lang/Thread;");
}

static bool is_fair(const struct lock_successor *successor, JNIEnv *jni, jobject lock)
{
    return (successor->reentrant && (*jni)->IsInstanceOf(jni, lock, successor->reentrant)) ||
           (successor->read_write && (*jni)->IsInstanceOf(jni, lock, successor->read_write));
}

/* The thread of the node behind the head; NULL: there is none, or it wants to read only. */
static jobject first_waiter(const struct lock_successor *successor, JNIEnv *jni, jobject head)
{
    jobject first = (*jni)->GetObjectField(jni, head, successor->next);
    jobject waiter = NULL;

    if (first && (*jni)->IsInstanceOf(jni, first, successor->exclusive))
        waiter = (*jni)->GetObjectField(jni, first, successor->waiter);
    (*jni)->DeleteLocalRef(jni, first);
    return waiter;
}

/* Where the Lock is free and its queue begins with the same node before and after, the thread was
 * the first one all the time. */
static bool is_as_before(const struct lock_successor *successor, JNIEnv *jni, jobject lock,
                         jobject head)
{
    jobject now = (*jni)->GetObjectField(jni, lock, successor->head);
    bool same = (*jni)->IsSameObject(jni, now, head) &&
                (*jni)->GetIntField(jni, lock, successor->state) == 0;

    (*jni)->DeleteLocalRef(jni, now);
    return same;
}

jobject lock_successor__of(const struct lock_successor *successor, JNIEnv *jni, jobject lock)
{
    jobject head, waiter = NULL;

    if (!successor->exclusive || !successor->state || !successor->head || !successor->next ||
        !successor->waiter || !is_fair(successor, jni, lock))
        return NULL;
    head = (*jni)->GetObjectField(jni, lock, successor->head);
    if (head)
        waiter = first_waiter(successor, jni, head);
    if (waiter && !is_as_before(successor, jni, lock, head)) {
        (*jni)->DeleteLocalRef(jni, waiter);
        waiter = NULL;
    }
    (*jni)->DeleteLocalRef(jni, head);
    return waiter;
}
