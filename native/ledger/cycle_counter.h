/*
 * The cycle counter, which is all of the ledger's clock that depends on the processor: a counter
 * that user code can read and that runs at a constant rate, the same on all processors. Where there
 * is none the ledger's clock is CLOCK_MONOTONIC and only the plain kernel clock is used. Any
 * thread; async-signal-safe.
 */
#ifndef TREADLE_CYCLE_COUNTER_H
#define TREADLE_CYCLE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

#include <cpuid.h>

static inline uint64_t cycle_counter__read(void)
{
    return __builtin_ia32_rdtsc();
}

/* True if the counter runs at one rate in every power state (CPUID 80000007H, EDX bit 8). */
static inline bool cycle_counter__is_invariant(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
}

#else

static inline uint64_t cycle_counter__read(void)
{
    return 0;
}

static inline bool cycle_counter__is_invariant(void)
{
    return false;
}

#endif
#endif
