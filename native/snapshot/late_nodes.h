/*
 * Nodes that a copy of a live ledger has not, though it has links to them: they were made while it
 * was copied, of records that had been given back, and so may lie before the nodes that lead to
 * them. In the copy such a record is nothing, and what a list has behind it could not be found. A
 * link is published after its node is filled in, so the node can be read again.
 *
 * Each is taken as it is now, without what is below it: that came later than the copy was begun.
 */
#ifndef TREADLE_LATE_NODES_H
#define TREADLE_LATE_NODES_H

#include "native/ledger/ledger.h"

/* Into an adopted copy; nothing else may have been read from its trees before. 0 or -errno. */
int late_nodes__read(struct ledger *copy, int source_fd);

#endif
