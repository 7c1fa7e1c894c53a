/*
 * Settling a copy of a live ledger: what every running thread has consumed since its last event is
 * charged to the thread's current node, so that all rows together are the process at this moment.
 */
#ifndef TREADLE_SETTLE_H
#define TREADLE_SETTLE_H

#include "native/ledger/ledger.h"

/* Settles and closes `copy`. The copy's process must be running and may be the calling process. The
 * copy was made while threads ran: a node that was being linked is skipped. Not for hooks. 0, or
 * -ESRCH if the process is gone. */
int ledger__settle(struct ledger *copy);

#endif
