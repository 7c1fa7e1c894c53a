#include "tools/export/jfr_chunk.h"

#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES   68u
#define SIZE_BYTES     5u /* a size that is not known yet has room for 35 bits */
#define STRING_EMPTY   1u
#define STRING_UTF8    3u
#define TICKS_A_SECOND UINT64_C(1000000000)
#define COMPRESSED     1u /* the flag that says so of integers */

static void put(struct jfr_bytes *bytes, const void *from, size_t count)
{
    bytes->bytes = memory__grown(bytes->bytes, &bytes->room, bytes->count + count, 1);
    memcpy(bytes->bytes + bytes->count, from, count);
    bytes->count += count;
}

void jfr_bytes__append(struct jfr_bytes *bytes, const struct jfr_bytes *more)
{
    if (more->count)
        put(bytes, more->bytes, more->count);
}

void jfr_bytes__number(struct jfr_bytes *bytes, uint64_t value)
{
    uint8_t digits[9];
    size_t count = 0;

    for (; count < 8 && value > 0x7f; value >>= 7)
        digits[count++] = (uint8_t)(value | 0x80);
    digits[count++] = (uint8_t)value;
    put(bytes, digits, count);
}

void jfr_bytes__int(struct jfr_bytes *bytes, int32_t value)
{
    jfr_bytes__number(bytes, (uint32_t)value);
}

void jfr_bytes__text(struct jfr_bytes *bytes, struct text text)
{
    jfr_bytes__number(bytes, text.length ? STRING_UTF8 : STRING_EMPTY);
    if (!text.length)
        return;
    jfr_bytes__number(bytes, text.length);
    put(bytes, text.bytes, text.length);
}

size_t jfr_bytes__begin(struct jfr_bytes *bytes, enum jfr_type type, uint64_t ticks)
{
    static const uint8_t size[SIZE_BYTES] = {0};
    size_t begin = bytes->count;

    put(bytes, size, sizeof(size));
    jfr_bytes__number(bytes, type);
    jfr_bytes__number(bytes, ticks);
    return begin;
}

void jfr_bytes__end(struct jfr_bytes *bytes, size_t begin)
{
    size_t size = bytes->count - begin;

    for (size_t i = 0; i < SIZE_BYTES; i++, size >>= 7)
        bytes->bytes[begin + i] = (uint8_t)((size & 0x7f) | (i + 1 < SIZE_BYTES ? 0x80 : 0));
}

static void put_fixed(struct jfr_bytes *bytes, uint64_t value, unsigned width)
{
    for (unsigned i = width; i-- > 0;)
        put(bytes, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

void jfr_chunk__write(const struct jfr_chunk *chunk, FILE *out)
{
    struct jfr_bytes header = {0};
    uint64_t constants_at = HEADER_BYTES + chunk->events.count;
    uint64_t metadata_at = constants_at + chunk->constants.count;

    put(&header, "FLR", 4);
    put_fixed(&header, 2, 2);
    put_fixed(&header, 0, 2);
    put_fixed(&header, metadata_at + chunk->metadata.count, 8);
    put_fixed(&header, constants_at, 8);
    put_fixed(&header, metadata_at, 8);
    put_fixed(&header, chunk->start_ns, 8);
    put_fixed(&header, chunk->duration_ns, 8);
    put_fixed(&header, 0, 8); /* ticks at its start */
    put_fixed(&header, TICKS_A_SECOND, 8);
    put_fixed(&header, COMPRESSED, 4);
    fwrite(header.bytes, 1, header.count, out);
    fwrite(chunk->events.bytes, 1, chunk->events.count, out);
    fwrite(chunk->constants.bytes, 1, chunk->constants.count, out);
    fwrite(chunk->metadata.bytes, 1, chunk->metadata.count, out);
    free(header.bytes);
}
