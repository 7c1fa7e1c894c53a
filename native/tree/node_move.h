/*
 * One move of a leaf of a call tree: its numbers are added to those of another node, or the leaf
 * itself is linked below another node. Each move is atomic for a reader after a kill: the thread's
 * record says what is being moved before the move begins, and the reader finishes the move in its
 * copy (native/ledger/unfinished_moves.h). The stores are made in the order that they are written
 * in. Only a kill can come in between, since copies of a live ledger are made between moves, see
 * ledger__begin_folding.
 *
 * For the tree's writer. Nothing here locks or blocks, or allocates memory outside the ledger.
 */
#ifndef TREADLE_NODE_MOVE_H
#define TREADLE_NODE_MOVE_H

#include "native/tree/call_tree.h"

#include <stdbool.h>

/* Adds the leaf's numbers to those of `to` and frees the leaf. `before` is a hint: the sibling
 * before the leaf, or none. False: the leaf stays as it is, because there is no room, or because
 * the link to the leaf would take too long to find. */
bool node_move__join(struct call_tree *tree, ledger_ref from_ref, ledger_ref to_ref,
                     ledger_ref before);

/* Moves the sampled frames below the leaf to below `to`, a frame at a time, and frees them. A call
 * takes a bounded number of steps, which count as looks of the hand. False: some frames are left,
 * because they are too many or there is no room. To be called only while no samples are merged. */
bool node_move__samples(struct call_tree *tree, ledger_ref from_ref, ledger_ref to_ref);

/* Links the leaf itself below a (folded) in which its method has no node yet. False: the leaf stays
 * as it is, because the link to it would take too long to find. */
bool node_move__relink(struct call_tree *tree, ledger_ref ref, ledger_ref folded,
                       ledger_ref before);

/* Frees a leaf that has no numbers. False: as for relink. */
bool node_move__drop(struct call_tree *tree, ledger_ref ref, ledger_ref before);

#endif
