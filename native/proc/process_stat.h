/* A process in /proc: all of its threads together, and when it started. Allocates nothing. */
#ifndef TREADLE_PROCESS_STAT_H
#define TREADLE_PROCESS_STAT_H

#include "native/proc/task_file.h"

#include <sys/types.h>

/* /proc/PID/stat, of the process as a whole. 0 or -errno. */
int process_stat__load(pid_t pid, struct task_stat *stat);

/* Reads field 22 of /proc/PID/stat, the start in clock ticks since boot: with the pid, it
 * identifies a process. 0 or -errno. */
int process_start__read(pid_t pid, uint64_t *start_ticks);

#endif
