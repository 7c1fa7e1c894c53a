/*
 * Keeps the cost of waits with a reason (agent/threads/thread_waits.h) within a part of overhead=:
 * up to four times a second what the waits cost is taken off what the budget leaves for them. When
 * that is used up, no new wait is heard in full until enough is saved again. So a program that
 * waits too often has locks and exact times of its waits for a part of the time, in turns. Its
 * other waits are counted, and those of platform threads are timed (wait_bracket__begin_timed),
 * within half of that part, in turns as well.
 *
 * Waits for locks tell more than others, and a program may have few of them beside many others: a
 * part beside that one is theirs, of which so many are heard while the others are not. That a park
 * is one for a lock shows in a look at what it waits for, which is paid from that part, too.
 *
 * Holds of locks (agent/threads/lock_holds.h) have a smaller part of their own: when that is used
 * up they are not heard until it is paid back.
 *
 * For the housekeeping thread.
 */
#ifndef TREADLE_WAIT_BUDGET_H
#define TREADLE_WAIT_BUDGET_H

#include "native/host/own_cost.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct wait_budget {
    /* set before the JVM runs Java */
    const struct own_cost *own_cost;
    const struct ledger *ledger;
    const struct ledger_time *time;
    _Atomic bool *heard;          /* waits are heard in full; set by this budget */
    _Atomic bool *timed;          /* those that are not are timed; ditto */
    _Atomic uint32_t *lock_waits; /* so many waits for locks are heard even if others are not; … */
    _Atomic uint32_t *lock_looks;  /* … and so many parks are looked at for that; ditto */
    _Atomic uint32_t *holds_round; /* odd: holds of locks are heard; ditto */

    uint64_t looked_ns;
    uint64_t cpu_ns; /* of the process, as looked at last; and the next two as well */
    uint64_t heard_waits;
    uint64_t unheard_waits;
    uint64_t wrapped_ends; /* of these, those in calls that are wrapped: begins and ends */
    uint64_t timed_waits;
    uint64_t waits;        /* between the last two looks */
    double timed_ns;       /* what timing cost between them */
    double timed_saved_ns; /* of the part that timing has; negative: more was used */
    double saved_ns;       /* of the budget; negative: more was used */
    uint32_t lock_waits_given;
    uint32_t lock_looks_given;
    uint64_t lock_waits_taken; /* that are not among heard_waits yet */
    double locks_saved_ns;     /* of the part that waits for locks have; negative: more was used */
    uint64_t hold_ends;
    double holds_saved_ns; /* of the part of the budget that holds have; negative: more was used */
};

/* Does nothing within a quarter of a second of the last time. */
void wait_budget__look(struct wait_budget *budget);

#endif
