/*
 * The options --since and --until: two moments of one process, each a snapshot of it.
 */
#ifndef TREADLE_SINCE_ARGUMENT_H
#define TREADLE_SINCE_ARGUMENT_H

#include "tools/report/report_model.h"

#include <argp.h>

/* The two options: for the `children` of a command's argp; the input is a struct since_options. */
extern const struct argp since_argument;

struct since_options {
    const char
        *since; /* a snapshot, or a time: "12:30", "12:30:05", "-30s", "-5m", "-2h"; or NULL */
    const char *until; /* ditto */
};

/* Finds the snapshots that --until and --since name: `path` becomes that of --until, `since` that
 * of --since. Without the option the value stays as it is. 0, or the exit status after a line.
 * Both values are to be freed. If the end of the ledger of --since is cut off, a line says so, and
 * *judged is EXIT_BAD_INPUT unless `partial` allows the loss. */
int since_argument__resolve(const struct since_options *given, char **path, char **since,
                            bool partial, int *judged);

/* Checks that since_argument__subtract can work on the two ledgers: 0, or the exit status after a
 * line. */
int since_argument__check(const char *path, const char *since);

/* Subtracts the ledger in `since` from `model`, the model of the ledger in `path` with these
 * columns: what happened between the two is left. 0, or the exit status after a line. */
int since_argument__subtract(struct report_model *model, const char *path, const char *since,
                             uint64_t columns);

#endif
