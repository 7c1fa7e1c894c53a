/*
 * The StackMapTable attribute (JVMS 4.7.4): its frames at the new positions, with frames of their
 * own for trampolines and for the handler at the end. One thread at a time.
 */
#ifndef TREADLE_STACK_MAP_H
#define TREADLE_STACK_MAP_H

#include "agent/class_file.h"
#include "agent/code_layout.h"
#include "agent/constant_pool.h"

struct stack_map_method {
    const struct code_layout *layout;
    struct constant_pool *pool; /* trampolines may need classes that it has not */
    struct class_text descriptor;
    uint32_t this_class; /* index in the pool */
    bool is_static;
    bool is_constructor; /* one whose `this` is not initialised at first */
    uint32_t throwable;  /* the handler's class in the pool; 0: there is no handler */
};

/* Writes the attribute's content. The reader holds the old content, NULL if there was none, and
 * knows whether it was well-formed. 0, -ENOMEM, -EBADMSG, or -ENOSPC: the pool is full. */
int stack_map__write(const struct stack_map_method *method, struct class_reader *reader,
                     struct class_writer *writer);

#endif
