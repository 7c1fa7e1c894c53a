/*
 * Waits for locks, in the ledger: one struct ledger_block for each lock, thread that waits and
 * thread that holds the lock, in the calling contexts of both. A wait is found by its key in a
 * table of fixed size, without a lock; its block is made at its first begin, and names and methods
 * are stored then, so that nodes and threads may be reused later. Where LOCK_BLOCKS_FINE blocks are
 * in use, further waits share blocks: one for all locks of a class, and for threads whose names
 * differ in digits only. A wait for which there is no block is counted in the header.
 *
 * The wait that is under way stands in the Java thread's own record, for a virtual thread may get
 * another carrier meanwhile. A thread's holder and both contexts are those of the wait's begin.
 *
 * begin and end are called on the thread that waits. Nothing here locks, blocks or logs, or
 * allocates memory outside the ledger.
 */
#ifndef TREADLE_LOCK_BLOCKS_H
#define TREADLE_LOCK_BLOCKS_H

#include "native/ledger/ledger.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_BLOCKS_SLOTS 8192u
#define LOCK_BLOCKS_FINE  4096u /* blocks with a lock of their own, at most */
#define LOCK_BLOCKS_MOST  6144u
#define LOCK_STATES       8192u

/* What is known of a lock while somebody waits for it. */
struct lock_state {
    _Atomic uint64_t lock; /* class and identity; 0: free. Never changes once it is set */
    _Atomic uint32_t waiting;
    _Atomic uint64_t since_ns; /* when a wait for it was over last, or when the first one began */
};

/* Zero the struct and set the ledger to begin. acquired: which block counts a Lock's acquisitions,
 * identity << 32 | its ref; 0: free. An entry never changes once it is set. */
struct lock_blocks {
    struct ledger *ledger;
    _Atomic(ledger_ref) slots[LOCK_BLOCKS_SLOTS];
    _Atomic uint32_t count;
    struct lock_state states[LOCK_STATES];
    _Atomic uint64_t acquired[LOCK_STATES];
};

/* In place of the block of a wait for which there is none. It is no ref of any record, for it lies
 * in the header. */
#define LOCK_BLOCKS_NONE ((ledger_ref)1)

/* The same of a wait that was not heard, so that nothing but its begin is known. */
#define LOCK_BLOCKS_UNHEARD ((ledger_ref)2)

/* True if the wait under way, by the `block` of its thread, has a block. */
static inline bool lock_blocks__is_block(ledger_ref block)
{
    return block > LOCK_BLOCKS_UNHEARD;
}

struct lock_identity {
    enum ledger_block_kind kind;
    ledger_ref class_name; /* string, or none */
    uint32_t identity;
};

/* A thread and the node where it stands; thread 0: not known. */
struct lock_place {
    ledger_ref thread;
    ledger_ref node;
};

/* The thread at `waiter` begins to wait at now_ns. A wait that is under way already is lost. */
void lock_blocks__begin(struct lock_blocks *blocks, const struct lock_identity *lock,
                        struct lock_place waiter, struct lock_place holder, uint64_t now_ns);

/* The wait is over. False: none was under way. A wait that began before from_ns, when profiling was
 * started last, is lost. */
bool lock_blocks__end(struct lock_blocks *blocks, ledger_ref waiter, uint64_t from_ns,
                      uint64_t now_ns);

/* Of a wait for a lock that is not heard: only that the thread of that record is in one since
 * now_ns. Nothing is counted, and an end without its begin does nothing. */
static inline void lock_blocks__begin_unheard(struct ledger_thread *waiter, uint64_t now_ns)
{
    ledger_ref before = __atomic_load_n(&waiter->block, __ATOMIC_RELAXED);

    if (before && before != LOCK_BLOCKS_UNHEARD)
        return;
    __atomic_store_n(&waiter->blocked_ns, now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&waiter->block, LOCK_BLOCKS_UNHEARD, __ATOMIC_RELEASE);
}

static inline void lock_blocks__end_unheard(struct ledger_thread *waiter)
{
    if (__atomic_load_n(&waiter->block, __ATOMIC_RELAXED) == LOCK_BLOCKS_UNHEARD)
        __atomic_store_n(&waiter->block, 0, __ATOMIC_RELAXED);
}

/* Of the wait that the thread is in: its lock's owner had acquired the lock `depth` times when the
 * wait began; 0: not known. And its block counts the acquisitions of the lock of that identity from
 * now on, unless another block does. */
void lock_blocks__note_depth(struct lock_blocks *blocks, ledger_ref waiter, uint32_t depth);
void lock_blocks__count_acquisitions(struct lock_blocks *blocks, ledger_ref waiter,
                                     uint32_t identity);

/* Any thread has acquired the lock of that identity, and had not acquired it before. Not counted
 * where no block is for it. */
void lock_blocks__acquired(struct lock_blocks *blocks, uint32_t identity);

/* The class (string) of the lock of that identity, if its acquisitions are counted; or none. */
ledger_ref lock_blocks__class_of(struct lock_blocks *blocks, uint32_t identity);

/* The thread has held the lock from since_ns until now_ns. kind: BLOCK_HELD_…. */
void lock_blocks__held(struct lock_blocks *blocks, const struct lock_identity *lock,
                       struct lock_place holder, uint64_t since_ns, uint64_t now_ns);

/* Profiling stops: what was waited until now is added to the blocks of all waits under way. Once no
 * more events count. */
void lock_blocks__settle(struct lock_blocks *blocks, uint64_t now_ns);

#endif
