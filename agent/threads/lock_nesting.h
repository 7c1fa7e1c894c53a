/*
 * How deeply the owner of a lock has it nested when a thread begins to wait for it: 1 where the
 * owner has acquired the lock once, one more for each acquisition while it had the lock already.
 * Of a monitor the JVM says that itself, of the Locks of java.util.concurrent.locks that may be
 * nested their state. Read by the thread that waits, so nothing is needed while locks are acquired.
 */
#ifndef TREADLE_LOCK_NESTING_H
#define TREADLE_LOCK_NESTING_H

#include "agent/hotspot/monitor_owner.h"
#include "agent/threads/lock_owners.h"
#include "agent/threads/lock_queues.h"

#include <jni.h>
#include <stdint.h>

/* NULL: the JVM does not have it. */
struct lock_nesting {
    jclass reentrant;  /* ReentrantLock.Sync: state is the depth */
    jclass read_write; /* ReentrantReadWriteLock.Sync: its low 16 bits are that of the write lock */
};

void lock_nesting__begin(struct lock_nesting *nesting, JNIEnv *jni);

/* 0: not known, or nobody has it any more; of a monitor as well where its owner entered it before
 * it was contended and the JVM does not say how often. */
uint32_t lock_nesting__of_lock(const struct lock_nesting *nesting, const struct lock_queues *queues,
                               JNIEnv *jni, jobject lock);
uint32_t lock_nesting__of_monitor(const struct monitor_owner *owner,
                                  const struct lock_owners *owners, uintptr_t monitor);

#endif
