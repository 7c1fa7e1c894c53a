/*
 * A file that appears whole or not at all: written beside the one it replaces, then renamed.
 */
#ifndef TREADLE_OUTPUT_FILE_H
#define TREADLE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct output_file {
    FILE *stream;
    char *target;  /* what it becomes; NULL: it is written in place (a pipe, a device) */
    char *partial; /* what it is called until then */
};

/* Standard output if `path` is "-" or NULL. 0 or -errno. */
int output_file__open(struct output_file *file, const char *path);

/* Whether it is one that can be written at any place in it, and replaced. */
bool output_file__is_regular(const struct output_file *file);

/* Ends the file; on failure, and for a `status` that is one already, all is as it was before. Call
 * it once after output_file__open. 0 or -errno. */
int output_file__finish(struct output_file *file, int status);

#endif
