#include "tools/output/whole_file.h"

#include "native/full_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* In the folder of `path`, with a short name of its own: path's may be as long as names can be. */
static int temporary_path(char *temporary, size_t bytes, const char *path)
{
    const char *slash = strrchr(path, '/');
    uint64_t random = 0;

    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = (uint64_t)(uintptr_t)path; /* O_EXCL guards it all the same */
    int length =
        snprintf(temporary, bytes, "%.*s.treadle-%d-%llx.tmp", slash ? (int)(slash - path + 1) : 0,
                 path, (int)getpid(), (unsigned long long)random);
    return length < 0 || (size_t)length >= bytes ? -ENAMETOOLONG : 0;
}

int whole_file__write(const char *path, const char *bytes, size_t count)
{
    char temporary[PATH_MAX + 64];
    int error = temporary_path(temporary, sizeof(temporary), path);

    if (error)
        return error;
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    error = full_write__run(fd, bytes, count);
    if (close(fd) != 0 && !error)
        error = -errno;
    if (!error)
        error = full_write__put(temporary, path);
    if (error)
        unlink(temporary);
    return error;
}
