/*
 * Puts hooks into the methods of a class file, of version 45 to 69: calls of three static methods
 * `enter(I)J`, `leave(J)V` and `caught(J)V` of one class (agent/classfile/code_rewriter.h says
 * where). All else of the class stays as it was; the constant pool is only appended to. Knows no
 * JVM, touches nothing but its arguments, takes time about linear in the class's size. Any thread;
 * not in hooks.
 */
#ifndef TREADLE_CLASS_REWRITER_H
#define TREADLE_CLASS_REWRITER_H

#include "agent/classfile/class_file.h"
#include "agent/classfile/code_rewriter.h"
#include "agent/classfile/constant_pool.h"

#define CLASS_VERSION_LEAST 45u
#define CLASS_VERSION_MOST  69u
#define ACC_NATIVE          0x0100u /* of a method's access_flags */

/* One method of the class, as the file has it. */
struct class_method {
    struct class_text class_name; /* internal: `java/lang/String` */
    struct class_text name;
    struct class_text descriptor;
    uint16_t access_flags;
    bool is_intrinsic; /* says that the JVM may have code of its own for it; true only of its own
                          classes, anyone may say so */
    const uint8_t *code;
    uint32_t code_length;
};

struct method_choice {
    uint32_t id;   /* of the method, for who is told */
    uint32_t slot; /* what the hooks pass; 0: the id */
    /* A method `(Ljava/lang/Object;)V` of the hooks' class that is called with `this` before all
     * else, in a method that has one (no constructor); or NULL. Stays valid. */
    const char *first;
};

/* Whether the method gets hooks, and which. Texts last until it returns. It is asked before it is
 * known whether hooks fit: a number may stay unused. */
typedef bool (*choose_method)(void *context, const struct class_method *method,
                              struct method_choice *choice);

/* Told of every method what became of it, those without code too; `id` is the choice's. */
typedef void (*tell_method)(void *context, const struct class_method *method, uint32_t id,
                            enum method_outcome outcome);

struct class_rewrite {
    uint8_t *bytes; /* the new class file, the caller's to free; NULL: leave the class as it is */
    size_t length;
    uint32_t methods[METHOD_OUTCOMES]; /* counted by enum method_outcome */
    uint32_t *hooked;                  /* the numbers of those with hooks; the caller's to free */
    uint32_t hooked_count;             /* … that is, METHOD_HOOKED of the above */
    bool is_interface;
    struct class_error error;      /* what was malformed, if anything */
    struct class_text source_file; /* in the bytes that were given; empty if it is not known */
};

/* 0, also if there was nothing to hook; -EBADMSG: malformed; -ENOTSUP: of another version, which is
 * in error as well; -ENOMEM. *rewrite is filled in any case. */
int class_rewriter__rewrite(const uint8_t *bytes, size_t length, const char *hook_class,
                            choose_method choose, void *context, struct class_rewrite *rewrite);

/* The same, with somebody to tell. */
int class_rewriter__rewrite_and_tell(const uint8_t *bytes, size_t length, const char *hook_class,
                                     choose_method choose, tell_method tell, void *context,
                                     struct class_rewrite *rewrite);

#endif
