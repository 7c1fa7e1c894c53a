/*
 * The end of every view of a ledger with samples: how the samples were taken and what became of
 * them. Views of ledgers without samples do not have it.
 */
#ifndef TREADLE_VIEW_SAMPLES_H
#define TREADLE_VIEW_SAMPLES_H

#include "tools/views/view.h"

#include <jansson.h>

/* A paragraph, with an empty line above. */
void view_samples__text(const struct view *view);

/* The object `samples` of `balance`. */
json_t *view_samples__json(const struct report_model *model);

/* Writes a member `balance`, which has only `samples`, and what was lost (view_losses.h), and
 * closes the JSON object of the view. */
void view_samples__end_json(const struct view *view);

#endif
