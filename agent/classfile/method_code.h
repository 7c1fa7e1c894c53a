/*
 * A method's Code attribute (JVMS 4.7.3), split into its parts. The parts point into the class
 * file. One thread at a time.
 */
#ifndef TREADLE_METHOD_CODE_H
#define TREADLE_METHOD_CODE_H

#include "agent/classfile/class_file.h"

#define METHOD_CODE_BYTES_MAX 65535u

struct method_code {
    uint16_t max_stack;
    uint16_t max_locals;
    uint32_t length;
    const uint8_t *bytes;
    const uint8_t *exceptions; /* method_code__exception reads them */
    uint16_t exception_count;
    uint16_t attribute_count;
    struct class_reader attributes;
};

/* Code offsets; the end is exclusive. */
struct exception_range {
    uint16_t start;
    uint16_t end;
    uint16_t handler;
    uint16_t catch_type;
};

/* The reader holds the attribute's content and records whether it was well-formed. */
void method_code__read(struct method_code *method, struct class_reader *reader);

struct exception_range method_code__exception(const struct method_code *method, uint32_t index);

/* The offset in the class file of the code byte at pc, for messages. */
size_t method_code__offset(const struct method_code *method, uint32_t pc);

#endif
