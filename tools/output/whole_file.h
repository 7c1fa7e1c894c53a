/*
 * Files that are complete or not there at all.
 */
#ifndef TREADLE_WHOLE_FILE_H
#define TREADLE_WHOLE_FILE_H

#include <stddef.h>

/* Writes a file beside `path`, of mode 0600, and renames it: nobody sees half of it, and whoever
 * has the old one open keeps that. 0 or -errno, and then nothing is left behind. */
int whole_file__write(const char *path, const char *bytes, size_t count);

#endif
