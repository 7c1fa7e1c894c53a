/*
 * Readings of one ledger at several moments: where the nodes of an earlier one stand in the last
 * one, and what each node used up between two moments.
 *
 * Call trees only grow, but threads that end may be folded into their group, whose tree then has
 * what theirs had: an earlier one's nodes are taken to stand there already. A node without a
 * counterpart is charged to its nearest ancestor that has one.
 */
#ifndef TREADLE_REPORT_MOMENTS_H
#define TREADLE_REPORT_MOMENTS_H

#include "tools/report/report_model.h"

/* The last reading, made ready to find the nodes of the others. */
struct report_moments;

/* `last` must outlive it. Release with report_moments__free. */
struct report_moments *report_moments__new(const struct report_model *last);
void report_moments__free(struct report_moments *moments);

/* By node of the earlier reading: its node in the last one, or REPORT_NONE. *left_out grows by its
 * threads that have none. Release with free. */
uint32_t *report_moments__find(const struct report_moments *moments,
                               const struct report_model *earlier, uint64_t *left_out);

/* Adds the earlier reading's values to those of the nodes that they stand for. */
void report_moments__add(uint64_t *values, const uint32_t *node_of,
                         const struct report_model *earlier, enum report_column column);

/* What each node of the last reading used up from one moment to the next: never below 0, and each
 * subtree's sum is what it grew by, or 0 if it shrank. A node shrinks where samples have moved a
 * part of it to the frames below it: these then get less, for they had it before. */
void report_moments__grow(const struct report_model *last, const uint64_t *before,
                          const uint64_t *after, uint64_t *growth);

#endif
