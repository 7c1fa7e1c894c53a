#include "agent/threads/lock_queues.h"

#include "agent/threads/jdk_names.h"

#include <stddef.h>
#include <stdio.h>

#define LOCKS      "java/util/concurrent/locks/"
#define NAME_BYTES 128u

static void begin(struct lock_queue *queue, JNIEnv *jni, const char *class_name, const char *state)
{
    char node[NAME_BYTES], exclusive[NAME_BYTES], node_type[NAME_BYTES + 2];

    snprintf(node, sizeof(node), "%s$Node", class_name);
    snprintf(node_type, sizeof(node_type), "L%s;", node);
    snprintf(exclusive, sizeof(exclusive), "%s$ExclusiveNode", class_name);
    queue->is_long = *state == 'J';
    queue->exclusive = jdk_names__class(jni, exclusive);
    queue->state = jdk_names__field(jni, class_name, "state", state);
    queue->head = jdk_names__field(jni, class_name, "head", node_type);
    queue->next = jdk_names__field(jni, node, "next", node_type);
    queue->waiter = jdk_names__field(jni, node, "waiter", "Ljava/lang/Thread;");
    if (queue->exclusive && queue->state && queue->head && queue->next && queue->waiter)
        queue->class = jdk_names__class(jni, class_name);
}

void lock_queues__begin(struct lock_queues *queues, JNIEnv *jni)
{
    begin(&queues->kinds[0], jni, LOCKS "AbstractQueuedSynchronizer", "I");
    begin(&queues->kinds[1], jni, LOCKS "AbstractQueuedLongSynchronizer", "J");
}

const struct lock_queue *lock_queues__of(const struct lock_queues *queues, JNIEnv *jni,
                                         jobject lock)
{
    for (unsigned i = 0; i < sizeof(queues->kinds) / sizeof(*queues->kinds); i++)
        if (queues->kinds[i].class && (*jni)->IsInstanceOf(jni, lock, queues->kinds[i].class))
            return &queues->kinds[i];
    return NULL;
}

uint64_t lock_queue__state(const struct lock_queue *queue, JNIEnv *jni, jobject lock)
{
    return queue->is_long ? (uint64_t)(*jni)->GetLongField(jni, lock, queue->state)
                          : (uint32_t)(*jni)->GetIntField(jni, lock, queue->state);
}

jobject lock_queue__head(const struct lock_queue *queue, JNIEnv *jni, jobject lock)
{
    return (*jni)->GetObjectField(jni, lock, queue->head);
}

jobject lock_queue__first(const struct lock_queue *queue, JNIEnv *jni, jobject head)
{
    jobject first = (*jni)->GetObjectField(jni, head, queue->next);
    jobject waiter = NULL;

    if (first && (*jni)->IsInstanceOf(jni, first, queue->exclusive))
        waiter = (*jni)->GetObjectField(jni, first, queue->waiter);
    (*jni)->DeleteLocalRef(jni, first);
    return waiter;
}
