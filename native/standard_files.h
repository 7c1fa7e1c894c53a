/*
 * Files of ours in somebody's process never have the numbers of standard input, output and error,
 * which may be closed: what the program then prints would be written into them.
 */
#ifndef TREADLE_STANDARD_FILES_H
#define TREADLE_STANDARD_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The descriptor, or in its place another one of the same open file, with FD_CLOEXEC; -1 and errno
 * if `fd` is negative or there is none. Async-signal-safe. */
static inline int standard_files__avoid(int fd)
{
    int other, error;

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    error = errno;
    close(fd);
    errno = error;
    return other;
}

#endif
