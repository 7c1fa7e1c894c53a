/*
 * Reading and writing class files: big-endian numbers, every read checked against the end of the
 * part that contains it (JVMS chapter 4). Independent of any JVM.
 *
 * A reader remembers its first failure and returns zeroes from then on, so that a caller may read a
 * whole structure and check once. A writer treats failed allocations the same way. Any thread; not
 * in hooks.
 */
#ifndef TREADLE_CLASS_FILE_H
#define TREADLE_CLASS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is wrong with a class file; expected is NULL while nothing is wrong. */
struct class_error {
    size_t offset;
    const char *expected;
};

/* A part of a class file that is being read. Parts of parts share the error. */
struct class_reader {
    const uint8_t *bytes; /* the whole class file: offsets count from here */
    size_t at;
    size_t end;
    struct class_error *error;
};

bool class_reader__ok(const struct class_reader *reader);
/* Records the first failure only; later reads behave as at the end of the part. */
void class_reader__fail(struct class_reader *reader, size_t offset, const char *expected);

uint8_t class_reader__u1(struct class_reader *reader);
uint16_t class_reader__u2(struct class_reader *reader);
uint32_t class_reader__u4(struct class_reader *reader);
/* Returns the bytes that were skipped, or NULL. */
const uint8_t *class_reader__skip(struct class_reader *reader, size_t bytes);
/* Returns a reader of the next bytes; the given reader continues behind them. */
struct class_reader class_reader__part(struct class_reader *reader, size_t bytes);

static inline uint16_t big_endian_u2(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t big_endian_u4(const uint8_t *bytes)
{
    return (uint32_t)big_endian_u2(bytes) << 16 | big_endian_u2(bytes + 2);
}

/* A buffer that grows; all zero is empty. After a failed allocation nothing more is written. */
struct class_writer {
    uint8_t *bytes;
    size_t length;
    size_t capacity;
    bool failed;
};

void class_writer__u1(struct class_writer *writer, uint32_t value);
void class_writer__u2(struct class_writer *writer, uint32_t value);
void class_writer__u4(struct class_writer *writer, uint32_t value);
void class_writer__copy(struct class_writer *writer, const uint8_t *bytes, size_t length);
/* Overwrite what was written at an earlier offset. */
void class_writer__set_u2(struct class_writer *writer, size_t offset, uint32_t value);
void class_writer__set_u4(struct class_writer *writer, size_t offset, uint32_t value);
void class_writer__close(struct class_writer *writer);

#endif
