/*
 * Where ledgers are found: live ones and orphans in the folders where the agent puts them,
 * snapshots in the working folder.
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
    uint64_t bytes;      /* space on the disk */
    uint64_t changed_ns; /* since the epoch */
    bool is_given;       /* the user named it */
    bool is_removed;     /* it was found, and is gone now */
    const char *left; /* what it is, if it is no ledger but something else left behind; or NULL */
};

struct found_ledgers {
    struct found_ledger *items;
    size_t count;
    size_t room;
};

/* Finds treadle-PID-*.live in /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR and /tmp, for one pid, or for
 * all (0). Zero the result first. */
void live_folders__find(struct found_ledgers *found, pid_t pid);

/* Finds treadle-PID-*.timeline there, of all processes. */
void live_folders__find_timelines(struct found_ledgers *found);

/* Finds *.ledger in the working folder, or in any folder, newest last. A symbolic link is one if
 * the link and the file behind it belong to this user. */
void live_folders__find_snapshots(struct found_ledgers *found);
void live_folders__find_snapshots_in(struct found_ledgers *found, const char *folder);

/* Appends the snapshots in the working folders of the processes of these live ledgers, except this
 * process's own working folder. Snapshots are written there by default. */
void live_folders__find_snapshots_beside(struct found_ledgers *found,
                                         const struct found_ledgers *live);

/* Appends a file that the user named. False: there is no such file (errno). */
bool found_ledgers__add(struct found_ledgers *found, const char *path);
void found_ledgers__release(struct found_ledgers *found);

/* True if a path ends in the name of a live ledger, whatever the file is. */
bool live_folders__names_live(const char *path);

/* True if another user owns the file. Its bytes may be made to harm the reader. */
bool found_ledger__is_foreign(const struct found_ledger *ledger);

/* True if a file that claims to be a process's ledger is owned by the user who runs the process,
 * or by the own user if the process is gone. Anybody can put a file of that name into /tmp. */
bool found_ledger__is_trusted(const struct found_ledger *ledger);

#endif
