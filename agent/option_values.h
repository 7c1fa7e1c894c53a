/*
 * The options of the agent that take a value, and how each value is read. Only agent/options.c,
 * which reads the whole text, needs this.
 */
#ifndef TREADLE_OPTION_VALUES_H
#define TREADLE_OPTION_VALUES_H

#include "agent/options.h"

#define OPTION_VALUES 26u

/* What is said of a bad value. */
struct value_refusal {
    char nearest[128];  /* what was probably meant; "": nobody can tell */
    char expected[256]; /* what is taken */
    char message[512];  /* instead of both, when the value itself is as it should be */
};

/* Reads one option's value. 0, or -errno: *refusal then says why. */
typedef int read_value(struct agent_options *options, const char *value,
                       struct value_refusal *refusal);

struct option_value {
    const char *name;
    read_value *read;
};

extern const struct option_value option_values[OPTION_VALUES];

/* Adds one more metric, or group of them. */
read_value option_value__read_metrics;

/* The name of a metric or group of them that is nearest to the word. */
const char *option_value__nearest_metric(const char *word);

#endif
