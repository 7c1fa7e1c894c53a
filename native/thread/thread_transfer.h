/*
 * An ended thread is added to its group: the tree, a node at a time, and the thread's own numbers.
 * Each number is transferred by itself (native/ledger/number_transfer.h), so a kill leaves every
 * number in one of the two rows. Nothing here locks or blocks, or allocates memory outside the
 * ledger.
 */
#ifndef TREADLE_THREAD_TRANSFER_H
#define TREADLE_THREAD_TRANSFER_H

#include "native/tree/call_tree.h"

#include <stdbool.h>

/* Adds the thread `from` to the group `to` and frees the records of `from`. Both records must be
 * complete. No copy of the ledger is made meanwhile, see ledger__begin_folding. False: `from` keeps
 * its row, because there is no room or a copy is being made. */
bool thread_transfer__run(struct call_tree *tree, ledger_ref from, ledger_ref to);

#endif
