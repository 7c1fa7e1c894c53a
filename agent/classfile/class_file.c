#include "agent/classfile/class_file.h"

#include <stdlib.h>
#include <string.h>

#define WRITER_LEAST_BYTES 1024u

bool class_reader__ok(const struct class_reader *reader)
{
    return reader->error->expected == NULL;
}

void class_reader__fail(struct class_reader *reader, size_t offset, const char *expected)
{
    if (reader->error->expected)
        return;
    reader->error->offset = offset;
    reader->error->expected = expected;
}

const uint8_t *class_reader__skip(struct class_reader *reader, size_t bytes)
{
    const uint8_t *here;

    if (!class_reader__ok(reader))
        return NULL;
    if (bytes > reader->end - reader->at) {
        class_reader__fail(reader, reader->at, "more bytes");
        return NULL;
    }
    here = reader->bytes + reader->at;
    reader->at += bytes;
    return here;
}

uint8_t class_reader__u1(struct class_reader *reader)
{
    const uint8_t *here = class_reader__skip(reader, 1);

    return here ? *here : 0;
}

uint16_t class_reader__u2(struct class_reader *reader)
{
    const uint8_t *here = class_reader__skip(reader, 2);

    return here ? big_endian_u2(here) : 0;
}

uint32_t class_reader__u4(struct class_reader *reader)
{
    const uint8_t *here = class_reader__skip(reader, 4);

    return here ? big_endian_u4(here) : 0;
}

struct class_reader class_reader__part(struct class_reader *reader, size_t bytes)
{
    struct class_reader part = *reader;

    if (class_reader__skip(reader, bytes))
        part.end = part.at + bytes;
    else
        part.end = part.at;
    return part;
}

static uint8_t *make_room(struct class_writer *writer, size_t bytes)
{
    size_t needed = writer->length + bytes;
    uint8_t *here;

    if (writer->failed)
        return NULL;
    if (needed > writer->capacity) {
        size_t capacity = needed + needed / 2 + WRITER_LEAST_BYTES;
        uint8_t *grown = realloc(writer->bytes, capacity);

        if (!grown) {
            writer->failed = true;
            return NULL;
        }
        writer->bytes = grown;
        writer->capacity = capacity;
    }
    here = writer->bytes + writer->length;
    writer->length = needed;
    return here;
}

void class_writer__u1(struct class_writer *writer, uint32_t value)
{
    uint8_t *here = make_room(writer, 1);

    if (here)
        *here = (uint8_t)value;
}

static void put_u2(uint8_t *here, uint32_t value)
{
    here[0] = (uint8_t)(value >> 8);
    here[1] = (uint8_t)value;
}

void class_writer__u2(struct class_writer *writer, uint32_t value)
{
    uint8_t *here = make_room(writer, 2);

    if (here)
        put_u2(here, value);
}

void class_writer__u4(struct class_writer *writer, uint32_t value)
{
    class_writer__u2(writer, value >> 16);
    class_writer__u2(writer, value);
}

void class_writer__copy(struct class_writer *writer, const uint8_t *bytes, size_t length)
{
    uint8_t *here = length ? make_room(writer, length) : NULL;

    if (here)
        memcpy(here, bytes, length);
}

void class_writer__set_u2(struct class_writer *writer, size_t offset, uint32_t value)
{
    if (!writer->failed)
        put_u2(writer->bytes + offset, value);
}

void class_writer__set_u4(struct class_writer *writer, size_t offset, uint32_t value)
{
    class_writer__set_u2(writer, offset, value >> 16);
    class_writer__set_u2(writer, offset + 2, value);
}

void class_writer__close(struct class_writer *writer)
{
    free(writer->bytes);
    memset(writer, 0, sizeof(*writer));
}
