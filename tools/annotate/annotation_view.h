/*
 * Annotations for people and for programs.
 */
#ifndef TREADLE_ANNOTATION_VIEW_H
#define TREADLE_ANNOTATION_VIEW_H

#include "tools/annotate/annotation.h"
#include "tools/output/text_table.h"

#include <jansson.h>

void annotation_view__text(const struct annotation *annotation, const struct report_model *model,
                           const struct screen *screen);
json_t *annotation_view__json(const struct annotation *annotation,
                              const struct report_model *model);

#endif
