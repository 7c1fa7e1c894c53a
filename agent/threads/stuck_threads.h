/*
 * Who waits for a lock for long, and for which of these threads: for the thread that looks for
 * deadlocks, which is a Java thread. Nobody is stopped for that, except that a virtual thread is
 * asked for its monitors where its JVM tells no other way who owns one.
 */
#ifndef TREADLE_STUCK_THREADS_H
#define TREADLE_STUCK_THREADS_H

#include "agent/threads/java_threads.h"
#include "native/thread/wait_cycle.h"

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#define STUCK_THREADS_MOST 1024u
#define STUCK_CHOICES_MOST 4096u

struct stuck_thread {
    uint64_t java_id;
    jthread object;    /* a local reference */
    ledger_ref thread; /* its record; none: it has none, or is not known */
    ledger_ref block;  /* of the wait; none: the wait has no record */
    uint64_t wait; /* what tells the wait from others of the thread: when it began, or the lock */
    uintptr_t monitor; /* ObjectMonitor; 0: it parks */
    const void *host;  /* JavaThread of a platform thread; or NULL */
    bool waits_for_itself;
    bool is_behind; /* whom it waits for does not have the lock, but is ahead of it in the queue */
};

struct stuck_threads {
    struct java_threads *java;
    struct stuck_thread threads[STUCK_THREADS_MOST]; /* the longest wait first; then those without a
                                                        record */
    uint32_t owner_of[STUCK_THREADS_MOST];           /* an index, or WAIT_FOR_NOBODY */
    struct wait_choice choices[STUCK_CHOICES_MOST];  /* of threads that wait for several */
    uint32_t scratch[2 * STUCK_THREADS_MOST];
    uint32_t count;
    uint32_t choice_count;
    uint32_t left_out; /* waits that had no room, or not with all whom they are for */
    bool has_frame;    /* of local references */
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

/* Which one it is; WAIT_FOR_NOBODY: none of these. */
uint32_t stuck_threads__index(const struct stuck_threads *stuck, JNIEnv *jni, jthread thread);

/* Fills in who it is, for what it waits, and where. */
void stuck_threads__describe(const struct stuck_threads *stuck, JNIEnv *jni,
                             const struct stuck_thread *thread, struct ledger_stuck *record);

#endif
