/*
 * A thread's tree laid out along one metric. Each node is a range; its children's ranges lie side
 * by side within the node's range from its begin on, and the rest at its end is the node's own
 * base. A ledger has totals and no time line, so the order is that of the tree and not that of the
 * calls; but formats of events in time can show it.
 */
#ifndef TREADLE_ICICLE_H
#define TREADLE_ICICLE_H

#include "tools/report/report_model.h"

/* Positions never go down and are at most INT64_MAX, also where the sums of a damaged ledger do
 * not fit. Nodes are closed in the reverse of the order in which they were opened. */
struct icicle_events {
    void (*open)(void *context, uint32_t node, uint64_t at);
    void (*close)(void *context, uint32_t node, uint64_t at);
    void *context;
};

/* Lays out the root, and all other nodes whose cum is not 0. Returns the root's end. */
uint64_t icicle__lay_out(const struct report_model *model, uint32_t thread,
                         enum report_column column, const struct icicle_events *events);

#endif
