/* Writes a whole buffer, with as many write calls as the kernel needs. */
#ifndef TREADLE_FULL_WRITE_H
#define TREADLE_FULL_WRITE_H

#include <stddef.h>

/* 0 or -errno. */
int full_write__run(int fd, const char *bytes, size_t count);

#endif
