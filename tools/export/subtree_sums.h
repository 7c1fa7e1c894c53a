/*
 * Sums of what stands below a method, by method: the base of every node that has the method above
 * itself or is a node of the method, each node once. A query over few nodes is fast; over a
 * million nodes it is not. So a method with more than SUBTREE_NODES nodes below it is called wide,
 * and its sums are made when the export is written. All wide methods together take as many steps
 * as all nodes have different methods above them.
 */
#ifndef TREADLE_SUBTREE_SUMS_H
#define TREADLE_SUBTREE_SUMS_H

#include "tools/report/report_errors.h"

#define SUBTREE_NODES 10000u

struct subtree_sums;

/* Over the threads that are selected. The model must outlive the sums. */
struct subtree_sums *subtree_sums__new(const struct report_model *model, const bool *selected);
void subtree_sums__free(struct subtree_sums *sums);

bool subtree_sums__is_wide(const struct subtree_sums *sums, uint32_t method);

/* Returns the methods in the subtrees of `top`, in the order of the tree; valid until the next
 * call, as the values are. */
const uint32_t *subtree_sums__methods(struct subtree_sums *sums, uint32_t top, uint32_t *count);

/* Returns what one of these methods consumed there itself, at most UINT64_MAX. */
uint64_t subtree_sums__base(const struct subtree_sums *sums, uint32_t method,
                            enum report_column column);

/* Returns how far that value may be off (tools/report/report_errors.h), for a column of
 * report_error_columns with known errors. */
uint64_t subtree_sums__error(const struct subtree_sums *sums, uint32_t method, size_t column);

#endif
