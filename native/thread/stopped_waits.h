/*
 * METRIC_SAFEPOINT: what the host stopped its threads for, inferred from the host's stopped time.
 * What that has grown by is charged as far as it fits into a wait without a reason that ends, or
 * into the longest one of the last few milliseconds, for the host may tell of a stop when its
 * threads run again.
 *
 * The host counts a stop until it has set all of its threads going. Where they preempt the thread
 * that does that, this takes milliseconds, in which they run or are ready to run. So the kernel's
 * run queue delay is read after stops that are long enough, and what the other waits since the last
 * reading have no room for is taken back: the time in which a thread was ready to run is no stop.
 *
 * Called on the thread that waits. Nothing here locks, blocks or logs, or allocates memory outside
 * the ledger.
 */
#ifndef TREADLE_STOPPED_WAITS_H
#define TREADLE_STOPPED_WAITS_H

#include "native/thread/kernel_thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a wait of the thread without a reason that is over, charged to the node. The host tells of
 * stops. */
void stopped_waits__charge(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                           struct ledger_node *node, uint64_t waited_ns);

/* The thread waited so much for something else; a negative amount: less than was said, maybe before
 * the run queue delay was read last. */
static inline void stopped_waits__add_other(struct kernel_thread *kernel_thread, int64_t waited_ns)
{
    int64_t *rest_ns = &kernel_thread->stops.unread.rest_ns;

    if (waited_ns > 0)
        *rest_ns += waited_ns;
    else if (*rest_ns > 0)
        *rest_ns = *rest_ns + waited_ns > 0 ? *rest_ns + waited_ns : 0;
}

/* True if enough was charged that the kernel's run queue delay is worth a reading. */
bool stopped_waits__are_unread(const struct kernel_thread *kernel_thread);

/* The kernel was asked for how long the thread was ready to run and did not, since it was asked
 * last. */
void stopped_waits__read(struct kernel_thread *kernel_thread, uint64_t delay_ns);

/* Stops of the host until now are no part of the kernel thread's next wait. */
void stopped_waits__pass(struct kernel_thread *kernel_thread);

#endif
