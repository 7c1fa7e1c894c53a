/*
 * Calls that find no room for a node of their context. Each is counted and charged in the node of
 * its method below `(folded)`, a child of its thread's root: so the calls and base metrics of every
 * method are right, whatever the tree has room for. A part of max-mem is reserved for these nodes,
 * for threads that begin late, and for what else is not a calling context.
 *
 * While such calls run, the cursor's current node is that of the youngest one. The older ones, and
 * the node where the first of them was called, are remembered in the thread's own record: they go
 * along where a virtual thread does.
 *
 * By whoever writes the thread's tree. Nothing here allocates memory but in the ledger, locks or
 * blocks.
 */
#ifndef TREADLE_FOLDED_CALLS_H
#define TREADLE_FOLDED_CALLS_H

#include "native/tree/call_tree.h"

#include <stdbool.h>
#include <stdint.h>

/* `(folded)` below the thread's root, and the node of a method below that: found or made. None:
 * there is no room even for that. */
ledger_ref folded_calls__top(struct call_tree *tree, struct ledger_thread *thread);
ledger_ref folded_calls__node(struct call_tree *tree, struct ledger_thread *thread,
                              ledger_ref method, uint64_t key);

/* A call begins that finds no room; so many others, older ones, run already. It is charged to the
 * node, or with none to its caller. False: there was no room to remember it, so it is charged to
 * its caller. */
bool folded_calls__begin(struct call_tree *tree, uint64_t depth, ledger_ref node);

/* Of so many that run the youngest are over. */
void folded_calls__end(struct call_tree *tree, uint64_t depth, uint64_t count);

/* All that run are over, or the thread itself is. */
void folded_calls__forget(struct record_pool *pool, struct ledger_thread *thread);

#endif
