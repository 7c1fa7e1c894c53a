/*
 * Timelines that are asked for while the agent runs (timeline=SIZE), or with its start: one at a
 * time, in a file beside the ledger (native/timeline/timeline.h). It ends when it is asked to
 * (timeline=off), when its time is over, or with the JVM.
 *
 * begin and end: under attach_lock, or before the JVM runs Java.
 */
#ifndef TREADLE_TIMELINE_REQUEST_H
#define TREADLE_TIMELINE_REQUEST_H

#include "agent/options.h"

#include <stdbool.h>

struct agent;

/* 0 or -errno after a line. */
int timeline_request__begin(struct agent *agent, const struct agent_options *request);
int timeline_request__end(struct agent *agent);

/* What the options ask for: to begin or to end. */
int timeline_request__answer(struct agent *agent, const struct agent_options *request);

/* Ends a timeline whose time is over. For the housekeeping thread. */
void timeline_request__look(struct agent *agent);

/* Ends the timeline with the JVM, if one runs. */
void timeline_request__end_with_jvm(struct agent *agent);

/* A pause of the collector begins; is over. */
void timeline_request__pause_begins(struct agent *agent);
void timeline_request__pause_ended(struct agent *agent);

#endif
