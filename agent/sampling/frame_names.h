/*
 * The names of a sample's frames: each raw frame becomes one named frame or, where methods are
 * inlined in compiled code, several. The names of Java methods come from java_methods and
 * compiled_code, those of native and kernel functions from sampled_symbols, those of stubs from
 * stub_symbols.
 *
 * Also the two directions between a method's record in the ledger and the method that samples know,
 * so that exact and sampled frames can be compared. On the thread that merges samples only.
 */
#ifndef TREADLE_FRAME_NAMES_H
#define TREADLE_FRAME_NAMES_H

#include "agent/hotspot/stack_walk.h"
#include "agent/sampling/compiled_code.h"
#include "agent/sampling/java_methods.h"
#include "agent/sampling/stub_symbols.h"
#include "native/ledger/ledger.h"
#include "native/sampling/kernel_stacks.h"
#include "native/sampling/sample_buffers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMED_FRAMES_MAX (4 * SAMPLE_FRAMES_MAX) /* with what is inlined */

struct named_frame {
    enum ledger_node_kind kind;
    bool interpreted;
    int32_t bci;
    struct java_method *java;      /* of NODE_SAMPLED */
    struct sampled_symbol *symbol; /* of NODE_NATIVE and NODE_KERNEL; NULL: of all of the kernel */
};

/* The frames of one sample, innermost first. */
struct named_frames {
    uint32_t count;
    uint32_t walked;        /* of these, seen now; those below are what was known */
    uint32_t kernel;        /* of these, the kernel's: the first */
    uint32_t inner;         /* of these, inside the logical frame; UINT32_MAX: not known */
    uint32_t top_count;     /* of these, in the innermost piece of code */
    uint32_t above_unnamed; /* of these, above the youngest Java frame without a name */
    struct compiled_method *top_code; /* where the top frame is a compiled one */
    bool lacks_rest; /* a virtual thread's: frames below the last walked one are in the heap */
    struct named_frame frame[NAMED_FRAMES_MAX];
};

/* What is known of the kernel's side of a sample that this kernel thread took then (in the ledger's
 * time). False: nothing. */
typedef bool (*sample_kernel_stack)(void *context, int32_t tid, uint64_t when_ns,
                                    struct kernel_stack *stack);

struct frame_names {
    struct ledger *ledger;
    const struct stack_walker *walker;
    struct java_methods *methods;
    struct compiled_code *code;
    struct sampled_symbols symbols;
    struct stub_symbols stubs;
    struct exact_method *exact;       /* uthash, by record */
    sample_kernel_stack kernel_stack; /* NULL: nothing is known */
    void *kernel_context;
    bool keys_are_ids; /* a method's record is named by its jmethodID: events=jvmti */
};

void frame_names__init(struct frame_names *names, struct ledger *ledger,
                       const struct stack_walker *walker, struct java_methods *methods,
                       struct compiled_code *code);

/* The frames of a sample, replacing what was in frames. Those of a virtual thread end where its
 * continuation was entered. Frames without a name, as of methods whose class is gone by now, are
 * left out, and so are those beyond NAMED_FRAMES_MAX. */
void frame_names__read(struct frame_names *names, const struct sample *sample, bool is_virtual,
                       struct named_frames *frames);

/* Adds a Java frame below the others; nothing if method is NULL or there is no room. bci: -1 if it
 * is not known. */
void named_frames__add_java(struct named_frames *frames, struct java_method *method, int32_t bci,
                            bool interpreted);

/* The method that a record of an exact node names; NULL: no memory. */
struct java_method *frame_names__method_of(struct frame_names *names, ledger_ref record);

/* The record of a method, made if there is none: then its key is one that no exact node's method
 * ever has. 0: the ledger is full. */
ledger_ref frame_names__record_of(const struct frame_names *names, struct java_method *method);

/* What the code cache has at an address. False: nothing, or its memory cannot be read. */
bool frame_names__find_blob(const struct frame_names *names, uint64_t address,
                            struct code_blob *blob);

/* Memory in use, with that of the methods, the symbols and the code that samples met. */
size_t frame_names__bytes(struct frame_names *names);

#endif
