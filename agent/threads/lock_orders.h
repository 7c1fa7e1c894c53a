/*
 * In which order Java threads take locks, in the ledger (struct ledger_order): at the begin of a
 * wait, and at the end of one for a monitor, the JVM is asked which monitors the waiting thread has
 * entered, and in which frames. So no thread needs to wait for another one for an order to be seen.
 * What uncontended locks without any wait inside cannot show is not seen.
 *
 * Which Locks of java.util.concurrent it holds is known once there are hooks for that
 * (agent/threads/lock_holds.h), but not in which order among themselves and with monitors: those
 * that were contended come before the lock that the thread waits for, or has just waited for, and
 * all are gates of all other orders. When two threads have taken two locks in both orders and
 * not all Locks are known, hooks tell of all that have an owner, contended or not, for
 * ALL_LOCKS_NS, and ALL_LOCKS_TIMES at most: ORDER_LOCKS_KNOWN is in what is seen then, from
 * LOCKS_KNOWN_NS on. Whoever holds a Lock for longer is taken not to hold it.
 *
 * That walks the thread's own stack, so it is done seldom: LOCK_ORDER_LOOKS times a second, less
 * often where stacks are deep, and in a thread once in LOCK_ORDER_PAUSE_NS. The JVM answers only an
 * agent that was there from the start.
 *
 * No lock is taken; the tables have fixed sizes.
 */
#ifndef TREADLE_LOCK_ORDERS_H
#define TREADLE_LOCK_ORDERS_H

#include "agent/threads/java_threads.h"
#include "native/thread/lock_blocks.h"

#include <jvmti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_ORDER_SLOTS    4096u
#define LOCK_ORDERS_MOST    2048u
#define LOCK_ORDER_LOOKS    12u
#define LOCK_ORDER_SAVED    100u   /* looks that may be saved up */
#define LOCK_ORDER_LOOK_NS  40000u /* one that takes longer counts as several */
#define LOCK_ORDER_PAUSE_NS 50000000u
#define LOCK_ORDER_PLACES   4096u
#define LOCKS_KNOWN_NS      1000000000u
#define ALL_LOCKS_TIMES     6u

/* Zero the struct and call init to begin. */
struct lock_orders {
    _Atomic uint32_t looks; /* that may be made; by the housekeeping thread's leave */
    _Atomic uint32_t count;
    _Atomic(ledger_ref) slots[LOCK_ORDER_SLOTS];
    _Atomic uint64_t looked_ns[LOCK_ORDER_PLACES]; /* by thread and place */
    _Atomic uint64_t took_ns;                      /* CPU time of all looks */
    _Atomic uint64_t round_ns; /* holds were heard without a gap since then, … */
    _Atomic uint32_t round;    /* … in this java_threads.holds_round */
    _Atomic uint32_t times;    /* hooks have told of all Locks, or were to */
    _Atomic bool locks_wanted; /* hooks are to tell of all Locks */
    uint64_t allowed_ns;       /* the housekeeping thread's: when it gave leave last */
};

void lock_orders__init(struct lock_orders *orders);

/* For the housekeeping thread: gives leave for more looks. */
void lock_orders__allow(struct lock_orders *orders, uint64_t now_ns);

/* The Java thread on the calling kernel thread is in a wait's begin or end. next: the lock that it
 * will wait for, if that is no monitor and has an owner; or NULL. entered: the monitor for which it
 * has waited; or NULL. */
void lock_orders__look(struct java_threads *threads, JNIEnv *jni, const struct kernel_thread *mine,
                       const struct lock_identity *next, jobject entered);

#endif
