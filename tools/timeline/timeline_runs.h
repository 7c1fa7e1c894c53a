/*
 * Runs of threads on processors, made from switches. A run is known by both of its ends, the
 * thread's get and its leave of one processor; on a processor, and of a thread, there is one at a
 * time, whatever the switches say.
 */
#ifndef TREADLE_TIMELINE_RUNS_H
#define TREADLE_TIMELINE_RUNS_H

#include "tools/timeline/timeline_model.h"

/* Sorts the store's switches, and adds their runs, and tracks for threads that have none. */
void timeline_runs__add(struct timeline_model *model, struct timeline_store *store);

#endif
