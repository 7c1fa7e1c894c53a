/*
 * Keeps the cost of waits with a reason (agent/threads/thread_waits.h) within a part of overhead=:
 * four times a second what the program's waits cost, or would cost, is compared with what the
 * budget leaves for them. If that is too much, no new wait gets a reason until the rate of waits
 * has fallen. The waits are counted meanwhile.
 *
 * For the housekeeping thread.
 */
#ifndef TREADLE_WAIT_BUDGET_H
#define TREADLE_WAIT_BUDGET_H

#include "agent/host/own_cost.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct wait_budget {
    /* set before the JVM runs Java */
    const struct own_cost *own_cost;
    const struct ledger *ledger;
    const struct ledger_time *time;
    _Atomic bool *heard; /* waits get reasons; set by this budget */

    uint64_t looked_ns;
    uint64_t cpu_ns; /* of the process, as looked at last; and the waits as well */
    uint64_t waits;
    unsigned quiet; /* looks in a row at which the waits would have found room */
};

/* Does nothing within a quarter of a second of the last time. */
void wait_budget__look(struct wait_budget *budget);

#endif
