/*
 * Readings of one ledger at several moments: which node of the last reading each node of an earlier
 * one is, and what each node used between two moments.
 *
 * Call trees only grow, but threads that end may be folded into their group, whose tree then has
 * what their trees had: their nodes in an earlier reading count as nodes of that tree. A node
 * without a counterpart is charged to its nearest ancestor that has one.
 */
#ifndef TREADLE_REPORT_MOMENTS_H
#define TREADLE_REPORT_MOMENTS_H

#include "tools/report/report_model.h"

/* The last reading, made ready to find the nodes of the others. */
struct report_moments;

/* `last` must outlive it. Release with report_moments__free. */
struct report_moments *report_moments__new(const struct report_model *last);
void report_moments__free(struct report_moments *moments);

/* Returns, by node of the earlier reading, the node in the last one, or REPORT_NONE. Adds the
 * number of the earlier reading's threads that the last one lacks to *left_out. Release with free.
 */
uint32_t *report_moments__find(const struct report_moments *moments,
                               const struct report_model *earlier, uint64_t *left_out);

/* Adds the earlier reading's values to those of the nodes that they stand for. */
void report_moments__add(uint64_t *values, const uint32_t *node_of,
                         const struct report_model *earlier, enum report_column column);

/* What each node of the last reading used up from one moment to the next: never below 0, and each
 * subtree's sum is what it grew by, or 0 if it shrank. A node shrinks where later
 * samples gave a part of its time to the frames below it; these then get less, since the node had
 * that part before. */
void report_moments__grow(const struct report_model *last, const uint64_t *before,
                          const uint64_t *after, uint64_t *growth);

#endif
