#include "native/activity/task_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int task_state__open(struct task_state *task, pid_t pid, pid_t tid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
    task->folder_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (task->folder_fd < 0)
        return -errno;
    task->schedstat_fd = task_file__open(task->folder_fd, "schedstat");
    task->has_read = false;
    return 0;
}

void task_state__close(struct task_state *task)
{
    if (task->folder_fd >= 0)
        close(task->folder_fd);
    if (task->schedstat_fd >= 0)
        close(task->schedstat_fd);
    task->folder_fd = task->schedstat_fd = -1;
}

/* System calls in which a thread waits, by what it waits for. All others count as I/O only if the
 * kernel says that the thread waits for a disk. */
static const struct {
    long number;
    enum activity_state state;
} waiting_calls[] = {
    {SYS_futex, ACTIVITY_LOCK},
    {SYS_nanosleep, ACTIVITY_SLEEP},
    {SYS_clock_nanosleep, ACTIVITY_SLEEP},
    {SYS_read, ACTIVITY_IO},
    {SYS_write, ACTIVITY_IO},
    {SYS_readv, ACTIVITY_IO},
    {SYS_writev, ACTIVITY_IO},
    {SYS_pread64, ACTIVITY_IO},
    {SYS_pwrite64, ACTIVITY_IO},
    {SYS_preadv, ACTIVITY_IO},
    {SYS_pwritev, ACTIVITY_IO},
    {SYS_sendto, ACTIVITY_IO},
    {SYS_recvfrom, ACTIVITY_IO},
    {SYS_sendmsg, ACTIVITY_IO},
    {SYS_recvmsg, ACTIVITY_IO},
    {SYS_accept, ACTIVITY_IO},
    {SYS_accept4, ACTIVITY_IO},
    {SYS_connect, ACTIVITY_IO},
    {SYS_ppoll, ACTIVITY_IO},
    {SYS_pselect6, ACTIVITY_IO},
    {SYS_epoll_pwait, ACTIVITY_IO},
    {SYS_fsync, ACTIVITY_IO},
    {SYS_fdatasync, ACTIVITY_IO},
    {SYS_msync, ACTIVITY_IO},
    {SYS_sync_file_range, ACTIVITY_IO},
    {SYS_io_getevents, ACTIVITY_IO},
    {SYS_io_uring_enter, ACTIVITY_IO},
    {SYS_sendfile, ACTIVITY_IO},
    {SYS_splice, ACTIVITY_IO},
    {SYS_copy_file_range, ACTIVITY_IO},
    {SYS_openat, ACTIVITY_IO},
    {SYS_unlinkat, ACTIVITY_IO},
    {SYS_ftruncate, ACTIVITY_IO},
    {SYS_fallocate, ACTIVITY_IO},
    {SYS_flock, ACTIVITY_LOCK},
    {SYS_wait4, ACTIVITY_IO},
    {SYS_waitid, ACTIVITY_IO},
#ifdef SYS_poll
    {SYS_poll, ACTIVITY_IO},
    {SYS_select, ACTIVITY_IO},
    {SYS_epoll_wait, ACTIVITY_IO},
    {SYS_unlink, ACTIVITY_IO},
    {SYS_open, ACTIVITY_IO},
#endif
};

enum activity_state task_state__of_syscall(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (strncmp(text, "running", 7) == 0)
        return ACTIVITY_RUNNING;
    if (end == text)
        return ACTIVITY_UNKNOWN;
    /* Blocked outside of a system call: in a page fault. */
    if (number == -1)
        return ACTIVITY_IO;
    for (size_t i = 0; i < sizeof(waiting_calls) / sizeof(waiting_calls[0]); i++)
        if (waiting_calls[i].number == number)
            return waiting_calls[i].state;
    return ACTIVITY_UNKNOWN;
}

enum activity_state task_state__of_wchan(const char *text)
{
    static const struct {
        const char *part;
        enum activity_state state;
    } parts[] = {
        {"futex", ACTIVITY_LOCK},      {"nanosleep", ACTIVITY_SLEEP}, {"poll", ACTIVITY_IO},
        {"select", ACTIVITY_IO},       {"pipe", ACTIVITY_IO},         {"skb", ACTIVITY_IO},
        {"sock", ACTIVITY_IO},         {"tcp", ACTIVITY_IO},          {"unix_", ACTIVITY_IO},
        {"csk_accept", ACTIVITY_IO},   {"io_", ACTIVITY_IO},          {"folio", ACTIVITY_IO},
        {"wait_on_page", ACTIVITY_IO}, {"tty", ACTIVITY_IO},          {"do_wait", ACTIVITY_IO},
        {"jbd2", ACTIVITY_IO},
    };

    if (strcmp(text, "0") == 0 || !*text)
        return ACTIVITY_RUNNING;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(text, parts[i].part))
            return parts[i].state;
    return ACTIVITY_UNKNOWN;
}

/* The letter behind the name in stat: R, S, D, … */
static char letter_of(const char *stat)
{
    const char *bracket = strrchr(stat, ')');

    return bracket && bracket[1] == ' ' ? bracket[2] : '?';
}

/* syscall says the most, but only to those who may trace the process; wchan says it in the kernel's
 * words, if at all; stat has a letter. */
static enum activity_state read_state(const struct task_state *task)
{
    char text[TASK_FILE_BYTES];
    enum activity_state state = ACTIVITY_UNKNOWN;

    if (task_file__load(task->folder_fd, "syscall", text) > 0)
        state = task_state__of_syscall(text);
    if (state == ACTIVITY_UNKNOWN && task_file__load(task->folder_fd, "wchan", text) > 0) {
        state = task_state__of_wchan(text);
        if (state == ACTIVITY_RUNNING)
            state = ACTIVITY_UNKNOWN;
    }
    if (state == ACTIVITY_UNKNOWN && task_file__load(task->folder_fd, "stat", text) > 0) {
        char letter = letter_of(text);

        state = letter == 'R' ? ACTIVITY_RUNNING : letter == 'D' ? ACTIVITY_IO : state;
    }
    return state;
}

static int read_times(const struct task_state *task, struct task_schedstat *times)
{
    char text[TASK_FILE_BYTES];
    int length = task->schedstat_fd >= 0 ? task_file__read(task->schedstat_fd, text)
                                         : task_file__load(task->folder_fd, "schedstat", text);

    if (length <= 0)
        return length ? length : -ESRCH;
    return task_schedstat__parse(text, times);
}

int task_state__read(struct task_state *task)
{
    struct task_schedstat times = {0, 0, 0};
    int error = read_times(task, &times);

    if (error == -ENODATA)
        error = 0;
    if (error)
        return error;
    bool has_run = !task->has_read || times.timeslices != task->last.timeslices ||
                   times.run_ns != task->last.run_ns || task->state == ACTIVITY_RUNNING;
    task->last = times;
    task->has_read = true;
    if (has_run)
        task->state = read_state(task);
    return 0;
}

bool task_state__is_zombie(const struct task_state *task)
{
    char text[TASK_FILE_BYTES];

    return task_file__load(task->folder_fd, "stat", text) > 0 && strchr("ZX", letter_of(text));
}
