/*
 * From where a thread stands to where it began: native frames by their unwind tables, frames of
 * compiled methods by the sizes that the JVM's code says, interpreted ones by their layout.
 *
 * The JVM's AsyncGetCallTrace could do the Java part, but fails for one sample in eight where code
 * is compiled (no last Java frame, not walkable), and it cannot start in the middle.
 */
#ifndef TREADLE_STACK_WALK_H
#define TREADLE_STACK_WALK_H

#include "agent/hotspot/code_cache.h"
#include "native/sampling/sample_buffers.h"
#include "native/unwind/code_images.h"

#include <stdbool.h>
#include <stdint.h>

struct stack_walker {
    struct vm_structs structs;
    struct code_cache code;
    const struct code_images *images;
};

/* Where a thread stands. */
struct stack_position {
    struct frame_registers registers;
    uint64_t bytecode;       /* what the interpreter keeps its bytecode pointer in; 0: not known */
    const void *java_thread; /* its JavaThread, or NULL: runs no Java */
    uint64_t end;            /* of the stack; 0: not known */
    bool faulted;            /* the kernel was entered by a fault of the instruction there */
};

/* When the JVM runs; images: refreshed. False, with what is missing: no Java frames can be walked.
 */
bool stack_walker__open(struct stack_walker *walker, const struct code_images *images,
                        const char **missing);

/* Innermost frame first, into sample->frames (room: at least 2): sets frame_count, failure and
 * SAMPLE_IS_PARTIAL. Native frames below the first Java frame are left out. Async-signal-safe; to
 * be called in a fault guard. What was walked before a fault is in the sample. */
void stack_walk__run(const struct stack_walker *walker, const struct stack_position *position,
                     struct sample *sample, uint32_t room);

#endif
