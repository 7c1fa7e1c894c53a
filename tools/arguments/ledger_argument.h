/*
 * The argument [FILE|PID] of commands that look at a ledger.
 */
#ifndef TREADLE_LEDGER_ARGUMENT_H
#define TREADLE_LEDGER_ARGUMENT_H

#include <stdbool.h>
#include <sys/types.h>

/* A number is a process. */
bool ledger_argument__is_pid(const char *given);

/* The process that such a number means; of `treadle run` it is its JVM. False after a line that
 * says that there is none. */
bool ledger_argument__pid(const char *given, pid_t *pid);

/* The path of the ledger that is meant, to be freed: the file, the process's own, or the newest
 * *.ledger in the working folder if nothing is given (NULL). NULL after a line that says why
 * there is none. */
char *ledger_argument__path(const char *given);

#endif
