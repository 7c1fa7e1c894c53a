/*
 * For which locks Java threads wait, and for whom: what native/thread/lock_blocks.h records of the
 * waits that agent/threads/thread_waits.h brackets. A monitor's owner comes from HotSpot's own
 * structures (agent/hotspot/monitor_owner.h). What a parked thread waits for is Thread.parkBlocker,
 * and its owner AbstractOwnableSynchronizer.exclusiveOwnerThread, or the thread that is about to be
 * (agent/threads/lock_successor.h); all are read as fields, no Java is called. A lock is named by
 * its class and its identity hash. No stack is walked.
 */
#ifndef TREADLE_LOCK_WAITS_H
#define TREADLE_LOCK_WAITS_H

#include "agent/hotspot/monitor_owner.h"
#include "agent/threads/java_threads.h"
#include "agent/threads/lock_holds.h"
#include "agent/threads/lock_nesting.h"
#include "agent/threads/lock_orders.h"
#include "agent/threads/lock_owners.h"
#include "agent/threads/lock_queues.h"
#include "agent/threads/lock_successor.h"
#include "agent/threads/lock_waiters.h"
#include "agent/threads/read_locks.h"
#include "agent/threads/shared_holds.h"
#include "native/thread/lock_blocks.h"

#include <jvmti.h>
#include <stdatomic.h>
#include <stdbool.h>

#define LOCK_CLASSES 4096u

struct named_class {
    _Atomic uint64_t key; /* identity hash << 32 | string of its name; 0: free. Published last */
    jweak class;
};

struct lock_waits {
    struct lock_blocks blocks;
    struct lock_owners owners;
    struct lock_waiters waiters;
    struct lock_orders orders;
    struct lock_holds holds;
    struct shared_holds shared;
    struct monitor_owner monitor;
    struct lock_queues queues;
    struct lock_nesting nesting;
    struct lock_successor successor;
    struct read_locks read_locks;
    struct named_class classes[LOCK_CLASSES];
    jfieldID park_blocker; /* of Thread; or NULL, as the next two */
    jfieldID exclusive_owner;
    jclass ownable; /* java.util.concurrent.locks.AbstractOwnableSynchronizer */
};

/* To be called once the JVM runs: 0 or -ENOMEM. */
int lock_waits__begin(struct java_threads *threads, JNIEnv *jni);

/* Class and identity of a lock. */
struct lock_identity lock_waits__identify(const struct java_threads *threads, JNIEnv *jni,
                                          enum ledger_block_kind kind, jobject object);

/* The owner of the monitor that the calling thread is about to wait for. */
struct lock_place lock_waits__monitor_owner(const struct java_threads *threads, JNIEnv *jni,
                                            jobject object);

/* The Java thread that runs on the calling kernel thread has begun to wait for a monitor; or
 * parks, if it has a blocker. thread: the Java thread; or NULL. park returns the lock that it waits
 * for; identity 0: none that has an owner. */
void lock_waits__monitor(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                         jobject object, struct lock_place owner);
struct lock_identity lock_waits__park(struct java_threads *threads, JNIEnv *jni,
                                      struct kernel_thread *mine, jobject thread);

/* The same where the wait is not heard: it is noted for those who look for deadlocks that the
 * thread waits, a park only if it is for something that a thread may own. thread: not NULL. */
void lock_waits__monitor_unheard(const struct java_threads *threads, JNIEnv *jni,
                                 struct kernel_thread *mine);
void lock_waits__park_unheard(const struct java_threads *threads, JNIEnv *jni,
                              struct kernel_thread *mine, jobject thread);

/* True if that thread is about to park for a lock that may have an owner. */
bool lock_waits__parks_for_lock(const struct java_threads *threads, JNIEnv *jni, jobject thread);

/* The same for a lock of the C library (agent/threads/native_locks.h). */
void lock_waits__native(struct java_threads *threads, struct kernel_thread *mine,
                        const struct lock_identity *lock, struct lock_place owner);

/* The wait is over. object: the monitor; NULL: it was no monitor, and jni is not used. */
void lock_waits__over(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                      jobject object);

/* Profiling is about to start: threads are noted anew; or was stopped. */
void lock_waits__before_start(struct java_threads *threads, JNIEnv *jni);
void lock_waits__stopped(const struct java_threads *threads, uint64_t now_ns);

/* A Java thread runs on this kernel thread from now on, platform or virtual; is over. Do nothing
 * without waits=on. */
void lock_waits__runs(const struct java_threads *threads, const struct kernel_thread *mine);
void lock_waits__ended(const struct java_threads *threads, JNIEnv *jni,
                       const struct kernel_thread *mine, const struct ledger_thread *thread);

#endif
