/*
 * What is wrong with the use of locks: deadlocks that last, pairs of locks that threads took in
 * both orders, priority inversions and convoys.
 *
 * - A deadlock is what the agent found (struct ledger_stuck) and has not seen end.
 * - A pair of locks is one that a thread took in one order and another thread in the other, both
 *   without a common lock that they held before (struct ledger_order). What was seen when nothing
 *   was known of Locks does not count where the same was seen later, with all Locks known.
 * - A priority inversion is a thread that waited for a thread with a lower Java priority:
 *   INVERSION_LEAST_NS or more in one wait.
 * - A convoy is a lock that CONVOY_THREADS threads or more waited for CONVOY_WAITS times or more,
 *   that somebody waited for during CONVOY_PERCENT of the time or more, with CONVOY_QUEUE threads
 *   or more waiting at a time, while no turn took longer than CONVOY_TURN_NS in the mean.
 */
#ifndef TREADLE_REPORT_HAZARDS_H
#define TREADLE_REPORT_HAZARDS_H

#include "native/ledger/ledger_format.h"
#include "tools/report/lock_path.h"
#include "tools/report/report_blocks.h"
#include "tools/report/text.h"

#include <stdbool.h>
#include <stdint.h>

#define INVERSION_LEAST_NS 10000000u
#define CONVOY_THREADS     3u
#define CONVOY_WAITS       1000u
#define CONVOY_PERCENT     50u
#define CONVOY_QUEUE       2u
#define CONVOY_TURN_NS     1000000u

struct report_model;

struct hazard_lock {
    struct text class_name; /* length 0: not known */
    uint32_t identity;      /* 0: not known */
    enum ledger_block_kind kind;
};

/* Names of methods, the innermost first. */
struct hazard_path {
    struct text frames[HAZARD_FRAMES];
    uint32_t count;
};

struct report_stuck {
    uint64_t process; /* of a merge */
    uint64_t deadlock;
    uint64_t since_ns; /* 0: not known */
    uint64_t found_ns;
    uint64_t ended_ns; /* 0: it lasts */
    uint64_t java_id;
    uint32_t position;
    uint32_t threads;
    bool is_timed;
    bool is_virtual;
    bool is_behind; /* the next thread does not have the lock: it waits ahead of this one */
    struct text thread;
    struct hazard_lock lock;
    struct hazard_path path;
};

struct report_order {
    uint64_t process;
    uint64_t first_ns;
    uint64_t count;
    uint64_t thread_id;
    struct text thread;
    struct hazard_lock locks[2]; /* held, and taken then */
    struct hazard_lock gates[ORDER_GATES];
    uint32_t gate_count;
    bool are_read[ORDER_GATES]; /* these gates keep no other reader out */
    bool knows_locks;           /* all Locks that it held are among the gates */
    uint32_t held_frame;        /* index in the path; >= path.count: not known */
    struct hazard_path path;
};

struct hazard_deadlock {
    const struct report_stuck *parts; /* in the order in which they wait for each other */
    uint32_t count;
    uint64_t since_ns; /* the last wait began; 0: not known */
    bool is_timed;     /* one of the waits has an end of its own */
};

struct hazard_pair {
    const struct report_order *orders[2];
    bool is_sure; /* no Lock guards both, as far as is known who held Locks */
};

struct hazard_inversion {
    const struct report_block *block;
};

struct hazard_convoy {
    struct hazard_lock lock;
    uint32_t threads;
    uint64_t waits;
    uint64_t wait_ns;
    uint64_t hold_ns;
    struct lock_path waiter; /* where it was waited for longest */
    struct lock_path holder; /* where it was held longest meanwhile; not known: is_known false */
};

struct report_hazards {
    struct hazard_deadlock *deadlocks;
    struct hazard_pair *pairs;
    struct hazard_inversion *inversions;
    struct hazard_convoy *convoys;
    uint32_t deadlock_count;
    uint32_t pair_count;
    uint32_t inversion_count;
    uint32_t convoy_count;
    uint32_t ended; /* deadlocks that are over */
};

struct report_hazards *report_hazards__new(const struct report_model *model);
void report_hazards__free(struct report_hazards *hazards);

/* True if there is a deadlock that does not end by itself, or a pair of locks in both orders. */
bool report_hazards__are_bad(const struct report_hazards *hazards);

#endif
