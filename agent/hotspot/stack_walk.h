/*
 * Walks a stack from the current frame to the thread's first frame: native frames by an engine of
 * native/unwind, frames of compiled methods by the frame sizes in the JVM's code cache, interpreted
 * frames by their layout.
 *
 * The JVM's AsyncGetCallTrace could walk the Java frames, but it fails for one sample in eight in
 * compiled code (no last Java frame, not walkable), and it cannot start in the middle of a stack.
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

/* The registers and stack from which a walk starts. */
struct stack_position {
    struct frame_registers registers;
    struct preserved_registers preserved;
    uint64_t bytecode; /* the register in which the interpreter keeps its bytecode pointer; 0: not
                          known */
    const void *java_thread; /* the thread's JavaThread, or NULL: it runs no Java */
    uint64_t end;            /* of the stack; 0: not known */
    uint64_t place;          /* where the current node lies, a logical frame of native code, or 0 */
    bool faulted;            /* a fault of the instruction at pc entered the kernel */
};

/* To be called when the JVM runs; images: refreshed. False: Java frames cannot be walked; the
 * missing structure is named. */
bool stack_walker__open(struct stack_walker *walker, const struct code_images *images,
                        const char **missing);

/* Walks into sample->frames, innermost frame first (room: at least 2). Sets frame_count, failure,
 * SAMPLE_IS_PARTIAL, and inner_frames where there is a place. Native frames below the first Java
 * frame are left out. Async-signal-safe; to be called in a fault guard. After a fault the frames
 * walked so far are in the sample, and code_images__abandon_step is to be called. */
void stack_walk__run(const struct stack_walker *walker, const struct stack_position *position,
                     struct sample *sample, uint32_t room);

#endif
