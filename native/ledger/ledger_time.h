/*
 * The ledger's clock: nanoseconds since the ledger was made, from the cycle counter where the
 * kernel itself trusts it, else from CLOCK_MONOTONIC. Any thread; async-signal-safe.
 */
#ifndef TREADLE_LEDGER_TIME_H
#define TREADLE_LEDGER_TIME_H

#include "native/ledger/cycle_counter.h"

#include <stdint.h>
#include <time.h>

struct ledger_time {
    uint64_t tsc_zero;
    uint64_t tsc_mult; /* ns = (ticks * tsc_mult) >> 64; 0: CLOCK_MONOTONIC */
    uint64_t monotonic_zero_ns;
    uint64_t first_ticks; /* when the comparison began, and what the other clock was then */
    uint64_t first_raw_ns;
};

#define LEDGER_TIME_COMPARE_NS 5000000u /* tells the rate to some ten parts in a million */

/* Makes this moment 0. With compare_ns 0, or where the counter will not do, uses CLOCK_MONOTONIC.
 * The rate of the counter comes from comparing it with CLOCK_MONOTONIC_RAW for so long. (The kernel
 * tells it, too, in the user page of a perf event: but the first such event of a machine takes it
 * some 14 ms.) */
void ledger_time__start(struct ledger_time *time, uint64_t compare_ns);

/* Makes the rate better by all the time that has passed since. As long as nothing depends on it
 * that time does not step: what was read before may lie a little ahead. */
void ledger_time__refine(struct ledger_time *time);

static inline uint64_t clock_ns(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Converting the whole distance from 0 each time, not the steps: no rounding adds up. */
static inline uint64_t ledger_time__now_ns(const struct ledger_time *time)
{
    if (__builtin_expect(time->tsc_mult != 0, 1)) {
        uint64_t ticks = cycle_counter__read() - time->tsc_zero;

        return (uint64_t)((unsigned __int128)ticks * time->tsc_mult >> 64);
    }
    return clock_ns(CLOCK_MONOTONIC) - time->monotonic_zero_ns;
}

#endif
