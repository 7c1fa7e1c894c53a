/*
 * The Java threads that have ever waited for a lock, for a thread that looks for deadlocks: which
 * Java object such a thread is, and the monitor that it waits for; also where waits are not heard
 * otherwise, but for parks of platform threads. A table of fixed size; a thread that finds no room
 * is not noted, and its waits are counted as unwatched. What a thread waits for since when stands
 * in its record.
 */
#ifndef TREADLE_LOCK_WAITERS_H
#define TREADLE_LOCK_WAITERS_H

#include "agent/threads/java_threads.h"

#include <jvmti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_WAITERS 4096u

/* Whether a wait may be a part of a deadlock: it is for something that a thread may own. A thread
 * that reads a lock and wants to write waits for itself. */
enum may_block {
    BLOCKS_NEVER,
    BLOCKS_FOR_OTHERS,
    BLOCKS_FOR_ITSELF, /* or for others */
};

struct lock_waiter {
    _Atomic uint64_t java_id; /* 0: free. Published last */
    ledger_ref thread;
    jweak object; /* the thread; deleted under the lock */
    _Atomic uintptr_t
        monitor; /* ObjectMonitor of the last wait; 0: that was no wait for a monitor */
    _Atomic uint32_t may_block; /* enum may_block, of the last wait */
};

/* Zero the struct and call init to begin. */
struct lock_waiters {
    pthread_mutex_t lock;
    struct lock_waiter of[LOCK_WAITERS];
};

/* True if the entry is a thread's. Under the lock the entry stays so. */
static inline bool lock_waiters__is_used(const struct lock_waiter *waiter)
{
    return atomic_load_explicit(&waiter->java_id, memory_order_acquire) + 1 > 1;
}

void lock_waiters__init(struct lock_waiters *waiters);

/* The Java thread on the calling kernel thread begins to wait. monitor: or 0. BLOCKS_NEVER: for
 * something that nobody owns, as a condition: nothing is noted for a thread that is not here yet.
 */
void lock_waiters__note(struct lock_waiters *waiters, const struct java_threads *threads,
                        JNIEnv *jni, const struct kernel_thread *mine, uintptr_t monitor,
                        enum may_block may_block);

/* The Java thread with that id is over; or ends of threads may have been missed. In a Java thread.
 */
void lock_waiters__forget(struct lock_waiters *waiters, JNIEnv *jni, uint64_t java_id);
void lock_waiters__forget_all(struct lock_waiters *waiters, JNIEnv *jni);

#endif
