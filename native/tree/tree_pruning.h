/*
 * Pruning: where there is no room for another node, the coldest contexts of the thread's own tree
 * are folded into `(folded)`, a child of a node that they lie below, and their nodes are used
 * again. There, each method has one node, with the sums of the method's calls, times and metrics in
 * them; so no total changes. What has much in it stays below the next node above that is not cold,
 * as long as few nodes of the tree are used for that; all else is below the root. A context that is
 * entered again grows anew. Which contexts hold most of the weight is so found in a stream, in
 * small space, as in [D. C. D'Elia, C. Demetrescu, I. Finocchi: Mining Hot Calling Contexts in
 * Small Space, PLDI 2011], with a clock's hand in place of a summary: it goes around the tree,
 * children before parents, and folds what consumed less than a limit, which is raised when too few
 * nodes were freed. In one round a context is folded once at most, so what one that has no node can
 * have had is the sum of the rounds' limits: folded_bound_ns. Where no node is left and the hand
 * meets nothing cold for long, it folds the coldest that it met, which counts in place of the
 * round's limit.
 *
 * Leaves only are folded, and none that a frame stands at. Each is moved in one step, see
 * node_move.h; what was sampled below it is moved before, a frame at a time.
 *
 * By the tree's writer, in an event that finds no room; a bounded number of looks. Their time is
 * charged to the thread's root, since a context that was charged with it would look warm. Nothing
 * here allocates memory but in the ledger, locks or blocks.
 */
#ifndef TREADLE_TREE_PRUNING_H
#define TREADLE_TREE_PRUNING_H

#include "native/tree/call_tree.h"

#include <stdbool.h>

/* Wall time counts for less: what waits is not slow. */
#define PRUNING_WALL_FACTOR 16u

/* A call counts for so much at least, whatever it took: hooks that only count know no time. */
#define PRUNING_CALL_NS 16u

/* Are there fewer free nodes than a tree's writer keeps for when the hand meets nothing cold, or
 * nothing may be folded for a moment; or, if its tree is large, none for other threads and for
 * samples? */
bool tree_pruning__is_wanted(const struct call_tree *tree);

/* False: nothing was folded. */
bool tree_pruning__make_room(struct call_tree *tree);

#endif
