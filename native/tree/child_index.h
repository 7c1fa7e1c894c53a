/*
 * The children of a node, by method: a trie over the hash of their keys, sixteen ways a step [P.
 * Bagwell: Ideal Hash Trees, 2001]. So one child of ten thousand is found in four steps, one of a
 * million in five. Each step is a note in the ledger that never moves, so no call waits while a
 * table grows.
 *
 * A node has an index from CHILDREN_WALKED children on; a shorter list is walked faster. The
 * index's ref stands in the node's side record. Readers follow the list of children. The index is
 * private to the writer of the tree and may be out of date: a child that the index leads to is
 * checked before it is used, and if the index found no room for some children, the list is walked.
 *
 * Called by the tree's writer. Nothing here locks or blocks, or allocates memory outside the
 * ledger.
 */
#ifndef TREADLE_CHILD_INDEX_H
#define TREADLE_CHILD_INDEX_H

#include "native/ledger/record_pool.h"

#include <stdbool.h>
#include <stdint.h>

#define CHILDREN_WALKED 8u

/* True if the ref is that of a node's child for that key. The record may have been reused. */
static inline bool child_index__is_child(const struct ledger *ledger, ledger_ref ref,
                                         ledger_ref parent, uint64_t key)
{
    const struct ledger_node *node = ledger__at(ledger, ref);

    return ref && node->parent == parent && node->key == key &&
           ledger_node__kind(node) == (key == LEDGER_FOLDED_KEY ? NODE_FOLDED : NODE_EXACT);
}

/* Finds the child of a node for a key, by index or list; none: there is none. */
ledger_ref child_index__find(struct record_pool *pool, ledger_ref parent, uint64_t key);

/* Adds a child that was just linked. A child for which the index has no room is found in the list.
 */
void child_index__add(struct record_pool *pool, ledger_ref parent, ledger_ref child);

#endif
