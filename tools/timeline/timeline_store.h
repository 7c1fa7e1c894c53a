/*
 * What was recorded of a timeline: switches of kernel threads and events of the agent, each in a
 * ring of bounded size, of which the newest stay. What did not fit is counted.
 */
#ifndef TREADLE_TIMELINE_STORE_H
#define TREADLE_TIMELINE_STORE_H

#include "native/timeline/timeline_format.h"
#include "tools/report/index_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No switch: the kernel had no room for so many records (in `tid`) until then. */
#define TIMELINE_LOST 0u

/* A thread has ended; its last switch is not told. */
#define TIMELINE_ENDED 255u

struct timeline_switch {
    uint64_t at_ns;
    int32_t tid;
    uint16_t processor;
    uint16_t kind; /* TIMELINE_ON, TIMELINE_OFF or TIMELINE_PREEMPTED; or as above */
};

struct timeline_ring {
    void *items;
    size_t item_bytes;
    size_t room;     /* items in memory */
    size_t most;     /* items that there may be */
    uint64_t pushed; /* the newest `most` of them are there */
};

struct timeline_task {
    int32_t tid;
    char name[16]; /* as the kernel has it */
    uint64_t since_ns;
};

struct timeline_store {
    struct timeline_ring switches;
    struct timeline_ring events;
    uint64_t lost_events; /* that the agent had no room for */
    bool has_switches;
    char no_switches[160]; /* else: why */
    struct timeline_event
        *waiting; /* threads in a wait soon after the begin: java_id, tid, reason */
    size_t waiting_count;
    size_t waiting_room;
    struct timeline_task *tasks;
    size_t task_count;
    size_t task_room;
    struct index_table task_table; /* by tid */

    /* of the process */
    int32_t pid;
    uint64_t began_ns;        /* CLOCK_MONOTONIC */
    uint64_t ledger_began_ns; /* the same moment on the ledger's clock */
    uint64_t ended_ns;
    uint64_t calls_above_ns;
    uint64_t unseen_calls;
    uint64_t unheard_waits;
    bool has_waits;
    bool has_calls;
};

/* Zeroes the store. bytes: of both rings together. */
void timeline_store__begin(struct timeline_store *store, uint64_t bytes);
void timeline_store__release(struct timeline_store *store);

void timeline_store__add_switch(struct timeline_store *store, const struct timeline_switch *one);
void timeline_store__add_event(struct timeline_store *store, const struct timeline_event *event);

/* The kernel has had this name for the thread at this time: the latest one that is known stays. */
void timeline_store__add_task(struct timeline_store *store, int32_t tid, const char *name,
                              uint64_t at_ns);

/* How many did not fit into the store. */
uint64_t timeline_ring__overwritten(const struct timeline_ring *ring);

/* Puts the items in order of their times, once all are there; returns how many there are. */
size_t timeline_store__sort_switches(struct timeline_store *store);
size_t timeline_store__sort_events(struct timeline_store *store);

#endif
