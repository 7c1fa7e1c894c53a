/*
 * What happened between two moments of one ledger, as a report: a later reading less an earlier
 * one.
 */
#ifndef TREADLE_REPORT_SINCE_H
#define TREADLE_REPORT_SINCE_H

#include "tools/report/report_model.h"

/* True if both are readings of one ledger, and `before` is not the later one. */
bool report_since__can_be(const struct report_model *before, const struct report_model *model);

/* Takes off `model` what `before` has: in threads, contexts, the process's totals, losses and
 * samples. Contexts in which nothing happened are gone from its trees; threads that were over are
 * not selected any more. Both must have been loaded with the same columns; `before` is used up,
 * and only to be freed. */
void report_since__subtract(struct report_model *model, struct report_model *before);

#endif
