/* Reads numbers from untrusted bytes, in the machine's own byte order. Beyond the end every number
 * is 0 and `failed` stays set. Async-signal-safe. */
#ifndef TREADLE_BYTE_CURSOR_H
#define TREADLE_BYTE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct byte_cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static inline struct byte_cursor byte_cursor__of(const uint8_t *bytes, size_t length)
{
    return (struct byte_cursor){bytes, bytes + length, false};
}

static inline size_t byte_cursor__left(const struct byte_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* Returns the next bytes; NULL if there are fewer. */
static inline const uint8_t *byte_cursor__take(struct byte_cursor *cursor, uint64_t length)
{
    const uint8_t *taken = cursor->at;

    if (cursor->failed || length > byte_cursor__left(cursor)) {
        cursor->failed = true;
        cursor->at = cursor->end;
        return NULL;
    }
    cursor->at += length;
    return taken;
}

/* Reads an unsigned number of 1, 2, 4 or 8 bytes. */
static inline uint64_t byte_cursor__number(struct byte_cursor *cursor, size_t bytes)
{
    const uint8_t *taken = byte_cursor__take(cursor, bytes);
    uint64_t value = 0;
    uint32_t word;
    uint16_t half;

    if (!taken)
        return 0;
    if (bytes == 1)
        return *taken;
    if (bytes == 2) {
        memcpy(&half, taken, sizeof(half));
        return half;
    }
    if (bytes == 4) {
        memcpy(&word, taken, sizeof(word));
        return word;
    }
    memcpy(&value, taken, sizeof(value));
    return value;
}

static inline uint64_t byte_cursor__leb128(struct byte_cursor *cursor, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;

    do {
        byte = byte_cursor__number(cursor, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && (byte & 0x40))
        value |= ~UINT64_C(0) << shift;
    return value;
}

static inline uint64_t byte_cursor__uleb(struct byte_cursor *cursor)
{
    return byte_cursor__leb128(cursor, false);
}

static inline int64_t byte_cursor__sleb(struct byte_cursor *cursor)
{
    return (int64_t)byte_cursor__leb128(cursor, true);
}

#endif
