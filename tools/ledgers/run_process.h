/*
 * A PID that is `treadle run`: the shell's $! is that process, and the JVM is one below it.
 */
#ifndef TREADLE_RUN_PROCESS_H
#define TREADLE_RUN_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Sets a pid that is a `treadle run` to that of the one process below it that has a ledger, after a
 * line that says so; any other stays. False after a line that says that there is none, or that
 * there are several. */
bool run_process__follow(pid_t *pid);

#endif
