/*
 * The arguments by which a command selects one ledger, or several: [FILE|PID], --since, --until and
 * --partial.
 */
#ifndef TREADLE_LEDGER_SELECTION_H
#define TREADLE_LEDGER_SELECTION_H

#include "tools/arguments/since_argument.h"

#include <argp.h>
#include <stdbool.h>

#define LEDGERS_MORE 63u

struct ledger_selection {
    const char *given; /* FILE or PID, or NULL: the newest here */
    struct since_options moments;
    bool partial;
    bool may_have_more;             /* set before: several FILEs or PIDs are taken */
    const char *more[LEDGERS_MORE]; /* given behind the first one */
    size_t more_count;
    /* from ledger_selection__resolve on */
    char *path;  /* of the ledger */
    char *since; /* of the earlier snapshot, which is subtracted, or NULL */
    int judged;  /* EXIT_BAD_INPUT: the end of a ledger is cut off, without --partial */
};

/* For the `children` of a command's argp; the input is a struct ledger_selection. */
extern const struct argp ledger_selection;

/* Finds the files. 0, or the exit status after a line. */
int ledger_selection__resolve(struct ledger_selection *selection);

/* The ledger's reader, to be closed; NULL after a line. */
struct ledger_reader *ledger_selection__read(struct ledger_selection *selection);

/* The same of one of `more`; *path becomes its path, to be freed. */
struct ledger_reader *ledger_selection__read_more(struct ledger_selection *selection, size_t index,
                                                  char **path);

/* Frees the paths. Returns the exit status of the command, whose own part ended with `status`. */
int ledger_selection__finish(struct ledger_selection *selection, int status);

#endif
