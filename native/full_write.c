#include "native/full_write.h"

#include <errno.h>
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
