/*
 * A file that should be a ledger: opening it, and what its header and its size say. Anything else
 * in its place, such as a FIFO or a device, is refused at once. Any thread; not for hooks or signal
 * handlers.
 */
#ifndef TREADLE_LEDGER_FILE_H
#define TREADLE_LEDGER_FILE_H

#include "native/ledger/ledger_format.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where to write what is wrong with a file: one line without newline, which begins with the path.
 */
struct ledger_complaint {
    const char *path;
    char *message;
    size_t bytes;
};

/* Writes the line. Always returns -1, so that a check can end with it. */
__attribute__((format(printf, 2, 3))) int ledger_complaint__say(const struct ledger_complaint *to,
                                                                const char *format, ...);

enum ledger_life {
    LEDGER_IS_CLOSED, /* a snapshot */
    LEDGER_IS_LIVE,   /* its process runs (same pid, start time and boot) */
    LEDGER_IS_ORPHAN, /* live by its header, but its process is gone */
};

/* Needs no more than the header of a ledger. */
enum ledger_life ledger_header__life(const struct ledger_header *header);

/* How much of so many chunks a file has. */
struct ledger_extent {
    uint32_t chunks; /* the last one may not be whole */
    uint64_t present_bytes;
    uint64_t missing_bytes;
};

/* Returns a descriptor of a regular file, or -1 after a complaint. A symbolic link is followed,
 * except one of another user to a file that is not his. */
int ledger_file__open(const char *path, const struct ledger_complaint *to);

/* read_header: reads the header and checks it. check_sizes: checks only the sizes in a header, its
 * state and its number of chunks. measure: how much of `wanted` chunks the file has. Each returns
 * 0, or -1 after a complaint. */
int ledger_file__read_header(int fd, struct ledger_header *header,
                             const struct ledger_complaint *to);
int ledger_file__check_sizes(const struct ledger_header *header, const struct ledger_complaint *to);
int ledger_file__measure(int fd, uint32_t wanted, struct ledger_extent *extent,
                         const struct ledger_complaint *to);

/* Reads until `bytes` are there or the file ends. Returns how many were read, or -1 (errno). */
ssize_t ledger_file__read_at(int fd, void *to, size_t bytes, uint64_t offset);

#endif
