/*
 * A chunk of the JDK's Flight Recorder format, version 2: a header, events, constants, and the
 * description of the types of both, by which readers read them. Integers are compressed: seven bits
 * a byte, the lowest first, eight in a ninth.
 */
#ifndef TREADLE_JFR_CHUNK_H
#define TREADLE_JFR_CHUNK_H

#include "tools/report/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The numbers of types of events and constants in the file. */
enum jfr_type {
    JFR_METADATA,
    JFR_CONSTANTS,
    JFR_BOOLEAN = 4,
    JFR_INT = 10,
    JFR_LONG = 11,
    JFR_STRING = 20,
    JFR_CLASS,
    JFR_THREAD,
    JFR_CLASS_LOADER,
    JFR_PACKAGE,
    JFR_FRAME_TYPE,
    JFR_THREAD_STATE,
    JFR_STACK_TRACE,
    JFR_STACK_FRAME,
    JFR_METHOD,
    JFR_SYMBOL,
    JFR_LABEL,
    JFR_CATEGORY,
    JFR_TIMESTAMP,
    JFR_TIMESPAN,
    JFR_EXECUTION_SAMPLE = 100,
    JFR_NATIVE_METHOD_SAMPLE,
    JFR_LEDGER,
};

/* Bytes in memory. Zero it to begin; release `bytes` with free. */
struct jfr_bytes {
    uint8_t *bytes;
    size_t room;
    size_t count;
};

void jfr_bytes__number(struct jfr_bytes *bytes, uint64_t value);

/* A number that readers take as one of 32 bits. */
void jfr_bytes__int(struct jfr_bytes *bytes, int32_t value);
void jfr_bytes__append(struct jfr_bytes *bytes, const struct jfr_bytes *more);
void jfr_bytes__text(struct jfr_bytes *bytes, struct text text);

/* Begins and ends an event, or a part that is laid out as an event is: its size stands in front. */
size_t jfr_bytes__begin(struct jfr_bytes *bytes, enum jfr_type type, uint64_t ticks);
void jfr_bytes__end(struct jfr_bytes *bytes, size_t begin);

/* The description of all types; `weight_is_time`: events' weights are nanoseconds. */
void jfr_metadata__write(struct jfr_bytes *bytes, bool weight_is_time);

/* Ticks are nanoseconds from start_ns on. */
struct jfr_chunk {
    uint64_t start_ns; /* since the epoch */
    uint64_t duration_ns;
    struct jfr_bytes events;
    struct jfr_bytes constants; /* as one event */
    struct jfr_bytes metadata;
};

/* Errors are left to the stream's ferror(). */
void jfr_chunk__write(const struct jfr_chunk *chunk, FILE *out);

#endif
