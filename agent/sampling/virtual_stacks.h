/*
 * The stacks of virtual threads, as they were known last. When a virtual thread runs again after a
 * wait, most of its frames are not on its carrier's stack, so that a sample sees the innermost ones
 * only. What lies below a frame stays until that frame returns, so an earlier whole stack says what
 * is missing.
 *
 * Kept for a bounded number of threads. For the thread that merges samples only.
 */
#ifndef TREADLE_VIRTUAL_STACKS_H
#define TREADLE_VIRTUAL_STACKS_H

#include "agent/sampling/frame_names.h"
#include "native/ledger/ledger.h"
#include "native/sampling/sample_buffers.h"

#include <stddef.h>

/* All zero but for the ledger: no stack is known yet. */
struct virtual_stacks {
    struct ledger *ledger;
    struct known_stack *known; /* uthash, by thread */
};

/* A sample with SAMPLE_IS_STACK: the whole stack of its thread, as JVMTI has it. Each frame is a
 * struct java_method. */
void virtual_stacks__note_recorded(struct virtual_stacks *stacks, const struct sample *sample);

/* A sample that saw the whole stack of its thread, and the frames of that sample. */
void virtual_stacks__note_sampled(struct virtual_stacks *stacks, const struct sample *sample,
                                  const struct named_frames *frames);

/* Adds to the frames of a partial sample what is known to lie below the last one; nothing if the
 * exact path has a method that is not there: then the known stack is of another time. */
void virtual_stacks__complete(const struct virtual_stacks *stacks, struct frame_names *names,
                              const struct sample *sample, struct named_frames *frames);

/* Memory in use. */
size_t virtual_stacks__bytes(const struct virtual_stacks *stacks);

#endif
