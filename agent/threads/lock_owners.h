/*
 * Where the threads are that may own a lock: their records and those of their kernel threads, by
 * Thread.threadId(), and by JavaThread; and those of kernel threads by tid. A table of fixed size;
 * a thread that finds no room is not found later. Any thread; nothing here locks or allocates.
 */
#ifndef TREADLE_LOCK_OWNERS_H
#define TREADLE_LOCK_OWNERS_H

#include "native/ledger/ledger.h"
#include "native/thread/lock_blocks.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define LOCK_OWNERS 65536u

struct lock_owner {
    _Atomic uint64_t key;    /* 0: free */
    _Atomic uint64_t places; /* thread << 32 | kernel thread, refs or none */
};

/* Zero the struct and set the ledger to begin. */
struct lock_owners {
    struct ledger *ledger;
    struct lock_owner owners[LOCK_OWNERS];
};

/* A Java thread runs from now on, on that kernel thread; none: it is not mounted. For a virtual
 * thread whenever it is mounted. host: the JavaThread of a platform thread; or NULL. */
void lock_owners__note(struct lock_owners *owners, ledger_ref thread, ledger_ref kernel_thread,
                       const void *host);

/* A platform thread runs from now on, on that kernel thread, whose entry lasts as long as it does.
 */
void lock_owners__note_kernel_thread(struct lock_owners *owners, ledger_ref kernel_thread);

/* The record of the kernel thread of that tid, or none: it has run no Java thread. */
ledger_ref lock_owners__kernel_thread(const struct lock_owners *owners, pid_t tid);

/* The Java thread is over. */
void lock_owners__forget(struct lock_owners *owners, uint64_t java_id, const void *host);

/* Ends of threads may have been missed. */
void lock_owners__forget_all(struct lock_owners *owners);

/* Where a thread stands now; thread 0: not known. by_host: the Java thread that the JavaThread runs
 * now, which may be a virtual one. */
struct lock_place lock_owners__by_id(const struct lock_owners *owners, uint64_t java_id);
struct lock_place lock_owners__by_host(const struct lock_owners *owners, const void *host);

#endif
