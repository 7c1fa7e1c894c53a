/*
 * Kernel metrics: what can be accumulated per kernel thread, where it is read, and what it needs.
 *
 * A reading is the kernel's running total for one kernel thread since that thread began. The
 * difference of two readings is a delta; the callers keep the readings (struct
 * ledger_kernel_thread) and charge the deltas. A reading may fall short of the one before for a
 * moment (user and system time are scaled, a signal handler may read in between): such a delta is
 * left out, the next one makes up for it.
 */
#ifndef TREADLE_KERNEL_METRICS_H
#define TREADLE_KERNEL_METRICS_H

#include "native/ledger/ledger_format.h"
#include "native/metrics/taskstats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum metric_unit {
    UNIT_NS,
    UNIT_COUNT,
    UNIT_BYTES,
};

/* One row of the table of metrics. All strings are constants. */
struct kernel_metric {
    enum ledger_metric id;
    const char *name;  /* what users and JSON see: "minor_faults" */
    const char *group; /* what metrics= calls it: "faults" */
    const char *title; /* column head: "min flt" */
    enum metric_unit unit;
    enum ledger_metric_source source;
    const char *meaning; /* one clause, for --help and the manual */
};

/* One row of the table of sources. */
struct kernel_metric_source {
    enum ledger_metric_source id;
    const char *name;            /* "getrusage(RUSAGE_THREAD)" */
    uint64_t bits;               /* the metrics that come from it */
    unsigned cost_ns;            /* of one read on the measured machine, see DESIGN */
    bool changes_only_on_switch; /* no need to read it while the thread was not switched out */
    const char *needs;           /* what would enable it where it is missing */
};

/* The rows, indexed by id. */
const struct kernel_metric *kernel_metric__get(enum ledger_metric id);
const struct kernel_metric_source *kernel_metric_source__get(enum ledger_metric_source id);

/* The row of that name, or NULL. */
const struct kernel_metric *kernel_metric__by_name(const char *name);

/* The bits (1 << enum ledger_metric) of a group or of one metric ("faults", "minor_faults", "all");
 * *known says whether there is such a name. "wall" is known and has no bits: CPU and wall time are
 * charged by the clock, always; "cpu" stands for their division into user and system. What
 * the JVM tells is always charged and has no name here. */
uint64_t kernel_metrics__bits(const char *name, size_t length, bool *known);

/* The metrics of the sources that change only on a switch. Async-signal-safe. */
uint64_t kernel_metrics__of_switches(void);

/* The metrics that task_status__read knows of other threads. Async-signal-safe. */
uint64_t kernel_metrics__of_others(void);

/* A comma-separated list of the groups that metrics= accepts, for messages; a constant. */
const char *kernel_metrics__groups(void);

/*
 * Which metrics this machine and these privileges give for threads of this process, but for those
 * of SOURCE_JVM, which no machine can tell. Fills error[SOURCE_COUNT] with 0 or the errno that says
 * why not, and returns the bits of the metrics that work. What the kernel has but does not account
 * counts as missing, with ENODATA: taskstats with kernel.task_delayacct=0, schedstat without
 * scheduler information. Opens and closes what it needs, from the descriptors that
 * metric_reader__open may use; not for hooks.
 */
uint64_t kernel_metrics__probe(int32_t error[SOURCE_COUNT]);

/*
 * A reader of the calling thread's own metrics: holds the descriptors that some sources need, so
 * that a read neither opens nor allocates. One per kernel thread, used by that thread only.
 */
struct metric_reader {
    uint64_t wanted;  /* bits that read() fills */
    int schedstat_fd; /* -1: not open */
    int io_fd;
    struct taskstats_socket taskstats;
    pid_t tid;
    uint64_t own_read_bytes; /* what read() itself has read from schedstat and io */
};

/*
 * Opens what `wanted` needs, on the calling thread, and reads it once: what cannot be opened or
 * read (descriptor limit, privileges, not in this kernel) is taken out of reader->wanted. Leaves
 * the process at least half of its descriptor limit: beyond that nothing is opened (EMFILE). 0, or
 * -errno of the first source that was refused; the reader is usable and to be closed either way.
 */
int metric_reader__open(struct metric_reader *reader, uint64_t wanted);
void metric_reader__close(struct metric_reader *reader);

/*
 * Reads the metrics whose bits are in both `bits` and reader->wanted into value[id]; leaves the
 * others as they are. Returns the bits that were read: a source that fails is left out, never
 * zeroed. Keeps errno. Does not allocate, lock or wait; async-signal-safe.
 *
 * METRIC_READ_BYTES leaves out what the reader itself reads from /proc, which the kernel counts:
 * a thread that reads nothing has a delta of 0.
 */
uint64_t metric_reader__read(struct metric_reader *reader, uint64_t bits,
                             uint64_t value[LEDGER_METRIC_SLOTS]);

#define TASK_NAME_BYTES 64

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

/* Field 22 of /proc/PID/stat, in clock ticks since boot: names a process together with its pid.
 * 0 or -errno. */
int process_start__read(pid_t pid, uint64_t *start_ticks);

#endif
