/*
 * Writing events of a timeline, see timeline_format.h. A timeline is begun and ended while threads
 * run; there may be another one after that.
 *
 * begin, end: one thread at a time; not for hooks. write and the notes of calls: any thread, also
 * while the timeline ends; they do not lock, block, or allocate. What they do not write is counted.
 */
#ifndef TREADLE_TIMELINE_H
#define TREADLE_TIMELINE_H

#include "native/timeline/timeline_format.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMELINE_BYTES_LEAST   (UINT64_C(1) << 18)
#define TIMELINE_BYTES_MOST    (UINT64_C(1) << 30)
#define TIMELINE_BYTES_DEFAULT (UINT64_C(8) << 20)

#define TIMELINE_CALL_THREADS 1024u /* threads whose calls are noted, at most */
#define TIMELINE_CALL_DEPTH   256u  /* calls that are open in a thread and noted, a power of two */

/* A call that has not returned. */
struct timeline_open_call {
    uint64_t entered_ns; /* on the ledger's clock */
    uint64_t token;
    ledger_ref thread;
    ledger_ref method;
};

struct timeline_calls {
    struct timeline_open_call open[TIMELINE_CALL_DEPTH];
};

/* A thread that writes is counted in one of these. */
struct timeline_writers {
    _Atomic uint32_t count;
    uint32_t reserved[15];
};

/* Zero the struct and set `on` to begin. */
struct timeline {
    bool *on; /* atomic: a timeline runs; where hot code looks */
    _Atomic(struct timeline_header *) header;
    struct timeline_event *events;
    struct timeline_calls *calls; /* TIMELINE_CALL_THREADS of them, or NULL */
    _Atomic uint32_t calls_used;
    _Atomic uint32_t number; /* of timelines begun */
    /* as in the header, which others may write */
    uint32_t lanes;
    uint32_t lane_events;
    uint64_t until_ns;
    uint64_t calls_above_ns;
    size_t mapped_bytes;
    int fd;
    char path[PATH_MAX];
    struct timeline_writers writers[TIMELINE_LANES_MAX];
};

struct ledger_time;

struct timeline_wish {
    uint64_t bytes;
    uint64_t for_ns;
    uint64_t calls_above_ns;
    bool has_waits;
    bool has_calls;
    const struct ledger_time *time; /* the ledger's clock; or NULL: there are no calls */
    uint64_t start_ticks;           /* of the process */
};

/* Makes the file at `path` (mode 0600, O_EXCL, O_NOFOLLOW; all of its space is allocated, so a full
 * file system is an error here and no SIGBUS later). 0 or -errno: -EALREADY: one runs; -ENOSPC:
 * also if less than LEDGER_FREE_PART of the file system would be left to others, such as the
 * ledger. */
int timeline__begin(struct timeline *timeline, const char *path, const struct timeline_wish *wish);

/* Ends the timeline, once no thread writes any more, and removes the file's name: who has the file
 * open can read it. 0 or -errno: -ESRCH: none runs. */
int timeline__end(struct timeline *timeline);

/* Bytes of memory that a timeline takes while it runs: its file's, and those of open calls. */
size_t timeline__bytes(const struct timeline *timeline);

/* True if the timeline's time is over. */
bool timeline__is_over(const struct timeline *timeline);

/* In the child of a fork: nothing is written from here on. Async-signal-safe. */
void timeline__abandon(struct timeline *timeline);

static inline bool timeline__is_on(const bool *on)
{
    return __builtin_expect(__atomic_load_n(on, __ATOMIC_RELAXED), 0);
}

/* Writes an event, all but its sequence. */
void timeline__write(struct timeline *timeline, const struct timeline_event *event);

/* Brackets the use of the timeline's memory. False: no timeline runs, and exit must not be called.
 * *place: for exit. */
bool timeline__enter(struct timeline *timeline, uint32_t *place);
void timeline__exit(struct timeline *timeline, uint32_t place);

/* Within the bracket: room for the open calls of one more thread; NULL: there is none left. */
struct timeline_calls *timeline__take_calls(struct timeline *timeline);

/* Within the bracket: counts a return in a thread that has no such room. */
void timeline__count_unseen(struct timeline *timeline, uint32_t place);

uint64_t timeline__now_ns(void);

#endif
