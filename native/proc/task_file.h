/*
 * The files of /proc/PID and /proc/PID/task/TID: reading one whole, and the numbers in its text.
 *
 * Nothing here allocates, uses stdio or a locale; all of it is async-signal-safe. Texts are
 * NUL-terminated. Numbers that do not stand where they should are an error, never a zero.
 */
#ifndef TREADLE_TASK_FILE_H
#define TREADLE_TASK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for stat, schedstat and io, and for every part of status that is used. */
#define TASK_FILE_BYTES 2048u

/* Opens a file for reading, relative to a folder's descriptor or AT_FDCWD. Returns the descriptor
 * or -errno. */
int task_file__open(int folder_fd, const char *path);

/* Reads the file from its beginning into `text`, cut to the size of `text`. Returns the length or
 * -errno. */
int task_file__read(int fd, char text[TASK_FILE_BYTES]);

/* Opens, reads and closes. */
int task_file__load(int folder_fd, const char *path, char text[TASK_FILE_BYTES]);

/* Parses the number at *text after blanks and moves *text behind the number. */
bool task_file__take_number(const char **text, uint64_t *number);

#define TASK_NAME_BYTES 64

/* The fields of stat; see proc_pid_stat(5). */
struct task_stat {
    char name[TASK_NAME_BYTES];
    uint64_t minor_faults;
    uint64_t major_faults;
    uint64_t user_ticks;
    uint64_t system_ticks;
    uint64_t start_ticks;
};

/* The fields of schedstat. */
struct task_schedstat {
    uint64_t run_ns;
    uint64_t run_queue_delay_ns;
    uint64_t timeslices;
};

/* 0 or -EBADMSG. schedstat also -ENODATA: all fields are zero, as of a kernel that does not
 * maintain them. */
int task_stat__parse(const char *text, struct task_stat *stat);
int task_schedstat__parse(const char *text, struct task_schedstat *schedstat);

#endif
