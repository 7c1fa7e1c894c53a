/*
 * Where ledgers are found: live ones and orphans in the folders the agent puts them, snapshots in
 * the working folder.
 */
#ifndef TREADLE_LIVE_FOLDERS_H
#define TREADLE_LIVE_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct found_ledger {
    char *path;
    pid_t pid; /* from the name; 0: a snapshot */
    uid_t owner;
    uint64_t bytes;      /* what it takes on the disk */
    uint64_t changed_ns; /* since the epoch */
    bool is_given;       /* somebody named it */
};

struct found_ledgers {
    struct found_ledger *items;
    size_t count;
    size_t room;
};

/* treadle-PID-*.live in /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR and /tmp; of one pid, or of all (0).
 * Zero the result first. */
void live_folders__find(struct found_ledgers *found, pid_t pid);

/* *.ledger in the working folder, newest last. */
void live_folders__find_snapshots(struct found_ledgers *found);

/* Appends the snapshots in the working folders of the processes of these live ledgers, which is
 * where they go by default, but for our own. */
void live_folders__find_snapshots_beside(struct found_ledgers *found,
                                         const struct found_ledgers *live);

/* Appends a file that somebody named. False: it is not there (errno). */
bool found_ledgers__add(struct found_ledgers *found, const char *path);
void found_ledgers__release(struct found_ledgers *found);

/* Whether a path ends in the name of a live ledger, whatever the file is. */
bool live_folders__names_live(const char *path);

/* Whether the file is another user's. Its bytes may be made to hurt whoever reads them. */
bool found_ledger__is_foreign(const struct found_ledger *ledger);

/* Whether a file that claims to be a process's ledger is owned by who runs that process (or by us,
 * when it is gone): anybody can put a file of that name into /tmp. */
bool found_ledger__is_trusted(const struct found_ledger *ledger);

#endif
