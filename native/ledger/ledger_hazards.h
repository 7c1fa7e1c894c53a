/* The ledger's format: what is wrong with the use of locks. See ledger_format.h. */
#ifndef TREADLE_LEDGER_HAZARDS_H
#define TREADLE_LEDGER_HAZARDS_H

#include "native/ledger/ledger_chunk.h"

#include <stdint.h>

#define HAZARD_FRAMES 16u
#define ORDER_GATES   4u

enum ledger_stuck_flag {
    STUCK_TIMED = 1u << 0,   /* the wait has an end of its own, as tryLock(timeout) */
    STUCK_VIRTUAL = 1u << 1, /* a virtual thread */
    STUCK_BEHIND = 1u << 2,  /* it waits for its turn behind the thread at the next position, which
                                waits for the same lock */
};

/*
 * One thread of a deadlock. It waits for a lock that the thread at the next position holds, or
 * waits for itself; the last one waits for the first, a single one for itself. Written by the agent
 * alone; strings are never reused for others.
 */
struct ledger_stuck {
    uint64_t deadlock; /* the same number in all records of one deadlock; 0: not filled in */
    uint64_t since_ns; /* when the wait began; 0: not known */
    uint64_t found_ns;
    uint64_t ended_ns; /* when it was seen that the deadlock was over; 0: it lasts */
    uint64_t java_id;
    ledger_ref thread;     /* string, its name */
    ledger_ref class_name; /* string, the class of the lock that it waits for; none: not known */
    uint32_t identity;     /* the lock's identity hash; 0: not known */
    uint32_t kind;         /* enum ledger_block_kind */
    uint32_t position;     /* in the deadlock, from 0 */
    uint32_t threads;      /* of the deadlock */
    uint32_t flags;        /* enum ledger_stuck_flag */
    uint32_t process;      /* in a merge: the number of its input, from 1 */
    ledger_ref path[HAZARD_FRAMES]; /* strings, "app.Main.run", the innermost first; then none */
    uint32_t reserved_end[14];
};

enum ledger_order_flag {
    ORDER_LOCKS_KNOWN = 1u << 0, /* the Locks that the thread held are among the gates */
    ORDER_READ_GATE = 1u << 1,   /* the first gate is read, which keeps no other reader out; shifted
                                    left by i: the i-th one after it */
};

/* One thread took a lock while it held another one: that order was seen. */
struct ledger_order {
    uint64_t key; /* of both locks, the gates and the thread; 0: not filled in */
    uint64_t first_ns;
    uint64_t count; /* how often that was seen, of the times that anyone looked */
    uint64_t thread_id;
    ledger_ref thread;        /* string, its name */
    ledger_ref class_name[2]; /* strings: of the lock that it held, and of the one it took then */
    uint32_t identity[2];
    uint32_t kind[2];                   /* enum ledger_block_kind */
    ledger_ref gate_class[ORDER_GATES]; /* strings: of locks that it held before both */
    uint32_t gate[ORDER_GATES];         /* their identities; then 0 */
    uint32_t held_frame;                /* index in `path` of the frame that took the first lock, or
                                           HAZARD_FRAMES if the path does not reach it */
    ledger_ref path[HAZARD_FRAMES]; /* strings; from the frame that took the second lock outwards */
    uint32_t process;               /* in a merge: the number of its input, from 1 */
    uint32_t flags;                 /* enum ledger_order_flag */
    uint32_t reserved_end[6];
};

_Static_assert(sizeof(struct ledger_stuck) % LEDGER_CELL_BYTES == 0, "whole cells");
_Static_assert(sizeof(struct ledger_order) % LEDGER_CELL_BYTES == 0, "whole cells");

#endif
