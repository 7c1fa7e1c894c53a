/*
 * A snapshot: a closed copy of a live ledger, with what its threads had consumed but not yet
 * charged put where it belongs, and the process's own totals of the same moment. The running
 * threads are neither stopped nor asked: everything they have not charged can be worked out from
 * the kernel's totals and the ledger's.
 *
 * The same code serves the JVM that owns the ledger and any process that may read its file.
 * Not for hooks. Allocates some 256 KiB.
 */
#ifndef TREADLE_SNAPSHOT_H
#define TREADLE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

/* Where snapshots go: %p pid, %n sequence number, %t time (YYYYMMDD-hhmmss), %% a per cent sign.
 * 0, or -EINVAL (unknown letter), -ENAMETOOLONG. */
int snapshot__path(char *path, size_t path_bytes, const char *pattern, int pid, unsigned sequence);

/* Copies the live ledger in `source_fd` into the open, empty file `target_fd` and settles it. Both
 * stay open. 0 or -errno: -ENOSPC, -EIO, -EINVAL if the source is no ledger of a live process. */
int snapshot__copy(int source_fd, int target_fd);

/* The same into a file that appears whole or not at all (a temporary file in the same folder, then
 * rename). 0 or -errno. */
int snapshot__write(int source_fd, const char *path);

/* The same, copied by another function than snapshot__copy. */
typedef int snapshot_copy(int source_fd, int target_fd);
int snapshot__write_with(snapshot_copy *copy, int source_fd, const char *path);

#endif
