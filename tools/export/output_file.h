/*
 * A file that appears whole or not at all: written beside the one it replaces, then renamed.
 */
#ifndef TREADLE_OUTPUT_FILE_H
#define TREADLE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct output_file {
    FILE *stream;
    char *target;  /* its final path; NULL: written in place (a pipe, a device) */
    char *partial; /* its path until then */
};

/* Standard output if `path` is "-" or NULL. 0 or -errno. */
int output_file__open(struct output_file *file, const char *path);

/* Whether it could be opened now; nothing is changed, and what is no regular file is not opened. 0
 * or -errno. */
int output_file__check(const char *path);

/* True if the file could be written at any position and be replaced. Nothing is opened: a pipe
 * would wait for its reader. A folder is for output_file__open to refuse. */
bool output_file__would_be_regular(const char *path);

/* Ends the file. On failure, and if `status` is a failure already, the file that was to be
 * replaced stays as it was. To be called once after output_file__open. 0 or -errno. */
int output_file__finish(struct output_file *file, int status);

#endif
