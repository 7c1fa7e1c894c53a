/*
 * A file that should be a ledger: opening it, and what its header and its size say. Whatever else
 * there may be in its place, a FIFO or a device, is refused at once.
 */
#ifndef TREADLE_LEDGER_FILE_H
#define TREADLE_LEDGER_FILE_H

#include "native/ledger/ledger_format.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where what is wrong with a file is told: in one line without newline. */
struct ledger_complaint {
    const char *path;
    char *message;
    size_t bytes;
};

/* Always -1, so that a check can end with it. */
__attribute__((format(printf, 2, 3))) int ledger_complaint__say(const struct ledger_complaint *to,
                                                                const char *format, ...);

enum ledger_life {
    LEDGER_IS_CLOSED, /* a snapshot */
    LEDGER_IS_LIVE,   /* its process runs (same pid, start time and boot) */
    LEDGER_IS_ORPHAN, /* live by its header, but its process is gone */
};

/* For a ledger of which only the header was read. */
enum ledger_life ledger_header__life(const struct ledger_header *header);

/* Of so many chunks, what the file has. */
struct ledger_extent {
    uint32_t chunks; /* the last one may not be whole */
    uint64_t present_bytes;
    uint64_t missing_bytes;
};

/* A descriptor of a regular file, or -1 after a complaint. */
int ledger_file__open(const char *path, const struct ledger_complaint *to);

/* 0, or -1 after a complaint. */
int ledger_file__read_header(int fd, struct ledger_header *header,
                             const struct ledger_complaint *to);
int ledger_file__check_sizes(const struct ledger_header *header, const struct ledger_complaint *to);
int ledger_file__measure(int fd, uint32_t wanted, struct ledger_extent *extent,
                         const struct ledger_complaint *to);

/* Reads until `bytes` are there or the file ends. How many were read, or -1 (errno). */
ssize_t ledger_file__read_at(int fd, void *to, size_t bytes, uint64_t offset);

#endif
