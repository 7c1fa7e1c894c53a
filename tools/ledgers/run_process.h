/*
 * A PID that is `treadle run`: the shell's $! is that process, and the JVM is a process below it.
 */
#ifndef TREADLE_RUN_PROCESS_H
#define TREADLE_RUN_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* If the pid is that of a `treadle run`, sets it to that of the one process below it that has a
 * ledger, after a line that says so. Any other pid stays. False after a line that says that there
 * is no such process, or that there are several. */
bool run_process__follow(pid_t *pid);

#endif
