/*
 * What is lost, where nobody can overlook it: above every view, in every format.
 */
#ifndef TREADLE_VIEW_LOSSES_H
#define TREADLE_VIEW_LOSSES_H

#include "tools/views/view.h"

#include <jansson.h>

/* A line a loss, with an empty line below; nothing if nothing is lost. `of` says of which ledger,
 * where there are two. */
void view_losses__text(const struct screen *screen, const struct report_model *model,
                       const char *of);

/* Two members, none if nothing is lost: `losses`, [{"what","count","meaning"}], and `partial`, of a
 * ledger that is not whole. */
void view_losses__add_to(json_t *object, const struct report_model *model);

/* The latter's value: {"present_bytes","missing_bytes"}. */
json_t *view_losses__partial_json(uint64_t present_bytes, uint64_t missing_bytes);

/* The same, written into an object that is open, with a comma before them. */
void view_losses__add_json(const struct view *view);

/* CSV has no place for it but a line of its own, the last: "# partial: ...", only of a ledger that
 * is not whole. Whatever else is lost is one line on standard error, with the ledger's path. */
void view_losses__csv(FILE *out, const struct report_model *model, const char *path);

/* Nor have collapsed stacks: a stack of one frame that has nothing, `values`, "0" or "0 0", and the
 * same line on standard error. */
void view_losses__collapsed(FILE *out, const struct report_model *model, const char *path,
                            const char *values);

#endif
