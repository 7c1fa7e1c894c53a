/*
 * Orphans: live ledgers whose process is gone, such as that of a JVM that was killed. Orphans lie
 * in memory-backed storage and take memory until they are removed.
 *
 * A ledger is an orphan if its process is gone and no process holds the writer's lock. The lock is
 * needed because a process of another pid namespace may look gone. An orphan's timeline
 * (native/timeline) goes with it; a timeline without a ledger beside it, which nobody writes, is an
 * orphan itself.
 */
#ifndef TREADLE_ORPHAN_LEDGERS_H
#define TREADLE_ORPHAN_LEDGERS_H

#include <stdbool.h>
#include <stdint.h>

#define ORPHANS_KEPT    10u
#define ORPHANS_KEPT_NS (7u * UINT64_C(86400000000000)) /* a week */

/* Takes the writer's lock on an open ledger or timeline; the lock is held as long as the file is
 * open. */
void orphan_ledger__lock(int fd);

/* True if the file at `path` is an orphan of this process's user. Not for hooks. */
bool orphan_ledger__is(const char *path);

/* Removes the file at `path` if it is an orphan of this process's user. False: nothing was
 * removed. Not for hooks. */
bool orphan_ledger__remove(const char *path);

/* Removes the orphans in a folder that belong to this process's user. Keeps the newest ORPHANS_KEPT
 * of them if they are no older than ORPHANS_KEPT_NS. Returns how many were removed. Not for hooks.
 */
unsigned orphan_ledgers__tidy(const char *folder);

#endif
