/*
 * Moves that were interrupted by a kill or by the making of a copy. The thread's record says what
 * was being moved: a node (struct ledger_move; native/tree/node_move.h gives the order of the
 * steps), or a number of an ended thread (struct ledger_transfer; number_transfer.h).
 */
#ifndef TREADLE_UNFINISHED_MOVES_H
#define TREADLE_UNFINISHED_MOVES_H

#include "native/ledger/ledger_gate.h"

#include <stdint.h>

/* In a private copy of a ledger: finishes every move that was under way, so that each number is
 * counted once. Returns how many there were. */
uint64_t unfinished_moves__finish(struct ledger_gate *gate);

#endif
