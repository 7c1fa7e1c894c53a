/*
 * The argument [FILE|PID] of commands that look at a ledger.
 */
#ifndef TREADLE_LEDGER_ARGUMENT_H
#define TREADLE_LEDGER_ARGUMENT_H

#include <stdbool.h>

/* A number is a process. */
bool ledger_argument__is_pid(const char *given);

/* Returns the path of the ledger that `given` names, to be freed: a file, a process's own ledger,
 * or for NULL the newest *.ledger in the working folder. NULL after a line that says why there is
 * none. */
char *ledger_argument__path(const char *given);

#endif
