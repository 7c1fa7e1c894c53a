/* The ledger's format: who waited for whom, and for which lock. See ledger_format.h. */
#ifndef TREADLE_LEDGER_BLOCKS_H
#define TREADLE_LEDGER_BLOCKS_H

#include "native/ledger/ledger_chunk.h"

#include <stdint.h>

enum ledger_block_kind {
    BLOCK_MONITOR = 1, /* the entry of a monitor */
    BLOCK_PARK = 2,    /* a park with a blocker: the lock is the blocker */
    /* No waits but holds: `waiter` is the thread that held the lock, its path is where it gave the
     * lock back, and the numbers of waits are those of holds. There is no holder. */
    BLOCK_HELD_MONITOR = 3,
    BLOCK_HELD_PARK = 4,
    BLOCK_NATIVE = 5, /* a lock of the C library in native code */
    BLOCK_HELD_NATIVE = 6,
};

#define BLOCK_FRAMES  8u
#define BLOCK_BUCKETS 32u

/*
 * The waits of one thread for one lock, in one calling context, while one thread held the lock in
 * one calling context. Written by the thread that waits; by several threads, with atomic additions,
 * where `identity` is 0.
 *
 * Strings and methods in it are never reused for others, so a block is true as long as the ledger,
 * whatever becomes of the threads and of their nodes.
 */
struct ledger_block {
    uint64_t key;          /* of what the waits have in common; 0: the record is not filled in */
    ledger_ref class_name; /* string, the lock's class; none: not known */
    uint32_t identity;     /* the lock's identity hash; 0: any locks of the class, and any threads
                              whose names differ in digits only */
    uint32_t kind;         /* enum ledger_block_kind */
    ledger_ref waiter;     /* string, the thread's name */
    ledger_ref holder;     /* ditto, of the owner when the wait began; none: not known */
    uint32_t depth_max; /* how often the owner had acquired the lock when a wait began, at most; 0:
                           not known of any wait */
    uint64_t waiter_id; /* java_id; 0 where identity is 0 */
    uint64_t holder_id; /* ditto */
    ledger_ref waiter_path[BLOCK_FRAMES]; /* methods, the innermost first; then none */
    ledger_ref holder_path[BLOCK_FRAMES]; /* ditto, when the wait began */
    uint64_t count;                       /* waits that are over */
    uint64_t wait_ns;
    uint64_t wait_max_ns;
    uint64_t
        hold_ns; /* the part of the wait in which no other wait for the lock was over: the sum
                    over all blocks of a lock is the time in which anyone waited for the lock */
    uint64_t hold_max_ns;          /* the longest such part */
    uint32_t waits[BLOCK_BUCKETS]; /* of `count`: [n] of less than 2^n µs, and not in [n - 1] */
    uint32_t waiter_priority;      /* Java priorities when the block was made; 0: not known, or
                                      not one thread */
    uint32_t holder_priority;
    uint64_t acquisitions; /* of this lock, by any thread, nested ones not counted, as far as hooks
                              saw them; they stand in one block of the lock. 0: not known */
    uint32_t reserved_end[6];
};

_Static_assert(sizeof(struct ledger_block) % LEDGER_CELL_BYTES == 0, "whole cells");

#endif
