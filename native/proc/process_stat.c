#include "native/proc/process_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define PATH_BYTES 64

int process_stat__load(pid_t pid, struct task_stat *stat)
{
    char path[PATH_BYTES], text[TASK_FILE_BYTES];

    if (pid <= 0)
        return -EINVAL;
    int length = snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (length < 0 || (size_t)length >= sizeof(path))
        return -EINVAL;
    length = task_file__load(AT_FDCWD, path, text);
    return length < 0 ? length : task_stat__parse(text, stat);
}

int process_start__read(pid_t pid, uint64_t *start_ticks)
{
    struct task_stat stat;
    int error = process_stat__load(pid, &stat);

    if (error == 0)
        *start_ticks = stat.start_ticks;
    return error;
}
