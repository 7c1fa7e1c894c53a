/*
 * Compares samples with the positions that threads' paths say. A path changes with events only, but
 * a frame without hooks may return without an event. So a thread that samples find at another
 * position repeatedly, with no event in between, is moved to the position that its stack says, and
 * the correction is counted.
 *
 * One sample alone proves nothing: where compiled code was interrupted, inlined methods are known
 * near its calls only. For the profiler's own thread.
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

/* Examines a sample of CPU time, or of wall time of a running thread, and the node that is on its
 * stack: the sample's node, or an ancestor. True if the sample certainly belongs to that node. */
bool position_watch__note(struct position_watches *watches, const struct sample *sample,
                          ledger_ref stands);

#endif
