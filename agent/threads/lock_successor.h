/*
 * Which thread is about to own a fair Lock of java.util.concurrent that nobody owns at the moment:
 * after a hand-over that is the first one in the queue, until it has run. Nobody else gets the Lock
 * before, but who calls tryLock(), and unless that thread gives up. All is read as fields, no Java
 * is called.
 */
#ifndef TREADLE_LOCK_SUCCESSOR_H
#define TREADLE_LOCK_SUCCESSOR_H

#include "agent/threads/lock_queues.h"

#include <jni.h>

/* The fair ones; or NULL. */
struct lock_successor {
    jclass reentrant;
    jclass read_write;
};

/* To be called once the JVM runs. */
void lock_successor__begin(struct lock_successor *successor, JNIEnv *jni);

/* A local reference to the thread, or NULL: the Lock is held, is none of these, or nobody waits for
 * it; or the queue has changed meanwhile. */
jobject lock_successor__of(const struct lock_successor *successor, const struct lock_queues *queues,
                           JNIEnv *jni, jobject lock);

#endif
