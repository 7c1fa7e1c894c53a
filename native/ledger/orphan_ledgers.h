/*
 * Orphans: live ledgers whose process is gone, a JVM that was killed. They lie in memory-backed
 * storage, where each takes memory until somebody removes it.
 *
 * A ledger is an orphan if its process is gone and nobody holds the lock that its writer holds: the
 * process of another pid namespace may look gone.
 */
#ifndef TREADLE_ORPHAN_LEDGERS_H
#define TREADLE_ORPHAN_LEDGERS_H

#include <stdbool.h>
#include <stdint.h>

#define ORPHANS_KEPT    10u
#define ORPHANS_KEPT_NS (7u * UINT64_C(86400000000000)) /* a week */

/* The writer's lock on an open ledger, held as long as the file is open. */
void orphan_ledger__lock(int fd);

/* Removes the ledger at `path` if it is an orphan of this process's user. */
bool orphan_ledger__remove(const char *path);

/* Removes the orphans of this process's user in a folder, but for the newest ORPHANS_KEPT that are
 * no older than ORPHANS_KEPT_NS. How many. Not for hooks. */
unsigned orphan_ledgers__tidy(const char *folder);

#endif
