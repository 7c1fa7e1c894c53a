/* What a timeline has and lacks, in a few lines for people. */
#ifndef TREADLE_TIMELINE_TEXT_H
#define TREADLE_TIMELINE_TEXT_H

#include "tools/timeline/timeline_model.h"

#include <stdio.h>

/* The two parts, and both. */
void timeline_text__write_contents(const struct timeline_model *model, FILE *out);
void timeline_text__write_losses(const struct timeline_model *model, FILE *out);
void timeline_text__write(const struct timeline_model *model, FILE *out);

/* Records of switches, and events of the agent, for which there was no room. */
uint64_t timeline_text__lost_switches(const struct timeline_model *model);
uint64_t timeline_text__lost_events(const struct timeline_model *model);

#endif
