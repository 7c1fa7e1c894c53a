/*
 * Puts the hooks into one method's Code attribute. `enter` returns a token. The token stays in a
 * local variable of its own, behind all others, and tells the other hooks which call they belong
 * to:
 *
 *     [aload this; invokestatic first]
 *     ldc id; invokestatic enter; lstore token
 *     …               every return becomes:            lload token; invokestatic leave;
 *                                                      [invokestatic last;] return
 *                     every handler begins with:       lload token; invokestatic caught
 *     lload token; invokestatic leave; [invokestatic last;] athrow
 *
 * A method whose calls are only counted has one hook, at its begin, and no token:
 *
 *     ldc id; invokestatic called
 *
 * Where the holds of monitors are measured, `acquired` is called behind each monitorenter, and
 * `released` behind each monitorexit. A synchronized method begins with `acquired` and calls
 * `releasing` before each `leave`.
 *
 * Where a shared lock is acquired or released, `sharing` is called before all that, or before the
 * `leave` of each return, with what is about to be returned (agent/classfile/sharing_hook.h).
 *
 * The last line handles everything thrown from behind the enter hook on, hooks and returns
 * included, so leaving twice must be harmless. Its exception ranges are the last in the table: they
 * see only what leaves the frame, and the method's own entries keep their indices.
 *
 * A constructor with a stack map has the last line twice, because a frame says whether `this` is
 * initialised: once for code in which `this` surely is, once for code in which it surely is not
 * (constructor_flow.h). An exception thrown by the constructor's call of another constructor leaves
 * without a hook. So does an exception thrown by the constructor of java.lang.Object
 * (class_rewriter.c).
 *
 * `caught` corrects for hooks that were missed below: an exception of the JVM's own (a stack
 * overflow in the call of a hook) may end frames without their leave. Not every handler can have a
 * `caught`; code_layout.c says which cannot. One thread at a time.
 */
#ifndef TREADLE_CODE_REWRITER_H
#define TREADLE_CODE_REWRITER_H

#include "agent/classfile/class_file.h"
#include "agent/classfile/constant_pool.h"
#include "agent/classfile/method_code.h"
#include "agent/classfile/sharing_hook.h"

enum method_outcome {
    METHOD_HOOKED,
    METHOD_NOT_CHOSEN,
    METHOD_WITHOUT_CODE,
    /* not hooked, because: */
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
    bool is_prepared_to_count;
    uint32_t this_class; /* indices in the pool from here on; those of the hooks 0 if it is full */
    uint32_t owner;
    uint32_t called;
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
    bool is_constructor; /* `this` is not initialised at first */
    bool is_uncovered;   /* no catch-all: exceptions leave without a hook */
    bool is_counted;     /* its only hook is the first line, a call of `called` */
    uint32_t id;
    bool has_monitors; /* the holds of its monitors are measured; and of its own one */
    bool has_own_monitor;
    const char *first; /* a method of the hooks' class that is called with `this` first; or NULL */
    struct sharing_hook sharing;
    const char *last; /* a method of the hooks' class that is called wherever this one is left; or
                         NULL */
};

/* Adds the constants that all hooked methods, or all counted ones, share to the pool, once, even if
 * no method uses them: a method that is not hooked takes back only its own constants. */
void code_rewriter__prepare(struct code_rewriter *rewriter, bool counted);

/* Writes the content of the new Code attribute; call the function above first. On any outcome but
 * METHOD_HOOKED what was written is useless. 0, -ENOMEM, or -EBADMSG: the reader of the old content
 * says what is malformed. */
int code_rewriter__rewrite(struct code_rewriter *rewriter, const struct hooked_method *method,
                           struct class_reader *reader, struct class_writer *writer,
                           enum method_outcome *outcome);

#endif
