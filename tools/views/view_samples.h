/*
 * What every view of a ledger with samples ends with: how they were taken, what became of them.
 * Ledgers without samples have none of it.
 */
#ifndef TREADLE_VIEW_SAMPLES_H
#define TREADLE_VIEW_SAMPLES_H

#include "tools/views/view.h"

#include <jansson.h>

/* A paragraph, with an empty line above. */
void view_samples__text(const struct view *view);

/* The object `samples` of `balance`. */
json_t *view_samples__json(const struct report_model *model);

/* Closes the object that a view's JSON is, after a member `balance` with nothing but samples, and
 * what was lost (view_losses.h). */
void view_samples__end_json(const struct view *view);

#endif
