/*
 * Numbers as people read them: three or four digits, a unit, never more than QUANTITY_COLUMNS
 * columns.
 */
#ifndef TREADLE_REPORT_QUANTITY_H
#define TREADLE_REPORT_QUANTITY_H

#include "native/metrics/kernel_metrics.h"

#include <stddef.h>
#include <stdint.h>

#define QUANTITY_BYTES   32
#define QUANTITY_COLUMNS 9

struct quantity {
    char text[QUANTITY_BYTES];
};

/* 0, 87 ns, 12.3 µs, 999.9 ms, 1.234 s, 59.99 s, 3 m 07 s, 26 h 03 m, 12 d 3 h */
struct quantity quantity__ns(uint64_t ns);

/* 0, 512 B, 4.5 KiB, 12.3 MiB */
struct quantity quantity__bytes(uint64_t bytes);

/* 12 345, 1.234 M, 12.3 G */
struct quantity quantity__count(uint64_t count);

/* "1 sample", "12 345 samples": `one` is what a single one is called. */
struct quantity quantity__counted(uint64_t count, const char *one);

/* 2026-11-21 15:54:31, local time, of ns since the epoch. */
struct quantity quantity__moment(uint64_t epoch_ns);

/* Any of them, by its unit. */
struct quantity quantity__of(uint64_t value, enum metric_unit unit);

/* 0 %, 0.04 %, 12.3 %, 100 %. `whole` 0 gives an empty text. */
struct quantity quantity__share(uint64_t part, uint64_t whole);

#endif
