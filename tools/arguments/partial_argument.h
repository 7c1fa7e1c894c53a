/*
 * Ledgers whose end is cut off: what every command that reads one does about it. It says what is
 * missing, shows the rest, and fails, unless --partial says that this is known.
 */
#ifndef TREADLE_PARTIAL_ARGUMENT_H
#define TREADLE_PARTIAL_ARGUMENT_H

#include "native/ledger/ledger_reader.h"

#include <argp.h>
#include <stdbool.h>

/* --partial: for the `children` of a command's argp; the input is the bool that it sets. */
extern const struct argp partial_argument;

/* The ledger's reader, to be closed; NULL after a line that says why not, and *judged is
 * EXIT_BAD_INPUT if the ledger is not whole and that is not `allowed`. */
struct ledger_reader *partial_argument__read(const char *path, bool allowed, int *judged);

/* EXIT_FINE of a ledger that is whole, or after a line that says what is missing; EXIT_BAD_INPUT
 * after that line unless `allowed`. What the command then does goes on as ever. */
int partial_argument__judge(const struct ledger_reader *reader, const char *path, bool allowed);

/* The same of one that was read: its header, and how much of its file is there and is not. */
int partial_argument__judge_bytes(const struct ledger_header *header, uint64_t present_bytes,
                                  uint64_t missing_bytes, const char *path, bool allowed);

/* The status of a command that did its part with `status`, and whose ledger was judged. */
static inline int partial_argument__status(int status, int judged)
{
    return status ? status : judged;
}

#endif
