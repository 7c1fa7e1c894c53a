/*
 * Calls for which there is no room for a node of their context. Each is counted and charged in the
 * node of its method below `(folded)`, a child of its thread's root. So the calls and base metrics
 * of every method are right, however much room the tree has. A part of max-mem is reserved for
 * these nodes, for threads that begin late, and for everything that is not a calling context.
 *
 * While such calls are open, the cursor's current node is the node of the youngest of them. The
 * thread's own record remembers the nodes of the older ones, and the node in which the first of
 * them was called; a virtual thread thus takes them along.
 *
 * Called by the writer of the thread's tree. Nothing here locks or blocks, or allocates memory
 * outside the ledger.
 */
#ifndef TREADLE_FOLDED_CALLS_H
#define TREADLE_FOLDED_CALLS_H

#include "native/tree/call_tree.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds or makes `(folded)` below the thread's root, and the node of a method below `(folded)`.
 * None: there is no room even for these. */
ledger_ref folded_calls__top(struct call_tree *tree, struct ledger_thread *thread);
ledger_ref folded_calls__node(struct call_tree *tree, struct ledger_thread *thread,
                              ledger_ref method, uint64_t key);

/* Begins a call without room for a node, while `depth` older ones are open. The call is charged to
 * the given node, or to its caller if there is none. False: there was no room to remember the call,
 * so it is charged to its caller. */
bool folded_calls__begin(struct call_tree *tree, uint64_t depth, ledger_ref node);

/* True if an open call is charged to that node. */
bool folded_calls__has(const struct call_tree *tree, ledger_ref node);

/* Ends the youngest `count` of `depth` open calls. */
void folded_calls__end(struct call_tree *tree, uint64_t depth, uint64_t count);

/* Ends all open calls, or the thread. */
void folded_calls__forget(struct record_pool *pool, struct ledger_thread *thread);

#endif
