/*
 * An interval as JSON: durations in ns, times in ns since the epoch, integers only; one line each.
 */
#ifndef TREADLE_TOP_JSON_H
#define TREADLE_TOP_JSON_H

#include "tools/top/top_lines.h"

#include <stdio.h>

/* The rows of the view in its order, with the hot path of the first. */
void top_json__write(FILE *out, const struct top_view *view);

#endif
