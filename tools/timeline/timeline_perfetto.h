/*
 * A timeline as a trace for Perfetto: below the process a track a thread, with waits, calls and
 * pauses; below each of them one with its runs; and a track a processor. Times are those of
 * CLOCK_MONOTONIC. An arrow leads from an instant of the thread that let go to one of the thread
 * that goes on.
 */
#ifndef TREADLE_TIMELINE_PERFETTO_H
#define TREADLE_TIMELINE_PERFETTO_H

#include "tools/timeline/timeline_model.h"

#include <stdio.h>

/* 0 or -errno; errors of the stream are left to ferror(). */
int timeline_perfetto__write(const struct timeline_model *model, FILE *out);

#endif
