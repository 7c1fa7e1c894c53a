/*
 * Where folded frames go back to. A frame whose node is not a child of its caller's has a return
 * here: the caller's node, and how many frames between it and the next folded one are not folded,
 * whose callers are their nodes' parents. Equal returns one after the other are one run, so direct
 * recursion of any depth takes two runs, and so does mutual recursion.
 *
 * The runs stand in notes of the ledger, five in one. A struct ledger_returns says where the stack
 * ends; whoever has it owns the notes, and a virtual thread's record has it while the thread is not
 * mounted. Nothing here locks or blocks.
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

/* The current frame calls one that is folded. False: the ledger is full, and nothing is done. */
bool return_stack__push(struct record_pool *pool, struct ledger_returns *returns, ledger_ref from);

/* The newest frame is a folded one, and is left: its caller's node. */
ledger_ref return_stack__pop(struct record_pool *pool, struct ledger_returns *returns);

/* The same in a copy of `returns`, to look on: the stack stays as it is. */
ledger_ref return_stack__look_below(const struct ledger *ledger, struct ledger_returns *copy);

/* Gives all notes back. */
void return_stack__clear(struct record_pool *pool, struct ledger_returns *returns);

#endif
