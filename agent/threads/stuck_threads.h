/*
 * Who waits for a lock for long, and for which of these threads: for the thread that looks for
 * deadlocks, which is a Java thread. Nobody is stopped for that, except that a virtual thread is
 * asked for its monitors where its JVM tells no other way who owns one.
 */
#ifndef TREADLE_STUCK_THREADS_H
#define TREADLE_STUCK_THREADS_H

#include "agent/threads/java_threads.h"

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#define STUCK_THREADS_MOST 1024u

struct stuck_thread {
    uint64_t java_id;
    jthread object;    /* a local reference */
    ledger_ref thread; /* its record; none: it has none, or is not known */
    ledger_ref block;  /* of the wait; none: the wait has no record */
    uint64_t wait; /* what tells the wait from others of the thread: when it began, or the lock */
    uintptr_t monitor; /* ObjectMonitor; 0: it parks */
    const void *host;  /* JavaThread of a platform thread; or NULL */
    jobject owner;     /* of what it parks for: a local reference, or NULL */
};

struct stuck_threads {
    struct java_threads *java;
    struct stuck_thread threads[STUCK_THREADS_MOST]; /* the longest wait first; then those without a
                                                        record */
    uint32_t owner_of[STUCK_THREADS_MOST];           /* an index, or WAIT_FOR_NOBODY */
    uint32_t scratch[2 * STUCK_THREADS_MOST];
    uint32_t count;
    bool has_frame; /* of local references */
};

/* Since when the thread with that record waits for a lock; 0: it does not. */
uint64_t stuck_threads__waits_since(const struct ledger *ledger, ledger_ref thread);

/* Collects those that have waited since before_ns or earlier; all: those that wait since whenever,
 * also platform threads whose waits have no record. Zero the struct first. */
void stuck_threads__collect(struct stuck_threads *stuck, struct java_threads *java, JNIEnv *jni,
                            uint64_t before_ns, bool all);
void stuck_threads__release(struct stuck_threads *stuck, JNIEnv *jni);

/* True if the wait is not over. Of one without a record: it was not when it was collected. */
bool stuck_threads__still_waits(const struct stuck_threads *stuck,
                                const struct stuck_thread *thread);

/* Fills in who it is, for what it waits, and where. */
void stuck_threads__describe(const struct stuck_threads *stuck, JNIEnv *jni,
                             const struct stuck_thread *thread, struct ledger_stuck *record);

#endif
