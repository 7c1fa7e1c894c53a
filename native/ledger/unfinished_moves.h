/*
 * Moves of nodes that a kill, or the making of a copy, came in between. The thread's record says
 * what is being moved (struct ledger_move), and native/tree/node_move.h in which order.
 */
#ifndef TREADLE_UNFINISHED_MOVES_H
#define TREADLE_UNFINISHED_MOVES_H

#include "native/ledger/ledger_gate.h"

#include <stdint.h>

/* In a private copy of a ledger: what was being moved stands in one place only. How many were. */
uint64_t unfinished_moves__finish(struct ledger_gate *gate);

#endif
