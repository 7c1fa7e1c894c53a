/*
 * One move of a leaf of a call tree: what was counted at it goes to another node, or it goes below
 * another one itself. Each move is atomic for a reader after a kill: the
 * thread's record says what is being moved before the move begins, and the reader finishes the
 * move in its copy (native/ledger/unfinished_moves.h). The stores are made in the order that they
 * are written in; nobody but a kill comes in between, since copies of a live ledger are made
 * between moves, see ledger__begin_folding.
 *
 * For the tree's writer. Nothing here locks or blocks.
 */
#ifndef TREADLE_NODE_MOVE_H
#define TREADLE_NODE_MOVE_H

#include "native/tree/call_tree.h"

#include <stdbool.h>

/* The leaf's numbers are added to those of `to`, and the leaf is given back. `before` is the
 * sibling before it, if that is still so, or none. False: it stays as it is; there is no room, or
 * the link to it would take too long to find. */
bool node_move__join(struct call_tree *tree, ledger_ref from_ref, ledger_ref to_ref,
                     ledger_ref before);

/* All that was sampled below the leaf goes below `to`, a frame at a time, and each frame is given
 * back. So many frames at most, counted as looks of the hand. False: some are left; they are too
 * many, or there is no room. While nobody merges samples. */
bool node_move__samples(struct call_tree *tree, ledger_ref from_ref, ledger_ref to_ref);

/* The leaf itself goes below a (folded), where its method has no node yet. False: as above. */
bool node_move__relink(struct call_tree *tree, ledger_ref ref, ledger_ref folded,
                       ledger_ref before);

/* Gives back a leaf that has nothing to move. False: as above. */
bool node_move__drop(struct call_tree *tree, ledger_ref ref, ledger_ref before);

#endif
