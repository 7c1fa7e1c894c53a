/*
 * What a kernel thread tells a timeline (native/timeline/timeline.h) while one runs: which Java
 * thread it runs, when a wait with a reason begins and is over, for which lock and for whom, and
 * the calls that took as long as the timeline's threshold or longer.
 *
 * When a call begins is noted, by its token, for the TIMELINE_CALL_DEPTH innermost calls of
 * TIMELINE_CALL_THREADS kernel threads. So a call has no event where it began before the timeline,
 * or where a virtual thread has changed its carrier meanwhile. The note is made and looked for in
 * every hook while the timeline runs.
 *
 * Called on the thread itself. Nothing here locks, blocks, logs or allocates.
 */
#ifndef TREADLE_THREAD_TIMELINE_H
#define TREADLE_THREAD_TIMELINE_H

#include "native/timeline/timeline.h"

struct kernel_thread;

/* What a kernel thread knows of the timeline. */
struct timeline_mark {
    uint32_t number;              /* of the timeline that the other fields are of */
    bool has_calls;               /* room for its calls was asked for */
    uint64_t told_id;             /* java_id of the thread that it was told of last */
    ledger_ref told;              /* the same thread's record */
    struct timeline_calls *calls; /* or NULL */
};

/* The thread begins to wait; goes on. */
void thread_timeline__wait(struct kernel_thread *kernel_thread, enum ledger_metric reason);
void thread_timeline__waited(struct kernel_thread *kernel_thread, enum ledger_metric reason);

/* The wait that has just begun is for a lock. */
void thread_timeline__lock(struct kernel_thread *kernel_thread, const struct timeline_lock *lock);

/* A call was entered at now_ns of the ledger's clock, with that token; returns. */
__attribute__((noinline, cold)) void thread_timeline__entered(struct kernel_thread *kernel_thread,
                                                              ledger_ref method, uint64_t token,
                                                              uint64_t now_ns);
__attribute__((noinline, cold)) void thread_timeline__left(struct kernel_thread *kernel_thread,
                                                           uint64_t token, uint64_t now_ns);

#endif
