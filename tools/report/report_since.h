/*
 * What happened between two moments of one ledger, as a report: a later reading less an earlier
 * one.
 */
#ifndef TREADLE_REPORT_SINCE_H
#define TREADLE_REPORT_SINCE_H

#include "tools/report/report_model.h"

/* True if both are readings of one ledger, and `before` is not the later one. */
bool report_since__can_be(const struct report_model *before, const struct report_model *model);

/* Subtracts `before` from `model`: threads, contexts, the process's totals, losses and samples.
 * Contexts in which nothing happened leave the trees; threads that had ended before are not
 * selected any more. Both must have been loaded with the same columns. `before` is changed and can
 * only be freed afterwards. */
void report_since__subtract(struct report_model *model, struct report_model *before);

#endif
