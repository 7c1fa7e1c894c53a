/*
 * Nodes that a copy of a live ledger lacks although the copy has links to them. Such a node was
 * made while the copy was made, from a freed record, so it may lie before the nodes that link to
 * it. In the copy the record is still empty, and the rest of a list behind it would be lost. A link
 * is published after its node is filled in, so the node can be read again from the live ledger.
 *
 * Each node is taken as it is now, without its children, which were made after the copy was begun.
 * Not for hooks.
 */
#ifndef TREADLE_LATE_NODES_H
#define TREADLE_LATE_NODES_H

#include "native/ledger/ledger.h"

/* Adds late nodes to an adopted copy, before anything else has been read from the copy's trees. 0
 * or -errno. */
int late_nodes__read(struct ledger *copy, int source_fd);

#endif
