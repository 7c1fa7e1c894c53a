/*
 * Samples in the call trees: the frames that a sample met hang under the exact node that was
 * current, merged from the bottom up along equal frames, with a count at the top frame.
 *
 * One writer for all sampled nodes and places of a ledger, the profiler's own thread, but for the
 * trees of threads that are over and folded. Nothing here locks or blocks; memory is the ledger's.
 */
#ifndef TREADLE_SAMPLE_TREE_H
#define TREADLE_SAMPLE_TREE_H

#include "native/ledger/record_pool.h"

#include <stdbool.h>
#include <stdint.h>

/* The sampled child of a node, exact or sampled: found or made, with no sample counted. method: of
 * NODE_KERNEL none. self: it stands for the exact parent itself. None if the ledger is full. */
ledger_ref sample_tree__child(struct record_pool *pool, ledger_ref parent,
                              enum ledger_node_kind kind, ledger_ref method, bool self);

/* Is the node one of the thread's tree? It may be another's, where one thread just follows another
 * on a kernel thread; and its record may be used again. No, too, if it has more than so many
 * parents, each of which may be a line of memory that is not in the caches. Async-signal-safe. */
bool sample_tree__is_of(const struct ledger *ledger, const struct ledger_node *node,
                        const struct ledger_thread *thread, uint64_t parents_max);

/* What a place is of, and where in it. */
struct sample_place {
    ledger_ref owner;  /* a method or a code */
    ledger_ref *first; /* … and where its places are linked */
    uint64_t offset;
    int32_t bci;
    ledger_ref method;
};

/* Counts a sample at a place, made if need be. False: the ledger is full. */
bool sample_tree__count_place(struct ledger *ledger, const struct sample_place *place, bool wall);

static inline void sample_tree__add(uint64_t *counter, uint64_t more)
{
    __atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

/* Adds all that was sampled below a node of one thread to that of another: what there is no room
 * for is counted as dropped. */
void sample_tree__add_all(struct record_pool *pool, ledger_ref from, ledger_ref to);

/* Frees all that was sampled below a node. */
void sample_tree__free_all(struct record_pool *pool, ledger_ref node);

#endif
