/*
 * Do samples agree with where threads' paths say that they stand? A path changes with events only;
 * a frame without hooks may return without one. So a thread that samples find elsewhere again and
 * again, with no event in between, is put where its stack says, and that is counted.
 *
 * One sample alone proves nothing: of compiled code that was interrupted, inlined methods are known
 * near its calls only. By the profiler's own thread.
 */
#ifndef TREADLE_POSITION_WATCH_H
#define TREADLE_POSITION_WATCH_H

#include "native/sampling/sample_buffers.h"
#include "native/thread/kernel_thread_table.h"

#include <stdbool.h>

struct position_watch;

struct position_watches {
    struct kernel_thread_table *threads;
    struct ledger *ledger;
    struct position_watch *watches; /* uthash, by thread */
};

/* A sample of CPU time, or of wall time of a thread that ran, and the node that stands on its
 * stack: the sample's, or one above. True if it is certain that the sample belongs there. */
bool position_watch__note(struct position_watches *watches, const struct sample *sample,
                          ledger_ref stands);

#endif
