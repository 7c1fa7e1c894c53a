/*
 * Values of options that several subcommands have. An invalid value ends the program with one line
 * that names the nearest valid value, as argp's own complaints do.
 */
#ifndef TREADLE_OPTION_VALUES_H
#define TREADLE_OPTION_VALUES_H

#include "tools/report/report_model.h"

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

/* Says that the given value is no valid `what` and lists the valid values; ends the program. */
_Noreturn void option_value__refuse(struct argp_state *state, const char *what, const char *given,
                                    const char *const *valid, size_t count);

/* Returns the index of the given value among `count` valid ones. */
size_t option_value__among(struct argp_state *state, const char *what, const char *given,
                           const char *const *valid, size_t count);

/* A whole number, at least `least`. `option` is what it is called: "--top". */
uint32_t option_value__number(const char *option, const char *text, uint32_t least,
                              struct argp_state *state);

/* The column of --metric. */
enum report_column option_value__metric(const char *name, struct argp_state *state);

/* Lists the names that --metric takes; returns their number, COLUMN_COUNT at most. */
size_t option_value__metric_names(const char *names[]);

/* Whether the ledger at `path` has that column for threads, or for contexts: EXIT_FINE, or
 * EXIT_BAD_INPUT after a line that says why not. */
int option_value__check_metric(enum report_column column, const struct ledger_header *header,
                               bool of_threads, const char *path);

#endif
