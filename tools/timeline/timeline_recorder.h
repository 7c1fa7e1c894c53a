/*
 * Records a timeline of a process from outside: switches of its threads (switch_rings.h), and the
 * events of the agent in it, as they come, until its time is over, the process is, or somebody
 * says so.
 */
#ifndef TREADLE_TIMELINE_RECORDER_H
#define TREADLE_TIMELINE_RECORDER_H

#include "native/ledger/ledger_reader.h"
#include "native/timeline/timeline_reader.h"
#include "tools/timeline/switch_rings.h"
#include "tools/timeline/timeline_store.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct timeline_recorder {
    pid_t pid;
    struct timeline_store store;
    struct switch_rings rings;
    struct timeline_reader reader;
    int ledger_fd;       /* -1: none; of a file that may have lost its name since */
    char path[PATH_MAX]; /* of the events' file */
    uint64_t unheard_before;
    uint64_t tasks_ns; /* when the names of threads were read last */
};

/* Zeroes the recorder and begins with switches, before the agent is asked. bytes: what may be kept
 * in memory. */
void timeline_recorder__begin(struct timeline_recorder *recorder, pid_t pid, uint64_t bytes);

/* Keeps the rings of switches from filling up until events are opened. */
void timeline_recorder__drain_switches(struct timeline_recorder *recorder);

/* If this process is root and the JVM another user's, it has that user's rights from here on (see
 * rights.h). Opens the events of the agent whose live ledger is at that path. 0, or -1 with a line
 * in message: there are none (yet). */
int timeline_recorder__open(struct timeline_recorder *recorder, const char *ledger_path,
                            char *message, size_t message_bytes);

/* Records until for_ns have passed since the agent began (0: until it ends), or it ended, or the
 * process is gone, or a signal of `stops` is pending (NULL: none is looked for), which is then
 * taken. */
void timeline_recorder__run(struct timeline_recorder *recorder, uint64_t for_ns,
                            const sigset_t *stops);

/* True if the agent still writes events. */
bool timeline_recorder__goes_on(struct timeline_recorder *recorder);

/* Takes what is left, at the end. for_ns as above. */
void timeline_recorder__finish(struct timeline_recorder *recorder, uint64_t for_ns);

/* The ledger, for names; or NULL. */
struct ledger_reader *timeline_recorder__ledger(struct timeline_recorder *recorder);

/* Reads a file of events that an agent has left behind, and the ledger beside it if there is one,
 * in place of all that. 0, or -1 with a line in message. */
int timeline_recorder__read(struct timeline_recorder *recorder, const char *path, uint64_t bytes,
                            char *message, size_t message_bytes);

void timeline_recorder__release(struct timeline_recorder *recorder);

#endif
