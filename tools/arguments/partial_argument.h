/*
 * Ledgers whose end is cut off. Every command that reads such a ledger says what is missing, shows
 * the rest, and fails, unless --partial allows the loss.
 */
#ifndef TREADLE_PARTIAL_ARGUMENT_H
#define TREADLE_PARTIAL_ARGUMENT_H

#include "native/ledger/ledger_reader.h"

#include <argp.h>
#include <stdbool.h>

/* --partial: for the `children` of a command's argp; the input is the bool that it sets. */
extern const struct argp partial_argument;

/* Returns the ledger's reader, to be closed; NULL after a line with the reason. *judged becomes
 * EXIT_BAD_INPUT if the ledger is not whole and that is not `allowed`. */
struct ledger_reader *partial_argument__read(const char *path, bool allowed, int *judged);

/* Returns EXIT_FINE for a whole ledger. For another one, writes a line that says what is missing,
 * and returns EXIT_FINE if that is `allowed`, else EXIT_BAD_INPUT. The command does its part in
 * either case. */
int partial_argument__judge(const struct ledger_reader *reader, const char *path, bool allowed);

/* The same for a ledger that was read already: its header, the bytes of its file that are present,
 * and those that are missing. */
int partial_argument__judge_bytes(const struct ledger_header *header, uint64_t present_bytes,
                                  uint64_t missing_bytes, const char *path, bool allowed);

/* The exit status of a command: `status` is that of its own part, `judged` that of the ledger. */
static inline int partial_argument__status(int status, int judged)
{
    return status ? status : judged;
}

#endif
