/*
 * Holds of locks that several threads may have at once, beside those of
 * agent/threads/lock_holds.h: the read lock of ReentrantReadWriteLock, Semaphore and StampedLock. A
 * hold begins when a thread that has none acquires the lock, and ends when the same thread has
 * released as much as it acquired; what a thread that owns the write lock reads belongs to that
 * hold.
 *
 * A waiting thread does not know who holds such a lock: it counts up a number in a table by the
 * lock's identity, and a hold that ends compares it with what it was when the hold began. The table
 * also knows of locks that threads release which did not acquire them: such a release counts as an
 * unseen hold, and makes the holds of the lock doubtful that are open then, so that a thread which
 * acquires it once more begins anew. Where such releases are the rule, as of a signal, holds are
 * not measured for some time; each time after that it takes more of them to become the rule: the
 * permits of a large pool that were acquired before there were hooks are released without, too. No
 * lock is taken.
 */
#ifndef TREADLE_SHARED_HOLDS_H
#define TREADLE_SHARED_HOLDS_H

#include "agent/threads/hold_table.h"
#include "agent/threads/java_threads.h"
#include "agent/threads/shared_lock_methods.h"

#include <jni.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SHARED_LOCKS 4096u

/* One that somebody has waited for. */
struct shared_lock {
    _Atomic uint32_t identity;   /* 0: free. Never changes once it is set */
    _Atomic uint32_t waits;      /* how often a thread began to wait for it */
    _Atomic int32_t strange;     /* releases without an acquisition, less those with one */
    _Atomic uint32_t foreign;    /* releases without an acquisition, ever */
    _Atomic uint32_t tries;      /* to measure its holds again */
    _Atomic uint64_t foreign_ns; /* the last one, while holds were measured */
};

/* Zero the struct to begin. */
struct shared_holds {
    jclass classes[SHARED_KINDS]; /* what threads park for; or NULL */
    _Atomic uint32_t wanted;      /* the kinds (bits) whose classes are to get hooks */
    struct shared_lock locks[SHARED_LOCKS];
};

/* To be called once the JVM runs. */
void shared_holds__begin(struct shared_holds *shared, JNIEnv *jni);

/* The calling thread begins to wait for a lock. False: it is none of these. */
bool shared_holds__contended(const struct java_threads *threads, struct shared_holds *shared,
                             JNIEnv *jni, jobject lock, uint32_t identity);

/* For hooks: the calling thread has acquired the lock, or is about to release it. number and
 * permits: what the hook told (agent/classfile/sharing_hook.h). */
void shared_holds__tell(struct java_threads *threads, JNIEnv *jni, jint number, jobject lock,
                        enum sharing_operation operation, jint permits);

/* True if somebody began to wait for the lock since the hold began. */
bool shared_holds__was_contended(struct shared_holds *shared, const struct open_hold *hold);

#endif
