/*
 * Waits for locks (report_blocks.h), summed up by lock and by who waited for whom.
 */
#ifndef TREADLE_REPORT_LOCKS_H
#define TREADLE_REPORT_LOCKS_H

#include "tools/report/lock_path.h"
#include "tools/report/report_model.h"

#include <stdbool.h>
#include <stdint.h>

struct report_lock {
    struct text class_name; /* length 0: not known */
    uint32_t identity;      /* 0: of any locks of the class */
    enum ledger_block_kind kind;
    uint64_t contentions;
    uint64_t wait_ns;
    uint64_t wait_max_ns;
    uint64_t wait_p99_ns; /* no more than that, in 99 of 100 waits; the least such power of two of
                             a microsecond, or wait_max_ns */
    uint64_t blocked_ns;  /* in which anybody waited for the lock */
    uint64_t blocked_max_ns;
    uint64_t owner_unknown; /* of `contentions` */
    uint64_t waits[BLOCK_BUCKETS];
    struct lock_paths waiters;
    struct lock_paths blockers; /* where the owners were when waits began: blocked_ns */
    uint64_t acquisitions;      /* outermost ones, by any thread, as far as hooks saw them; 0: not
                                   known, as where a glob selects threads */
    uint32_t depth_max;         /* how often the owner had acquired the lock when a wait began, at
                                   most; 0: not known */
    uint64_t holds;             /* contended holds that were seen from the begin to the end */
    uint64_t hold_ns;
    uint64_t hold_max_ns;
    uint64_t hold_p99_ns; /* as wait_p99_ns */
    uint64_t held[BLOCK_BUCKETS];
    struct lock_paths holders; /* where holds ended: hold_ns */
};

struct report_locks {
    struct report_lock *locks;
    uint32_t count;
};

/* One thread, or threads of one name, that waited for another. */
struct report_edge {
    struct text waiter;
    struct text blocker;
    bool blocker_known;
    struct text lock; /* class */
    uint64_t count;
    uint64_t wait_ns;
};

struct report_edges {
    struct report_edge *edges;
    uint32_t count;
    struct text_store texts;
};

/* Of waiters, and of holds by threads, whose names match; glob NULL: of all. Locks and edges
 * without waits are left out. In the order of `sort`: of locks wait (the default, or NULL), hold,
 * held, count, max, class; of edges wait, count, waiter, blocker, lock. fold: names that differ in
 * digits only are one. */
struct report_locks *report_locks__new(const struct report_model *model, const char *glob,
                                       const char *sort);
void report_locks__free(struct report_locks *locks);
struct report_edges *report_edges__new(const struct report_model *model, const char *glob,
                                       const char *sort, bool fold);
void report_edges__free(struct report_edges *edges);

#endif
