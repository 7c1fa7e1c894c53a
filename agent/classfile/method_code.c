#include "agent/classfile/method_code.h"

#include <string.h>

#define EXCEPTION_BYTES 8u

void method_code__read(struct method_code *method, struct class_reader *reader)
{
    memset(method, 0, sizeof(*method));
    method->max_stack = class_reader__u2(reader);
    method->max_locals = class_reader__u2(reader);
    method->length = class_reader__u4(reader);
    if (method->length == 0 || method->length > METHOD_CODE_BYTES_MAX)
        class_reader__fail(reader, reader->at - 4, "a code length of 1 to 65535");
    method->bytes = class_reader__skip(reader, method->length);
    method->exception_count = class_reader__u2(reader);
    method->exceptions =
        class_reader__skip(reader, (size_t)method->exception_count * EXCEPTION_BYTES);
    method->attribute_count = class_reader__u2(reader);
    method->attributes = *reader;
}

struct exception_range method_code__exception(const struct method_code *method, uint32_t index)
{
    const uint8_t *here = method->exceptions + (size_t)index * EXCEPTION_BYTES;

    return (struct exception_range){
        .start = big_endian_u2(here),
        .end = big_endian_u2(here + 2),
        .handler = big_endian_u2(here + 4),
        .catch_type = big_endian_u2(here + 6),
    };
}

size_t method_code__offset(const struct method_code *method, uint32_t pc)
{
    return (size_t)(method->bytes - method->attributes.bytes) + pc;
}
