/*
 * Looks for deadlocks of Java threads, and records them in the ledger (struct ledger_stuck): of
 * monitors, of locks of java.util.concurrent that have an owner, of locks that are read
 * (agent/threads/stuck_readers.h), of all these mixed; of platform and virtual threads.
 *
 * The housekeeping thread looks four times a second, in records only, whether a wait for a lock has
 * begun to last. Only then a Java thread of the profiler's own ("treadle deadlocks", a daemon made
 * when it is first needed) asks who owns the locks that long waits are for: monitors as
 * agent/hotspot/monitor_owner.h says, other locks by their field exclusiveOwnerThread. No thread is
 * stopped for that. What waits for what is a deadlock if a second look, with the same waits, finds
 * it again: a thread that waits gives nothing away.
 *
 * Of waits that the budget has no room for it is noted only that they are under way, and of parks
 * of platform threads not even that. These, and waits that began before the profiler came, are
 * found by JVMTI's thread states: of platform threads, at most twice a second, at the start and
 * where waits went unheard.
 */
#ifndef TREADLE_DEADLOCK_WATCH_H
#define TREADLE_DEADLOCK_WATCH_H

#include "agent/threads/java_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DEADLOCKS_MOST      64u /* recorded, in the life of a process */
#define DEADLOCK_PARTS_MOST 64u /* threads of one deadlock that are recorded */

struct known_deadlock {
    uint64_t signature; /* of its waits */
    uint32_t parts;
    uint32_t missed; /* looks, one after the other, that did not find it */
    bool is_over;
    bool has_unheard; /* waits without a record */
    ledger_ref records[DEADLOCK_PARTS_MOST];
    struct {
        ledger_ref thread;
        uint64_t since_ns;
    } waits[DEADLOCK_PARTS_MOST]; /* unless has_unheard: as long as these last, it does */
};

/* Zero the struct, call init and set java_threads to begin. */
struct deadlock_watch {
    struct java_threads *threads;

    /* the housekeeping thread's */
    uint64_t asked_ns; /* when the Java thread was asked last */
    uint32_t epoch;    /* when it was asked to look at all threads last */
    uint64_t scan_ns;  /* ditto */
    uint64_t unheard;  /* waits that were counted in the last round */
    bool has_unheard;  /* waits went unheard since it was asked to look at all threads last */
    bool has_thread;

    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_wanted; /* under the lock, as is the next */
    bool looks_at_all;
    _Atomic bool is_busy;
    _Atomic bool is_over;         /* there can be no such thread */
    _Atomic uint64_t took_ns;     /* CPU time of its last look */
    _Atomic uint64_t all_took_ns; /* … and of all looks */
    _Atomic uint32_t lasting;     /* deadlocks that last */

    /* the Java thread's */
    struct known_deadlock known[DEADLOCKS_MOST];
    uint32_t known_count;
    uint32_t left_out; /* waits, in the last look */
};

void deadlock_watch__init(struct deadlock_watch *watch);

/* CPU time of looks at locks, also of those of lock_orders.h. */
uint64_t deadlock_watch__took_ns(const struct deadlock_watch *watch);

/* For the housekeeping thread, in each of its rounds. */
void deadlock_watch__look(struct deadlock_watch *watch);

#endif
