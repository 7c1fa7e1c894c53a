/*
 * The state and the queue of a Lock of java.util.concurrent, which is an
 * AbstractQueuedSynchronizer, or an AbstractQueuedLongSynchronizer: those of ReentrantReadWriteLock
 * are the one or the other, by JDK. All is read as fields, no Java is called.
 */
#ifndef TREADLE_LOCK_QUEUES_H
#define TREADLE_LOCK_QUEUES_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

struct lock_queue {
    jclass class;     /* NULL: the JDK has none of that kind, or not all of what follows */
    jclass exclusive; /* of nodes whose threads want to be the only owner */
    jfieldID state;
    jfieldID head;
    jfieldID next;
    jfieldID waiter;
    bool is_long; /* so is the state */
};

struct lock_queues {
    struct lock_queue kinds[2];
};

/* To be called once the JVM runs. */
void lock_queues__begin(struct lock_queues *queues, JNIEnv *jni);

/* What there is to read of that Lock; NULL: nothing is known. */
const struct lock_queue *lock_queues__of(const struct lock_queues *queues, JNIEnv *jni,
                                         jobject lock);

uint64_t lock_queue__state(const struct lock_queue *queue, JNIEnv *jni, jobject lock);

/* A local reference, or NULL: nobody has waited for it yet. */
jobject lock_queue__head(const struct lock_queue *queue, JNIEnv *jni, jobject lock);

/* The thread of the node behind the head, a local reference. NULL: there is none, or it wants to
 * read only. Whoever is behind it gets the Lock after it, unless it gives up. */
jobject lock_queue__first(const struct lock_queue *queue, JNIEnv *jni, jobject head);

#endif
