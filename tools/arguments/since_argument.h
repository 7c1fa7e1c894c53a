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
    const char *since; /* a snapshot, or a time as since_argument__find has it; or NULL */
    const char *until; /* ditto */
};

/* The path of the snapshot that is meant, to be freed; NULL after a line that says why there is
 * none. `given` is a file; or a time, "12:30", "12:30:05", of the day on which the ledger in `path`
 * was taken or the one before; or "-30s", "-5m", "-2h" before that one. Of a time it is the last
 * snapshot up to then of the same process, in the ledger's folder or the working folder. */
char *since_argument__find(const char *option, const char *given, const char *path);

/* What the command was given: `path` becomes the snapshot of --until, `since` that of --since; what
 * was not given stays as it is. 0, or the exit status after a line. Both are to be freed. If the
 * end of --since's is cut off that is told, and *judged is EXIT_BAD_INPUT unless `partial` allows
 * it. */
int since_argument__resolve(const struct since_options *given, char **path, char **since,
                            bool partial, int *judged);

/* Whether since_argument__subtract can do that: 0, or the exit status after a line. */
int since_argument__check(const char *path, const char *since);

/* What the ledger in `path` has of the time since the one in `since`, with that one's taken off
 * (`model` is of the former, with these columns). 0, or the exit status after a line. */
int since_argument__subtract(struct report_model *model, const char *path, const char *since,
                             uint64_t columns);

#endif
