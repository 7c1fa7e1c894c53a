/*
 * Puts the hooks into one method's Code attribute. `enter` gives a token, which stays in a local
 * variable of its own, behind all others, for the other hooks to tell which call they belong to:
 *
 *     [aload this; invokestatic first]
 *     ldc id; invokestatic enter; lstore token
 *     …               every return becomes:            lload token; invokestatic leave; return
 *                     every handler begins with:       lload token; invokestatic caught
 *     lload token; invokestatic leave; athrow
 *
 * The last line handles everything thrown from behind the enter hook on, hooks and returns
 * included: leaving twice must do no harm. Its exception ranges stand last in the table: it sees
 * only what leaves the frame, and the method's own entries keep their indices.
 *
 * A constructor with a stack map has that line twice, as a frame tells whether `this` is
 * initialised: once for where it surely is, once for where it surely is not (constructor_flow.h).
 * What its call of another constructor throws leaves it without a hook. So does what the
 * constructor of java.lang.Object throws (class_rewriter.c).
 *
 * `caught` is there for the hooks that were missed below: an exception of the JVM's own (a stack
 * overflow in the call of a hook) may take frames away without their leave. Not every handler can
 * have it; code_layout.c says which cannot. One thread at a time.
 */
#ifndef TREADLE_CODE_REWRITER_H
#define TREADLE_CODE_REWRITER_H

#include "agent/classfile/class_file.h"
#include "agent/classfile/constant_pool.h"
#include "agent/classfile/method_code.h"

enum method_outcome {
    METHOD_HOOKED,
    METHOD_NOT_CHOSEN,
    METHOD_WITHOUT_CODE,
    /* left alone, because: */
    METHOD_CODE_TOO_LARGE,
    METHOD_POOL_FULL,
    METHOD_BRANCH_OUT_OF_REACH,
    METHOD_TOO_MANY_HANDLERS,
    METHOD_STACK_TOO_DEEP,
    METHOD_LOCALS_FULL, /* also: of too many frames of the stack map */
    METHOD_CONSTRUCTOR_UNCLEAR,
    METHOD_OUTCOMES,
};

/* What is the same for all methods of a class. */
struct code_rewriter {
    struct constant_pool *pool;
    const char *hook_class;
    uint16_t major_version;
    uint32_t flow_steps_left;
    uint32_t frame_bytes_left;
    bool is_prepared;
    uint32_t this_class; /* indices in the pool from here on; those of the hooks 0 if it is full */
    uint32_t owner;
    uint32_t enter;
    uint32_t leave;
    uint32_t caught;
    uint32_t throwable;
    uint32_t stack_map_name;
};

struct hooked_method {
    struct method_code code;
    struct class_text descriptor;
    bool is_static;
    bool is_constructor; /* one whose `this` is not initialised at first */
    bool is_uncovered;   /* no handler: what it throws does not leave */
    uint32_t id;
    const char *first; /* a method of the hooks' class that is called with `this` first; or NULL */
};

/* Adds what all hooked methods share to the pool, once, even if that is in vain: methods that are
 * left alone take back what is theirs only. */
void code_rewriter__prepare(struct code_rewriter *rewriter);

/* After that: writes the content of the new Code attribute; on any outcome but METHOD_HOOKED what
 * it wrote is of no use. 0, -ENOMEM, or -EBADMSG: the reader, of the old content, knows what is
 * malformed. */
int code_rewriter__rewrite(struct code_rewriter *rewriter, const struct hooked_method *method,
                           struct class_reader *reader, struct class_writer *writer,
                           enum method_outcome *outcome);

#endif
