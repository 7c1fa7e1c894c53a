/*
 * What each Java thread holds, as far as agent/threads/lock_holds.h measures it: a table of fixed
 * size by the Java thread's record, for a virtual thread may release on another carrier. A thread
 * has an entry while it holds something. No lock is taken. The thread itself writes to its entry;
 * marks are left by threads that begin to wait, at any time, and are looked at before they count.
 */
#ifndef TREADLE_HOLD_TABLE_H
#define TREADLE_HOLD_TABLE_H

#include "native/thread/lock_blocks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HOLDING_THREADS 4096u
#define HOLDS_OPEN      8u  /* of a thread at a time: monitors, and as many Locks */
#define HOLD_MARKS      16u /* what it has no room for, and outdated ones, among them */

struct open_hold {
    uint64_t since_ns;         /* 0: not known, or the place is free */
    uintptr_t monitor;         /* its address once it is known to be the contended one; else 0 */
    struct lock_identity lock; /* of a contended monitor; of a Lock its identity alone */
    _Atomic bool is_contended;
    bool is_owned;    /* of a Lock: exclusively; … */
    bool is_shared;   /* … or also shared, … */
    bool is_read;     /* … as a read lock, which keeps no other reader out, … */
    uint32_t depth;   /* … so many times, or permits, … */
    uint32_t waits;   /* … since there were so many waits (agent/threads/shared_holds.h), … */
    uint32_t foreign; /* … and so many releases by others */
};

/* A monitor that another thread waits for, and the owner is to look after. */
struct hold_mark {
    _Atomic uintptr_t monitor; /* 0: free. Published last */
    struct lock_identity lock;
};

struct thread_holds {
    _Atomic ledger_ref thread; /* the record; 0: free */
    uint32_t round;            /* java_threads.holds_round; else what is here is outdated */
    uint32_t depth;            /* monitors entered, by code with hooks */
    struct open_hold monitors[HOLDS_OPEN];
    struct open_hold locks[HOLDS_OPEN];
    struct hold_mark marks[HOLD_MARKS];
};

/* Zero the struct to begin. */
struct hold_table {
    struct thread_holds of[HOLDING_THREADS];
};

/* The thread's entry. NULL: it has none. take makes one; NULL: there is no room. */
struct thread_holds *hold_table__find(struct hold_table *table, ledger_ref thread);
struct thread_holds *hold_table__take(struct hold_table *table, ledger_ref thread);

/* The Lock of that identity; NULL: it is not known to be held. */
struct open_hold *thread_holds__lock(struct thread_holds *of, uint32_t identity);

/* Nothing is held any more; nor is the entry needed, unless something is held. */
void thread_holds__clear(struct thread_holds *of);
void thread_holds__give_back(struct thread_holds *of);

#endif
