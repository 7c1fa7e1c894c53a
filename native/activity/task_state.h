/*
 * What a thread of another process does right now, as the kernel says: its CPU time, its time ready
 * to run, and for what it waits. Nothing is asked of the thread itself.
 */
#ifndef TREADLE_TASK_STATE_H
#define TREADLE_TASK_STATE_H

#include "native/activity/activity_tree.h"
#include "native/proc/task_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A thread that is looked at again and again. Zero it, then open. */
struct task_state {
    int folder_fd;    /* /proc/PID/task/TID */
    int schedstat_fd; /* -1: read anew each time */
    bool has_read;
    struct task_schedstat last;
    enum activity_state state;
};

/* 0 or -errno (ENOENT: the thread is gone). */
int task_state__open(struct task_state *task, pid_t pid, pid_t tid);
void task_state__close(struct task_state *task);

/* Reads the thread's times and its state. A thread that has not run since the last reading is in
 * the state that it was in. 0 or -errno (ESRCH: the thread is over). */
int task_state__read(struct task_state *task);

/* True if the thread is over and only waits for somebody to ask how it ended. */
bool task_state__is_zombie(const struct task_state *task);

/* The state that one line of /proc/PID/task/TID/syscall tells ("running", "202 0x7f…"); of wchan
 * ("futex_wait_queue"). ACTIVITY_UNKNOWN: the text does not say. */
enum activity_state task_state__of_syscall(const char *text);
enum activity_state task_state__of_wchan(const char *text);

#endif
