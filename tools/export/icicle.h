/*
 * A thread's tree laid out along one metric: each node from where it begins to where it ends, its
 * children side by side within it from its begin on, its own base what they leave free at its end.
 *
 * A ledger has totals and no time line, so this is the order of the tree and not of the calls; but
 * formats of events in time can show it.
 */
#ifndef TREADLE_ICICLE_H
#define TREADLE_ICICLE_H

#include "tools/report/report_model.h"

/* Positions never go down and are at most INT64_MAX, also where a damaged ledger's sums do not fit;
 * what opens is closed in reverse. */
struct icicle_events {
    void (*open)(void *context, uint32_t node, uint64_t at);
    void (*close)(void *context, uint32_t node, uint64_t at);
    void *context;
};

/* The root always, other nodes if their cum is not 0. Returns the root's end. */
uint64_t icicle__lay_out(const struct report_model *model, uint32_t thread,
                         enum report_column column, const struct icicle_events *events);

#endif
