/*
 * The argument [FILE|PID] of commands that look at a ledger.
 */
#ifndef TREADLE_LEDGER_ARGUMENT_H
#define TREADLE_LEDGER_ARGUMENT_H

#include <stdbool.h>
#include <sys/types.h>

/* True if the argument is a number, which means a process. */
bool ledger_argument__is_pid(const char *given);

/* Sets *pid to the process that such a number means: for the pid of a `treadle run`, its JVM.
 * False after a line that says that there is no such process. */
bool ledger_argument__pid(const char *given, pid_t *pid);

/* Returns the path of the ledger that the argument means, to be freed: the file, the process's
 * ledger, or, without an argument (NULL), the newest *.ledger in the working folder. NULL after a
 * line that says why there is none. */
char *ledger_argument__path(const char *given);

#endif
