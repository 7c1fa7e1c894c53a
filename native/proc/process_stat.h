/* A process in /proc: all of its threads together, and when it started. Allocates nothing. */
#ifndef TREADLE_PROCESS_STAT_H
#define TREADLE_PROCESS_STAT_H

#include "native/proc/task_file.h"

#include <sys/types.h>

/* /proc/PID/stat, of the process as a whole. 0 or -errno. */
int process_stat__load(pid_t pid, struct task_stat *stat);

/* Field 22 of it, in clock ticks since boot: names a process together with its pid. 0 or -errno. */
int process_start__read(pid_t pid, uint64_t *start_ticks);

#endif
