#include "native/full_write.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int full_write__run(int fd, const char *bytes, size_t count)
{
    while (count) {
        ssize_t wrote = write(fd, bytes, count);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -errno;
        bytes += wrote;
        count -= (size_t)wrote;
    }
    return 0;
}

int full_write__put(const char *temporary, const char *path)
{
    struct stat there;
    bool is_there = stat(path, &there) == 0;

    if (is_there && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        return -ENOTSUP;
    return rename(temporary, path) == 0 ? 0 : -errno;
}
