/* What the kernel says of a process in /proc/PID/status, which everybody may read. */
#ifndef TREADLE_PROCESS_STATUS_H
#define TREADLE_PROCESS_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

struct process_status {
    pid_t process; /* the pid itself, or, for the tid of another thread, its process */
    pid_t parent;
    pid_t inner_pid; /* the process's pid in its own pid namespace */
    uid_t uid;       /* effective */
    gid_t gid;
    bool ended;     /* a zombie */
    bool suspended; /* by SIGSTOP or a debugger */
    bool catches_quit;
};

/* 0 or -errno: -ENOENT if there is no such process. */
int process_status__read(struct process_status *status, pid_t pid);

#endif
