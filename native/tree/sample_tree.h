/*
 * Samples in the call trees: the frames of a sample hang under the exact node that was current,
 * merged from the bottom up along equal frames, with a count at the top frame.
 *
 * The profiler's own thread is the only writer of sampled nodes and places, except in trees of
 * ended and folded threads. Nothing here locks or blocks; memory comes from the ledger.
 */
#ifndef TREADLE_SAMPLE_TREE_H
#define TREADLE_SAMPLE_TREE_H

#include "native/ledger/number_transfer.h"
#include "native/ledger/record_pool.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds or makes the sampled child of an exact or sampled node, without counting a sample. method:
 * none for NODE_KERNEL. self: the child stands for the exact parent itself. None if the ledger is
 * full. */
ledger_ref sample_tree__child(struct record_pool *pool, ledger_ref parent,
                              enum ledger_node_kind kind, ledger_ref method, bool self);

/* True if the node is in the thread's tree. The node may be in another thread's tree when one
 * thread has just followed another on a kernel thread, and the node's record may have been reused.
 * Also false if the node has more than parents_max ancestors, since each may cost a cache miss.
 * Async-signal-safe. */
bool sample_tree__is_of(const struct ledger *ledger, const struct ledger_node *node,
                        const struct ledger_thread *thread, uint64_t parents_max);

/* What a place belongs to, and where in it the place is. */
struct sample_place {
    ledger_ref owner;  /* a method or a code */
    ledger_ref *first; /* the owner's list of places */
    uint64_t offset;
    int32_t bci;
    ledger_ref method;
};

/* Counts a sample at a place, which is made if need be. False: the ledger is full. */
bool sample_tree__count_place(struct ledger *ledger, const struct sample_place *place, bool wall);

/* Adds to a counter that only the calling thread writes. */
static inline void sample_tree__add(uint64_t *counter, uint64_t more)
{
    __atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

/* Transfers all samples below a node of one thread to a node of another thread; `note` is the other
 * thread's. Samples without room are counted as dropped. */
void sample_tree__add_all(struct record_pool *pool, struct ledger_transfer *note, ledger_ref from,
                          ledger_ref to);

/* Frees all sampled nodes below a node. */
void sample_tree__free_all(struct record_pool *pool, ledger_ref node);

#endif
