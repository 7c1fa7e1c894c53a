/*
 * The StackMapTable attribute (JVMS 4.7.4), rewritten: its frames at the new positions and with the
 * token, a long behind the method's own local variables, and additional frames for trampolines and
 * for the handlers at the end. One thread at a time.
 */
#ifndef TREADLE_STACK_MAP_H
#define TREADLE_STACK_MAP_H

#include "agent/classfile/class_file.h"
#include "agent/classfile/code_layout.h"
#include "agent/classfile/constant_pool.h"

/* The two catch-alls that a method may have behind its own code. */
enum stack_map_handler {
    HANDLER_LAST,
    HANDLER_EARLY, /* of a constructor: where local 0 is the uninitialised `this` */
    HANDLERS,
};

struct stack_map_method {
    const struct code_layout *layout;
    struct constant_pool *pool; /* the first frame may need new class entries */
    struct class_text descriptor;
    uint32_t this_class; /* index in the pool */
    bool is_static;
    bool is_constructor; /* `this` is not initialised at first */
    bool has_token;
    uint32_t token_local;        /* the first local variable behind the method's own */
    uint32_t handlers[HANDLERS]; /* positions, ascending; 0: there is none */
    uint32_t throwable;          /* the class that the handlers catch: its index in the pool */
    uint32_t *bytes_left;        /* for full frames */
};

/* Enough for any plausible class: a full frame may have 65535 local variables. */
#define STACK_MAP_BYTES (16u << 20)

/* Writes the attribute's content. The reader holds the old content (NULL if there was none) and
 * records whether it was well-formed. 0, -ENOMEM, -EBADMSG, LIMIT_POOL, or
 * LIMIT_STACK_MAP_BYTES. */
int stack_map__write(const struct stack_map_method *method, struct class_reader *reader,
                     struct class_writer *writer);

#endif
