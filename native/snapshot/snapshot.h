/*
 * A snapshot: a closed copy of a live ledger. What threads had consumed but not yet charged is
 * charged in the copy, and the copy has the process's own totals of the same moment. Running
 * threads are neither stopped nor asked: their uncharged time is the kernel's totals less the
 * ledger's.
 *
 * The same code serves the JVM that owns the ledger and any process that may read its file. Not for
 * hooks. Allocates some 256 KiB.
 */
#ifndef TREADLE_SNAPSHOT_H
#define TREADLE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

/* Where snapshots go: %p pid, %n sequence number, %t time (YYYYMMDD-hhmmss), %% a per cent sign.
 * 0, or -EINVAL (unknown letter), -ENAMETOOLONG. */
int snapshot__path(char *path, size_t path_bytes, const char *pattern, int pid, unsigned sequence);

/* Copies the live ledger in `source_fd` into the open, empty file `target_fd` and settles the copy.
 * Both files stay open. 0 or -errno: -ENOSPC, -EIO, -EINVAL if the source is not the ledger of a
 * running process. */
int snapshot__copy(int source_fd, int target_fd);

/* Notes in a snapshot that all calls counted up to then are in it. 0 or -errno. */
int snapshot__mark_counts(int fd);

/* snapshot__copy into a file that appears complete or not at all (a temporary file in the same
 * folder, then rename). 0 or -errno. */
int snapshot__write(int source_fd, const char *path);

/* The same, with another copy function than snapshot__copy. */
typedef int snapshot_copy(int source_fd, int target_fd);
int snapshot__write_with(snapshot_copy *copy, int source_fd, const char *path);

#endif
