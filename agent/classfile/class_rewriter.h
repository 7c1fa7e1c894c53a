/*
 * Puts hooks into the methods of a class file of version 45 to 69: calls of the three static
 * methods `enter(I)J`, `leave(J)V` and `caught(J)V` of one class, and of more where these are
 * wanted (agent/classfile/code_rewriter.h says where). Everything else in the class stays as it
 * was; the constant pool is only appended to. Independent of any JVM; changes only its arguments;
 * takes time about linear in the class's size. Any thread; not in hooks.
 */
#ifndef TREADLE_CLASS_REWRITER_H
#define TREADLE_CLASS_REWRITER_H

#include "agent/classfile/class_file.h"
#include "agent/classfile/code_rewriter.h"
#include "agent/classfile/constant_pool.h"
#include "agent/classfile/sharing_hook.h"

#define CLASS_VERSION_LEAST 45u
#define CLASS_VERSION_MOST  69u
#define ACC_SYNCHRONIZED    0x0020u /* of a method's access_flags */
#define ACC_NATIVE          0x0100u

/* One method of the class, as the file has it. */
struct class_method {
    struct class_text class_name; /* internal: `java/lang/String` */
    struct class_text name;
    struct class_text descriptor;
    uint16_t access_flags;
    bool is_intrinsic; /* annotated as an intrinsic, for which the JVM may have code of its own; any
                          class can say so, but it is true of the JDK's own classes only */
    const uint8_t *code;
    uint32_t code_length;
    uint16_t max_locals; /* variables of the frame, in slots */
};

struct method_choice {
    uint32_t id;   /* of the method, for the listener */
    uint32_t slot; /* what the hooks pass; 0: the id */
    /* A method `(Ljava/lang/Object;)V` of the hooks' class that is called with `this` first, in an
     * instance method (not a constructor); or NULL. Stays valid. */
    const char *first;
    const char *last; /* a method `()V` of the hooks' class that is called last, wherever the method
                         is left; or NULL. Stays valid. */
    bool counted;     /* calls are only counted, unless something else is wanted of the method */
    bool monitors;    /* the holds of the monitors that the method enters are measured */
    struct sharing_hook sharing; /* of an instance method */
};

/* Decides whether the method gets hooks, and which. The texts are valid until the call returns. The
 * rewriter calls this before it knows whether hooks fit, so a number may remain unused. */
typedef bool (*choose_method)(void *context, const struct class_method *method,
                              struct method_choice *choice);

/* Receives the outcome of every method, methods without code included; `id` is that of the choice.
 */
typedef void (*tell_method)(void *context, const struct class_method *method, uint32_t id,
                            enum method_outcome outcome);

struct class_rewrite {
    uint8_t *bytes; /* the new class file, which the caller frees; NULL: leave the class as it is */
    size_t length;
    uint32_t methods[METHOD_OUTCOMES]; /* counted by enum method_outcome */
    uint32_t *hooked;      /* the numbers of the methods with hooks; the caller frees it */
    uint32_t hooked_count; /* … that is, METHOD_HOOKED of the above */
    bool is_interface;
    struct class_error error;      /* what was malformed, if anything */
    struct class_text source_file; /* within the given bytes; empty if not known */
};

/* 0, also if there was nothing to hook; -EBADMSG: malformed; -ENOTSUP: an unsupported version,
 * which is in error as well; -ENOMEM. *rewrite is filled in any case. */
int class_rewriter__rewrite(const uint8_t *bytes, size_t length, const char *hook_class,
                            choose_method choose, void *context, struct class_rewrite *rewrite);

/* The same, with a listener. */
int class_rewriter__rewrite_and_tell(const uint8_t *bytes, size_t length, const char *hook_class,
                                     choose_method choose, tell_method tell, void *context,
                                     struct class_rewrite *rewrite);

#endif
