/*
 * Puts hooks into the methods of a class file, of version 45 to 69: calls of two static methods
 * `enter(I)V` and `leave(I)V` of one class (agent/code_rewriter.h says where). All else of the
 * class stays as it was; the constant pool is only appended to. Knows no JVM, touches nothing but
 * its arguments, takes time about linear in the class's size. Any thread; not in hooks.
 */
#ifndef TREADLE_CLASS_REWRITER_H
#define TREADLE_CLASS_REWRITER_H

#include "agent/class_file.h"
#include "agent/code_rewriter.h"
#include "agent/constant_pool.h"

#define CLASS_VERSION_LEAST 45u
#define CLASS_VERSION_MOST  69u

/* One method of the class, as the file has it. */
struct class_method {
    struct class_text class_name; /* internal: `java/lang/String` */
    struct class_text name;
    struct class_text descriptor;
    uint16_t access_flags;
    const uint8_t *code;
    uint32_t code_length;
};

/* Whether the method gets hooks, and the number that they pass. Texts last until it returns. It is
 * asked before it is known whether hooks fit: a number may stay unused. */
typedef bool (*choose_method)(void *context, const struct class_method *method, uint32_t *id);

struct class_rewrite {
    uint8_t *bytes; /* the new class file, the caller's to free; NULL: leave the class as it is */
    size_t length;
    uint32_t methods[METHOD_OUTCOMES]; /* counted by enum method_outcome */
    struct class_error error;          /* what was malformed, if anything */
};

/* 0, also if there was nothing to hook; -EBADMSG: malformed; -ENOTSUP: of another version, which is
 * in error as well; -ENOMEM. *rewrite is filled in any case. */
int class_rewriter__rewrite(const uint8_t *bytes, size_t length, const char *hook_class,
                            choose_method choose, void *context, struct class_rewrite *rewrite);

/* For reports: `the code would be too large`. */
const char *method_outcome__text(enum method_outcome outcome);

#endif
