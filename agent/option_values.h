/*
 * The options of the agent that take a value, and how each value is read. Only agent/options.c,
 * which reads the whole text, needs this.
 */
#ifndef TREADLE_OPTION_VALUES_H
#define TREADLE_OPTION_VALUES_H

#include "agent/options.h"
#include "native/options/option_value.h"

#define OPTION_VALUES 26u

/* Reads one option's value. 0, or -errno: *refusal then says why. */
typedef int read_value(struct agent_options *options, const char *value,
                       struct value_refusal *refusal);

struct option_value {
    const char *name;
    read_value *read;
};

extern const struct option_value option_values[OPTION_VALUES];

/* Adds one more metric, or group of them. */
read_value option_values__read_metrics;

#endif
