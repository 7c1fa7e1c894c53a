/* Field and method descriptors (JVMS 4.3), as `(ILjava/lang/String;[J)V`. Any thread. */
#ifndef TREADLE_DESCRIPTOR_H
#define TREADLE_DESCRIPTOR_H

#include "agent/classfile/constant_pool.h"

/* The types of a method descriptor's arguments, in order. */
struct descriptor_arguments {
    struct class_text text;
    uint32_t at;
};

/* false: not a method descriptor. */
bool descriptor__begin(struct descriptor_arguments *arguments, struct class_text text);
/* Returns the next argument's type; its length is zero behind the last one. false: malformed. */
bool descriptor__next(struct descriptor_arguments *arguments, struct class_text *type);

/* Slots of a local variable or the operand stack. */
uint32_t descriptor__slots(struct class_text type);

/* Slots of all arguments, without `this`, and of the result. false: malformed. */
bool descriptor__method_slots(struct class_text text, uint32_t *arguments, uint32_t *result);

#endif
