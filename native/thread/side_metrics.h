/*
 * Metrics of a node besides CPU and wall time: they stand in the node's side record, which is made
 * when the first of them is not zero. Called by the writer of the node's tree; nothing here locks,
 * blocks or logs, or allocates memory outside the ledger.
 */
#ifndef TREADLE_SIDE_METRICS_H
#define TREADLE_SIDE_METRICS_H

#include "native/thread/kernel_thread.h"

#include <stdint.h>

/* Adds to a metric of a node of the thread's tree. Without room for a side record, the value goes
 * to the method's node below `(folded)`; without room for that one, it is counted as dropped. */
void side_metrics__add(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                       struct ledger_node *node, unsigned metric, uint64_t delta);

/* Takes back from a metric of a node, but no more than the node has. Returns how much. */
uint64_t side_metrics__take_back(struct kernel_thread *kernel_thread,
                                 const struct ledger_node *node, unsigned metric, uint64_t delta);

#endif
