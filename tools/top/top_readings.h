/*
 * Readings of a live ledger, one after the other, and the interval between the last two. The JVM
 * is neither asked nor stopped: its mapped file is copied, and the rest is read from /proc.
 */
#ifndef TREADLE_TOP_READINGS_H
#define TREADLE_TOP_READINGS_H

#include "tools/report/interval.h"

/* Readings that repeat take at most one part in so many of a processor: where they cost more, the
 * intervals are longer than was asked. */
#define TOP_COST_PART 20u

struct top_readings {
    const char *path;
    struct report_model *before; /* NULL: there is no interval yet */
    struct report_model *now;
    struct interval *interval; /* NULL with `before` */
    uint64_t taken_ns;         /* CLOCK_MONOTONIC when the last one began */
    uint64_t cost_ns;          /* CPU time that it took */
    char message[512];         /* why there are no more */
};

enum top_reading {
    TOP_READ,
    TOP_FAILED, /* message says why; what was read before stays as it is */
};

/* Takes the next reading. */
enum top_reading top_readings__take(struct top_readings *readings);

/* When to take the next one, on CLOCK_MONOTONIC. */
uint64_t top_readings__due_ns(const struct top_readings *readings, uint64_t interval_ns);

void top_readings__release(struct top_readings *readings);

#endif
