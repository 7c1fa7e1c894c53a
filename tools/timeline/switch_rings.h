/*
 * Switches of another process's kernel threads, heard from outside: a software event of perf on
 * each of its threads and each processor, which tells when the thread gets that processor and
 * leaves it, and is inherited by the threads that it starts; and the names that these threads take.
 * All events of a processor share one ring. An unprivileged user may hear threads of his own
 * processes in this way up to kernel.perf_event_paranoid=2.
 */
#ifndef TREADLE_SWITCH_RINGS_H
#define TREADLE_SWITCH_RINGS_H

#include "tools/timeline/timeline_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct switch_ring {
    int fd; /* of the first event of this processor, which has the ring; -1: none yet */
    void *page;
    size_t data_bytes;
};

struct switch_rings {
    pid_t pid;
    struct switch_ring *rings; /* by processor */
    unsigned processors;
    int *events; /* their descriptors */
    size_t event_count;
    size_t event_room;
    pid_t *tids; /* that have events */
    size_t tid_count;
    size_t tid_room;
    bool no_inherit_thread; /* the kernel is too old to leave processes out that threads start */
};

/* Opens events on all threads that the process has. 0 or -errno; nothing is left open then. */
int switch_rings__open(struct switch_rings *rings, pid_t pid);
void switch_rings__close(struct switch_rings *rings);

/* Waits until a ring fills up, at most so long. */
void switch_rings__wait(const struct switch_rings *rings, int timeout_ms);

/* Moves what is in the rings to the store. */
void switch_rings__drain(struct switch_rings *rings, struct timeline_store *store);

#endif
