/*
 * How the kernel divides a thread's CPU time into user's and its own.
 *
 * Where the kernel divides by ticks (as most do), the tick that is counted is the one that makes a
 * timer on the thread's CPU clock fire: a difference is then a whole number of ticks, and the sums
 * are those that getrusage and /proc scale to the exact CPU time. Where it keeps both times
 * (CONFIG_VIRT_CPU_ACCOUNTING_GEN on a processor with nohz_full) a difference is exact.
 */
#ifndef TREADLE_MODE_TIMES_H
#define TREADLE_MODE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

struct mode_times {
    uint64_t cpu_ns; /* user and system */
    uint64_t system_ns;
};

/* Returns the calling thread's times since its last call in the same round, at least
 * MODE_TIMES_LEAST_NS before. Both are 0 if there was no such call, or if the kernel does not
 * divide. now_ns: any clock of wall time, the same in all calls. Async-signal-safe. */
#define MODE_TIMES_LEAST_NS 4000000u
void mode_times__since_last(struct mode_times *times, uint64_t now_ns, uint32_t round);

#endif
