#include "native/unwind/encoded_pointer.h"

/* The low four bits of an encoding say how the pointer is written, the next three what it is
 * counted from. */
#define FORMAT 0x0fu
#define BASE   0x70u
#define SIGNED 0x08u

enum pointer_format {
    FORMAT_ADDRESS = 0,
    FORMAT_LEB = 1,
    FORMAT_2 = 2,
    FORMAT_4 = 3,
    FORMAT_8 = 4
};

enum pointer_base { FROM_ZERO = 0x00, FROM_ITSELF = 0x10, FROM_DATA = 0x30 };

#define INDIRECT 0x80u

static const uint8_t format_bytes[] = {
    [FORMAT_ADDRESS] = sizeof(void *),
    [FORMAT_LEB] = 0,
    [FORMAT_2] = 2,
    [FORMAT_4] = 4,
    [FORMAT_8] = 8,
};

static bool has_format(uint8_t encoding)
{
    return (encoding & FORMAT & ~SIGNED) < sizeof(format_bytes);
}

size_t encoded_pointer__bytes(uint8_t encoding)
{
    return has_format(encoding) ? format_bytes[encoding & FORMAT & ~SIGNED] : 0;
}

static uint64_t sign_extended(uint64_t value, size_t bytes)
{
    unsigned shift = (unsigned)(64 - 8 * bytes);

    return (uint64_t)((int64_t)(value << shift) >> shift);
}

static uint64_t read_value(struct byte_cursor *cursor, uint8_t encoding)
{
    size_t bytes = encoded_pointer__bytes(encoding);
    uint64_t value;

    if (bytes == 0)
        return byte_cursor__leb128(cursor, encoding & SIGNED);
    value = byte_cursor__number(cursor, bytes);
    return encoding & SIGNED ? sign_extended(value, bytes) : value;
}

uint64_t encoded_pointer__read(struct byte_cursor *cursor, uint8_t encoding,
                               const struct pointer_bases *bases)
{
    uint64_t own = bases->address + (uint64_t)(cursor->at - bases->bytes);
    uint64_t value;

    if (!has_format(encoding) || encoding & INDIRECT) {
        cursor->failed = true;
        return 0;
    }
    value = read_value(cursor, encoding);
    switch (encoding & BASE) {
    case FROM_ZERO:
        return value;
    case FROM_ITSELF:
        return value + own;
    case FROM_DATA:
        return value + bases->data;
    default:
        cursor->failed = true;
        return 0;
    }
}
