/*
 * The time of hooks, measured in place: each one is counted, and one in TIMED_HOOKS_PART is timed.
 * Written by the thread that runs the hooks, read by any. Async-signal-safe.
 */
#ifndef TREADLE_TIMED_HOOKS_H
#define TREADLE_TIMED_HOOKS_H

#include "native/ledger/cycle_counter.h"

#include <stdint.h>

/* Odd: of hooks that come in pairs both are timed. */
#define TIMED_HOOKS_PART 31u

/* A hook that took longer is left out: its thread probably did not run all the time. */
#define TIMED_HOOKS_TICKS_MOST 200000u

/* Times are in ticks of the cycle counter. */
struct timed_hooks {
    uint64_t calls;
    uint64_t timed;
    uint64_t timed_ticks;
};

/* Counts a hook. Returns the cycle counter if this hook is to be timed, else 0. */
static inline uint64_t timed_hooks__begin(struct timed_hooks *hooks)
{
    __atomic_store_n(&hooks->calls, hooks->calls + 1, __ATOMIC_RELAXED);
    return hooks->calls % TIMED_HOOKS_PART == 0 ? cycle_counter__read() : 0;
}

static inline void timed_hooks__end(struct timed_hooks *hooks, uint64_t began)
{
    uint64_t ticks = began ? cycle_counter__read() - began : 0;

    if (!ticks || ticks > TIMED_HOOKS_TICKS_MOST)
        return;
    __atomic_store_n(&hooks->timed, hooks->timed + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&hooks->timed_ticks, hooks->timed_ticks + ticks, __ATOMIC_RELAXED);
}

/* Of one kernel thread, or of several. */
struct hook_times {
    struct timed_hooks slow;  /* hooks that left the fast path */
    struct timed_hooks waits; /* begins and ends of waits with a reason */
    struct timed_hooks holds; /* begins and ends of holds of locks */
    uint64_t unheard_waits;   /* waits that the budget had no room for */
    uint64_t timed_waits;     /* of these: their reason and time are known all the same */
};

static inline void timed_hooks__add(struct timed_hooks *sum, const struct timed_hooks *more)
{
    sum->calls += __atomic_load_n(&more->calls, __ATOMIC_RELAXED);
    sum->timed += __atomic_load_n(&more->timed, __ATOMIC_RELAXED);
    sum->timed_ticks += __atomic_load_n(&more->timed_ticks, __ATOMIC_RELAXED);
}

/* Adds what another thread has counted so far. */
static inline void hook_times__add(struct hook_times *sum, const struct hook_times *more)
{
    timed_hooks__add(&sum->slow, &more->slow);
    timed_hooks__add(&sum->waits, &more->waits);
    timed_hooks__add(&sum->holds, &more->holds);
    sum->unheard_waits += __atomic_load_n(&more->unheard_waits, __ATOMIC_RELAXED);
    sum->timed_waits += __atomic_load_n(&more->timed_waits, __ATOMIC_RELAXED);
}

#endif
