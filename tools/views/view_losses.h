/*
 * What is lost, shown where nobody can overlook it: above every view, in every format.
 */
#ifndef TREADLE_VIEW_LOSSES_H
#define TREADLE_VIEW_LOSSES_H

#include "tools/views/view.h"

#include <jansson.h>

/* Writes a line a loss, with an empty line below; nothing if nothing is lost. `of` names the ledger
 * where there are two. */
void view_losses__text(const struct screen *screen, const struct report_model *model,
                       const char *of);

/* Adds two members, none if nothing is lost: `losses`, [{"what","count","meaning"}], and, for a
 * ledger whose end is cut off, `partial`. */
void view_losses__add_to(json_t *object, const struct report_model *model);

/* The value of `partial`: {"present_bytes","missing_bytes"}. */
json_t *view_losses__partial_json(uint64_t present_bytes, uint64_t missing_bytes);

/* Writes the two members into a JSON object that is open, with a comma before them. */
void view_losses__add_json(const struct view *view);

/* CSV has no place for losses. A ledger whose end is cut off gets a last line "# partial: ..."; all
 * other losses are one line on standard error, with the ledger's path. */
void view_losses__csv(FILE *out, const struct report_model *model, const char *path);

/* Collapsed stacks have no place for losses either. A ledger whose end is cut off gets a stack of
 * one frame with `values`, "0" or "0 0"; all other losses are the same line on standard error. */
void view_losses__collapsed(FILE *out, const struct report_model *model, const char *path,
                            const char *values);

#endif
