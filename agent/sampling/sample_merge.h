/*
 * From raw samples to sampled nodes: names the frames, unfolds what is inlined, finds the frame
 * that is the current exact node's, and merges what lies above it into the tree. On the profiler's
 * own thread only, under the snapshot lock.
 */
#ifndef TREADLE_SAMPLE_MERGE_H
#define TREADLE_SAMPLE_MERGE_H

#include "agent/hotspot/stack_walk.h"
#include "agent/sampling/compiled_code.h"
#include "agent/sampling/frame_tally.h"
#include "agent/sampling/java_methods.h"
#include "agent/sampling/position_watch.h"
#include "agent/sampling/sampled_symbols.h"
#include "native/ledger/record_pool.h"
#include "native/sampling/kernel_stacks.h"
#include "native/sampling/sample_buffers.h"
#include "native/sampling/sample_time.h"
#include "native/snapshot/process_scan.h"
#include "native/thread/kernel_thread_table.h"

/* What is known of the kernel's side of a sample that this kernel thread took then (in the ledger's
 * time). False: nothing. */
typedef bool (*sample_kernel_stack)(void *context, int32_t tid, uint64_t when_ns,
                                    struct kernel_stack *stack);

struct sample_merge {
    struct ledger *ledger;
    const struct process_scan *scan;
    struct kernel_thread_table *threads; /* set after the beginning; NULL: nobody to ask */
    const struct stack_walker *walker;
    struct java_methods *methods;
    struct compiled_code *code;
    struct sampled_symbols symbols;
    struct record_pool pool;
    struct exact_method *exact; /* uthash, by record */
    struct position_watches positions;
    struct frame_tallies tallies;
    struct known_stack *stacks; /* uthash, by thread: of virtual threads, as told or sampled last */
    struct sample_time time;
    sample_kernel_stack kernel_stack; /* NULL: nothing is known */
    void *kernel_context;
    bool keys_are_ids; /* a method's record is named by its jmethodID: events=jvmti */
};

void sample_merge__init(struct sample_merge *merge, struct ledger *ledger,
                        const struct process_scan *scan, const struct stack_walker *walker,
                        struct java_methods *methods, struct compiled_code *code);

/* Memory in use, with that of the symbols and of the code that samples met. */
size_t sample_merge__bytes(struct sample_merge *merge);

/* A sample_visit; context: the struct sample_merge. */
void sample_merge__add(void *context, const struct sample *sample);

#endif
