/* What /proc and the kernel's clocks say of any thread or process, the caller's own or another. */
#ifndef TREADLE_TASK_STATUS_H
#define TREADLE_TASK_STATUS_H

#include "native/ledger/ledger_format.h"
#include "native/proc/task_file.h"

#include <stdint.h>
#include <sys/types.h>

/* What /proc says of one kernel thread of any process that we may look at. */
struct task_status {
    char name[TASK_NAME_BYTES]; /* comm, as it is: not always UTF-8 */
    uint64_t start_ticks;       /* field 22 of stat: clock ticks since boot */
    uint64_t cpu_ns;            /* schedstat's run time, else the ticks of stat */
    uint64_t bits;              /* which of value[] were read */
    uint64_t value[LEDGER_METRIC_SLOTS];
    uint64_t own_read_bytes; /* what this reading itself has read; not in a thread's own value[] */
};

/*
 * Reads /proc/PID/task/TID for the metrics in `bits`, as far as it has them: no block_inputs, no
 * block_outputs, and taskstats is never read here. With pid == getpid() the CPU time comes from the
 * thread's own clock, exact to the moment; otherwise from schedstat, which may lag a running thread
 * by a scheduler tick. User and system time move in clock ticks. All files are of one thread, even
 * if its tid is reused meanwhile. 0, or -errno (ENOENT, ESRCH: no such thread any more). Does not
 * allocate; not for hooks.
 */
int task_status__read(struct task_status *status, pid_t pid, pid_t tid, uint64_t bits);

/* Only the CPU time of one kernel thread, in ns, at the price of one clock read for a thread of
 * this process. 0 or -errno. */
int task_cpu__read(pid_t pid, pid_t tid, uint64_t *cpu_ns);

/* The process's own totals, in ns: CPU (exact), user and system (in clock ticks, of the calling
 * process in microseconds). 0 or -errno (ENOENT, ESRCH: no such process any more). */
int process_cpu__read(pid_t pid, uint64_t *cpu_ns, uint64_t *user_ns, uint64_t *system_ns);

/* When one kernel thread started: task_status's start_ticks alone. 0 or -errno. */
int task_start__read(pid_t pid, pid_t tid, uint64_t *start_ticks);

#endif
