/*
 * The ledger's clock: nanoseconds since the ledger was made, from the cycle counter where the
 * kernel itself trusts it, else from CLOCK_MONOTONIC. Reading the clock is async-signal-safe, on
 * any thread.
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
    uint64_t first_ticks; /* start of the comparison, on both clocks */
    uint64_t first_raw_ns;
};

#define LEDGER_TIME_COMPARE_NS 5000000u /* gives the rate to about ten parts in a million */

/* Makes the present moment 0. The counter's rate comes from comparing the counter with
 * CLOCK_MONOTONIC_RAW for compare_ns. With compare_ns 0, or where the counter is unusable, the
 * clock is CLOCK_MONOTONIC. (The user page of a perf event also has the rate, but the first such
 * event of a machine takes the kernel some 14 ms.) */
void ledger_time__start(struct ledger_time *time, uint64_t compare_ns);

/* Refines the rate with all the time that has passed since the start. Call it only while nothing
 * depends on the clock being free of steps: a time that was read before may lie slightly ahead of
 * the time now. */
void ledger_time__refine(struct ledger_time *time);

static inline uint64_t clock_ns(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Converts the whole distance from 0 each time, so rounding errors do not add up. */
static inline uint64_t ledger_time__now_ns(const struct ledger_time *time)
{
    if (__builtin_expect(time->tsc_mult != 0, 1)) {
        uint64_t ticks = cycle_counter__read() - time->tsc_zero;

        return (uint64_t)((unsigned __int128)ticks * time->tsc_mult >> 64);
    }
    return clock_ns(CLOCK_MONOTONIC) - time->monotonic_zero_ns;
}

#endif
