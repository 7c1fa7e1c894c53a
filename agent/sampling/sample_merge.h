/*
 * From raw samples to sampled nodes: aligns the frames of a sample with the exact tree, by finding
 * the frame that is the current exact node's, and merges what lies above it into the tree. The
 * frames' names are frame_names', what is missing of virtual threads' is virtual_stacks', and the
 * place of the top frame is sample_places'. On the profiler's own thread only, under the snapshot
 * lock.
 */
#ifndef TREADLE_SAMPLE_MERGE_H
#define TREADLE_SAMPLE_MERGE_H

#include "agent/sampling/frame_names.h"
#include "agent/sampling/frame_tally.h"
#include "agent/sampling/position_watch.h"
#include "agent/sampling/virtual_stacks.h"
#include "native/ledger/record_pool.h"
#include "native/sampling/sample_buffers.h"
#include "native/sampling/sample_time.h"
#include "native/snapshot/process_scan.h"
#include "native/thread/kernel_thread_table.h"

/* What one sample needs; the next one overwrites it. Too large for the stack. */
struct merge_room {
    struct named_frames frames;
    ledger_ref nodes[NAMED_FRAMES_MAX]; /* of the exact path, innermost first */
    struct java_method *walked[NAMED_FRAMES_MAX];
    struct java_method *path[NAMED_FRAMES_MAX];
    struct java_method *standing[NAMED_FRAMES_MAX];
};

struct sample_merge {
    struct ledger *ledger;
    const struct process_scan *scan;
    struct kernel_thread_table *threads; /* set after the beginning; NULL: nobody to ask */
    struct frame_names names;
    struct virtual_stacks stacks;
    struct record_pool pool;
    struct position_watches positions;
    struct frame_tallies tallies;
    struct sample_time time;
    struct merge_room room; /* the last: memory that no sample needed is never touched */
};

void sample_merge__init(struct sample_merge *merge, struct ledger *ledger,
                        const struct process_scan *scan, const struct stack_walker *walker,
                        struct java_methods *methods, struct compiled_code *code);

/* Memory in use, with that of the symbols and of the code that samples met. */
size_t sample_merge__bytes(struct sample_merge *merge);

/* A sample_visit; context: the struct sample_merge. */
void sample_merge__add(void *context, const struct sample *sample);

#endif
