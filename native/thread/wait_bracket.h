/*
 * Why a Java thread waits: the host brackets waits whose reason it knows. Between begin and end,
 * what is charged to the thread as waiting goes to the metric of the reason, too: to the side
 * record of the node that it is charged to, and to the thread's totals. So the metrics of a node
 * add up to no more than the node's wait_ns, to the nanosecond by which the two clocks differ.
 *
 * The reason stands in the Java thread's own record, for a virtual thread may get another carrier
 * in its wait; and where time is charged, not what it was charged for at the begin, decides where
 * it goes, for the position of a thread may be corrected meanwhile. Where profiling is stopped
 * during a wait, the reason has the time until the stop; after the next start it has what place
 * says.
 *
 * A begin charges what came before. That of a wait for I/O does not where the thread has run all
 * the time since the kernel's clock was read last: most I/O is over at once, and then nothing is
 * charged at all. If the thread does wait, the reason has no more than the time from begin to end.
 * What more the next charge finds is CPU time that was charged too much before the begin.
 *
 * Where a thread waits for no reason that is known, two are inferred. What the host stopped its
 * threads for meanwhile is METRIC_SAFEPOINT (native/thread/stopped_waits.h), and the time in which
 * a virtual thread was not mounted is METRIC_UNMOUNTED.
 *
 * A wait may also be timed only, at the price of two readings of the clock: reason and time are
 * noted, and are charged with what the thread waited until its next charge. The time is then that
 * from begin to end, with the little CPU time in between.
 *
 * Called on the thread that waits, but for place. Nothing here locks, blocks or logs, or allocates
 * memory outside the ledger.
 */
#ifndef TREADLE_WAIT_BRACKET_H
#define TREADLE_WAIT_BRACKET_H

#include "native/thread/kernel_thread.h"

#include <stdbool.h>
#include <stdint.h>

/* reason: one of LEDGER_WAIT_METRICS. Of nested brackets the outermost one counts. An end without
 * its begin does nothing; so does either of them while events do not count. */
void wait_bracket__begin(struct kernel_thread *kernel_thread, enum ledger_metric reason);
void wait_bracket__end(struct kernel_thread *kernel_thread, enum ledger_metric reason);

/* Like begin, for a wait that is timed only: its end is wait_bracket__end, too. False: it is not
 * timed, because the thread is a virtual one or carries one, or waits already, or its events do not
 * count. */
bool wait_bracket__begin_timed(struct kernel_thread *kernel_thread, enum ledger_metric reason);

/* True if the wait under way is timed only. */
bool wait_bracket__is_timed(const struct kernel_thread *kernel_thread);

/* The thread was placed (kernel_thread__place) in a wait that is under way, and has had no event
 * since: the wait ends at its first event. 0: it does not wait, or the reason is not known. From
 * any thread; waits for a start or end of a Java thread on the kernel thread. */
void wait_bracket__place(struct kernel_thread *kernel_thread, uint32_t epoch, unsigned reason);

/* To be called where the wait_ns of a node of the thread's tree has grown by so much (a negative
 * amount: it has shrunk). */
void wait_bracket__charge(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                          struct ledger_node *node, int64_t waited_ns);

/* The same for a virtual thread that was not mounted. */
void wait_bracket__charge_unmounted(struct kernel_thread *carrier, struct ledger_thread *thread,
                                    struct ledger_node *node, uint64_t waited_ns);

/* Adds to the metric of that reason, of the thread and of the node; a negative amount takes back
 * what the node has of it. */
void wait_bracket__add(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                       struct ledger_node *node, unsigned reason, int64_t waited_ns);

/* To be called where the thread is over, or where the end of its wait may have been missed, once
 * what it has waited for is charged. */
static inline void wait_bracket__forget(struct ledger_thread *thread)
{
    __atomic_store_n(&thread->wait_reason, 0, __ATOMIC_RELAXED);
}

#endif
