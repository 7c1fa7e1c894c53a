/*
 * How long the host has stopped all of its threads so far, in ns: the sum of counters that the host
 * advances when the threads go on, or a little later. Any thread; async-signal-safe.
 */
#ifndef TREADLE_STOPPED_TIME_H
#define TREADLE_STOPPED_TIME_H

#include <stddef.h>
#include <stdint.h>

#define STOPPED_COUNTERS 2u

struct stopped_time {
    const uint64_t *counters[STOPPED_COUNTERS]; /* all of them, or none: the host does not tell */
};

static inline uint64_t stopped_time__ns(const struct stopped_time *time)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < STOPPED_COUNTERS && time->counters[i]; i++)
        sum_ns += __atomic_load_n(time->counters[i], __ATOMIC_RELAXED);
    return sum_ns;
}

#endif
