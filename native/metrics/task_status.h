/* CPU time and metrics of any thread or process, the caller's own or another, from /proc and the
 * kernel's clocks. */
#ifndef TREADLE_TASK_STATUS_H
#define TREADLE_TASK_STATUS_H

#include "native/ledger/ledger_format.h"
#include "native/proc/task_file.h"

#include <stdint.h>
#include <sys/types.h>

/* What /proc contains about one kernel thread of a process that this process may inspect. */
struct task_status {
    char name[TASK_NAME_BYTES]; /* comm, as it is: not always UTF-8 */
    uint64_t start_ticks;       /* field 22 of stat: clock ticks since boot */
    uint64_t cpu_ns;            /* schedstat's run time, else the ticks of stat */
    uint64_t bits;              /* which of value[] are valid */
    uint64_t value[LEDGER_METRIC_SLOTS];
    uint64_t own_read_bytes; /* bytes that this call itself has read; not subtracted from a thread's
                                own value[] */
};

/*
 * Reads /proc/PID/task/TID for those metrics in `bits` that the files contain: no block_inputs, no
 * block_outputs, and nothing from taskstats. With pid == getpid() the CPU time comes from the
 * thread's own clock and is exact; otherwise it comes from schedstat, which may lag behind a
 * running thread by a scheduler tick. User and system time move in clock ticks. All values are of
 * one thread, even if its tid is reused meanwhile. 0, or -errno (ENOENT, ESRCH: the thread is
 * gone). Does not allocate; not for hooks.
 */
int task_status__read(struct task_status *status, pid_t pid, pid_t tid, uint64_t bits);

/* The metrics of the one file that is read in any case, for the name. */
uint64_t task_status__of_stat(void);

/* Reads only the CPU time of one kernel thread, in ns. For a thread of this process this costs one
 * clock read. 0 or -errno. */
int task_cpu__read(pid_t pid, pid_t tid, uint64_t *cpu_ns);

/* Reads the process's own totals, in ns: CPU time (exact), user and system time (in clock ticks;
 * for the calling process in microseconds). 0 or -errno (ENOENT, ESRCH: the process is gone). */
int process_cpu__read(pid_t pid, uint64_t *cpu_ns, uint64_t *user_ns, uint64_t *system_ns);

/* Reads when one kernel thread started: only the start_ticks of struct task_status. 0 or -errno. */
int task_start__read(pid_t pid, pid_t tid, uint64_t *start_ticks);

#endif
