/*
 * Writes the classes that the agent makes: public, with static members only, no handlers, no
 * tables. The order of calls is that of a class file: begin, the rest of the constant pool,
 * end_pool, the count of fields and these, the count of methods and these, the count of attributes.
 * Names and types are indices in the pool (agent/methods/hook_pool.h). What fails is noted in the
 * writer.
 */
#ifndef TREADLE_MADE_CLASS_H
#define TREADLE_MADE_CLASS_H

#include "agent/classfile/class_file.h"
#include "agent/classfile/constant_pool.h"

#include <stdint.h>

#define ACC_PUBLIC 0x0001u
#define ACC_STATIC 0x0008u
#define ACC_FINAL  0x0010u

/* C1 does not inline a method that wants more stack than C1InlineStackLimit, which is 5 in a JVM
 * that has C2, too, and 10 in one that has not, but calls it; C2 does not ask for that, and inlines
 * what is small where it is called often. It is what methods have that are called at entries and
 * exits: inlined by C1, which writes a profile of each, they slow C1 down, and its code is soon
 * replaced. With it C1 compiles 285 to 320 KB of ecj's bytecode in a second at tier 3; when it
 * inlined hooks it was 240 to 268 KB, without the agent 321 to 351 KB (-XX:+CITime, JDK 25). */
#define STACK_NOT_FOR_C1 8

/* A method in bytecode. */
struct method_text {
    uint16_t access;
    uint16_t name;
    uint16_t type;
    uint16_t max_stack;
    uint16_t max_locals;
    const uint8_t *code;
    uint32_t code_length;
};

/* Up to and with the pool entries that all these classes have. */
void made_class__begin(struct class_writer *out, const char *name, uint32_t pool_count);

/* Entries of the pool: a text; one that refers to two others. */
void made_class__add_text(struct class_writer *out, const char *text);
void made_class__add_pair(struct class_writer *out, enum constant_tag tag, uint32_t first,
                          uint32_t second);

/* From behind the pool to the fields. */
void made_class__end_pool(struct class_writer *out);

void made_class__add_native(struct class_writer *out, uint32_t name, uint32_t type);

/* annotation: its type; 0: none. */
void made_class__add_method(struct class_writer *out, const struct method_text *method,
                            uint32_t annotation);

/* An attribute: one annotation without values. */
void made_class__add_annotation(struct class_writer *out, uint32_t type);

#endif
