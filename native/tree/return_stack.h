/*
 * The return stack of folded frames. A folded frame's node is not a child of its caller's node, so
 * the frame has a return here: the caller's node, and the number of unfolded frames between this
 * folded frame and the older one before it. The caller of an unfolded frame is its node's parent.
 * Equal returns in sequence form one run, so direct recursion of any depth takes two runs, and so
 * does mutual recursion.
 *
 * The runs are in notes of the ledger, five in one note. A struct ledger_returns says where the
 * stack ends; its owner owns the notes. The record of a virtual thread owns them while the thread
 * is not mounted. Called by the writer of the thread's tree. Nothing here locks or blocks.
 */
#ifndef TREADLE_RETURN_STACK_H
#define TREADLE_RETURN_STACK_H

#include "native/ledger/record_pool.h"

#include <stdbool.h>
#include <stdint.h>

static inline bool return_stack__is_empty(const struct ledger_returns *returns)
{
    return returns->top == 0;
}

/* The current frame calls a frame that is folded. False: the ledger is full, and nothing was done.
 */
bool return_stack__push(struct record_pool *pool, struct ledger_returns *returns, ledger_ref from);

/* The newest frame, a folded one, is left. Returns its caller's node. */
ledger_ref return_stack__pop(struct record_pool *pool, struct ledger_returns *returns);

/* Like pop, but only reads: changes a copy of `returns`, and the stack stays as it is. */
ledger_ref return_stack__look_below(const struct ledger *ledger, struct ledger_returns *copy);

/* Frees all notes. */
void return_stack__clear(struct record_pool *pool, struct ledger_returns *returns);

#endif
