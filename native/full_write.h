/* Files that are complete or not there at all: written beside their place, and then put there. Any
 * thread; not for hooks, since a file system may block. */
#ifndef TREADLE_FULL_WRITE_H
#define TREADLE_FULL_WRITE_H

#include <stddef.h>

/* Writes a whole buffer, with as many write calls as the kernel needs. 0 or -errno. */
int full_write__run(int fd, const char *bytes, size_t count);

/* Renames the file `temporary` to `path`. 0 or -errno: -ENOTSUP if a device, a pipe or a socket is
 * there, or behind a link that is there: a file would replace it, for root even /dev/null. */
int full_write__put(const char *temporary, const char *path);

#endif
