/*
 * Pruning: where there is no room for another node, the coldest contexts of the thread's own tree
 * are folded, and their nodes are used again. A context is folded into the node of its method below
 * a `(folded)`, which is a child of a node that the context lies below. So the sums of each
 * method's calls, times and metrics stay the same. A cold context with at least a quarter of the
 * limit goes below its nearest ancestor that is not cold, as long as few nodes of the tree are used
 * for that. All other contexts go below the root, where each method has one node for all of them. A
 * context that is entered again grows anew.
 *
 * The contexts with most of the weight are found in a stream and in small space, as in [D. C.
 * D'Elia, C. Demetrescu, I. Finocchi: Mining Hot Calling Contexts in Small Space, PLDI 2011], with
 * a clock's hand in place of a summary. The hand goes around the tree, children before parents, and
 * folds each leaf that consumed less than a limit. A round that frees too few nodes raises the
 * limit. A round folds a context once at most, so a context without a node can have consumed no
 * more than the sum of the rounds' limits: folded_bound_ns. Where no node is free and the hand
 * meets nothing cold for long, it folds the coldest leaf that it met. The CPU time of that leaf
 * then counts in place of the round's limit.
 *
 * Only leaves are folded, and none at which a frame stands. Each leaf is moved in one step, see
 * node_move.h. The samples below a leaf are moved before it, a frame at a time.
 *
 * Called by the tree's writer, in an event that finds no room. A call looks at a bounded number of
 * nodes. Its time is charged to the thread's root: a context that was charged with it would look
 * warm. Nothing here locks or blocks, or allocates memory outside the ledger.
 */
#ifndef TREADLE_TREE_PRUNING_H
#define TREADLE_TREE_PRUNING_H

#include "native/tree/call_tree.h"

#include <stdbool.h>

/* Wall time counts for one part in so many: a context that waits is not hot. */
#define PRUNING_WALL_FACTOR 16u

/* A call counts for so much CPU time at least: hooks that only count know no time. */
#define PRUNING_CALL_NS 16u

/* True if the tree's writer has fewer free nodes than it keeps for the moments in which the hand
 * meets nothing cold or nothing may be folded. If the tree is large: also true if no free nodes are
 * left for other threads and for samples. */
bool tree_pruning__is_wanted(const struct call_tree *tree);

/* Folds some of the coldest contexts. False: no node became free. */
bool tree_pruning__make_room(struct call_tree *tree);

#endif
