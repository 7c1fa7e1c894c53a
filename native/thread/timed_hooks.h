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

/* What hooks took, looked at again and again. Hooks that were not timed count with the mean of
 * those that were, of about the same time: another mean later changes nothing of what is over. For
 * one thread. */
struct hook_account {
    struct timed_hooks seen; /* counted in `ticks` */
    uint64_t ticks;
    uint64_t mean_ticks; /* of those timed last; 0: none was yet */
};

/* So many timed hooks make a mean. */
#define HOOK_ACCOUNT_LEAST 16u

/* Returns the ticks of all hooks so far, less as many of each timed one as reading the counter
 * takes. */
static inline uint64_t hook_account__look(struct hook_account *account,
                                          const struct timed_hooks *hooks, uint64_t counter_ticks)
{
    uint64_t timed = hooks->timed - account->seen.timed;
    uint64_t calls = hooks->calls - account->seen.calls;

    if (timed >= HOOK_ACCOUNT_LEAST || (timed && !account->mean_ticks)) {
        uint64_t mean = (hooks->timed_ticks - account->seen.timed_ticks) / timed;

        account->mean_ticks = mean > counter_ticks ? mean - counter_ticks : 0;
        account->ticks += calls * account->mean_ticks;
        account->seen = *hooks;
        return account->ticks;
    }
    return account->ticks + calls * account->mean_ticks;
}

/* Of one kernel thread, or of several. */
struct hook_times {
    struct timed_hooks slow;  /* hooks that left the fast path */
    struct timed_hooks waits; /* begins and ends of waits with a reason */
    struct timed_hooks holds; /* begins and ends of holds of locks */
    uint64_t unheard_waits;   /* waits that the budget had no room for */
    uint64_t unheard_wrapped; /* of these: in calls that are wrapped; the JVM tells of the others */
    uint64_t timed_waits;     /* of all these: their reason and time are known all the same */
    uint64_t unheard_virtual; /* … those of virtual threads, which are not timed */
    uint64_t lock_looks;      /* parks for which it was looked whether they are for a lock */
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
    sum->unheard_wrapped += __atomic_load_n(&more->unheard_wrapped, __ATOMIC_RELAXED);
    sum->timed_waits += __atomic_load_n(&more->timed_waits, __ATOMIC_RELAXED);
    sum->unheard_virtual += __atomic_load_n(&more->unheard_virtual, __ATOMIC_RELAXED);
    sum->lock_looks += __atomic_load_n(&more->lock_looks, __ATOMIC_RELAXED);
}

#endif
