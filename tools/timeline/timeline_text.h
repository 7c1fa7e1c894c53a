/* What a timeline has and lacks, in a few lines for people. */
#ifndef TREADLE_TIMELINE_TEXT_H
#define TREADLE_TIMELINE_TEXT_H

#include "tools/timeline/timeline_model.h"

#include <stdio.h>

void timeline_text__write(const struct timeline_model *model, FILE *out);

#endif
