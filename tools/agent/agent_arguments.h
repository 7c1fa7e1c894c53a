/*
 * The agent's options on a command line: tables for the `children` of a command's argp. The input
 * of each is the `struct agent_options *` that they are added to.
 */
#ifndef TREADLE_AGENT_ARGUMENTS_H
#define TREADLE_AGENT_ARGUMENTS_H

#include "tools/agent/agent_options.h"

#include <argp.h>

extern const struct argp agent_arguments__methods; /* what may change at each start */
extern const struct argp agent_arguments__ledger;  /* what is fixed once there is a ledger */
extern const struct argp agent_arguments__any;     /* --option only */

/* Adds an option that a command parses itself. An invalid value ends the program: bad usage. */
void agent_arguments__add(struct agent_options *options, struct argp_state *state, const char *key,
                          const char *value);

#endif
