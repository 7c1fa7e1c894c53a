/*
 * Files that are complete or not there at all.
 */
#ifndef TREADLE_WHOLE_FILE_H
#define TREADLE_WHOLE_FILE_H

#include <stddef.h>

/* Writes a file of mode 0600 beside `path` and renames it: no reader sees half of the file, and a
 * process that has the old file open keeps that. 0 or -errno; after an error nothing is left
 * behind. */
int whole_file__write(const char *path, const char *bytes, size_t count);

#endif
