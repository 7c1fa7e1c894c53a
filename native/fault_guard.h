/*
 * Reading memory that may not be there: a fault in a guarded stretch of code ends the stretch
 * instead of the process.
 *
 * One handler for SIGSEGV and SIGBUS stands before the host's; every fault outside a guarded
 * stretch, and every other thread's, goes on to the host's as if ours were not there; and so do
 * these signals where somebody sent them. Where a thread blocks them a fault ends the process,
 * guarded or not: it must not enter.
 *
 *     struct fault_guard guard;
 *
 *     if (fault_guard__enter(&guard) == 0)
 *         … reads …
 *     else
 *         … there was a fault …
 *     fault_guard__leave(&guard);
 *
 * What the stretch changed in local variables is lost after a fault unless they are volatile.
 * enter and leave are async-signal-safe; they may nest.
 */
#ifndef TREADLE_FAULT_GUARD_H
#define TREADLE_FAULT_GUARD_H

#include <setjmp.h>

struct fault_guard {
    sigjmp_buf point;
    struct fault_guard *outer;
};

/* Puts the handler before the host's, or takes it out again if nobody has put another before it.
 * Once at a time, not in handlers. 0 or -errno: -EBUSY if it was there and somebody has put another
 * before it since. */
int fault_guard__install(void);
void fault_guard__remove(void);

extern __thread struct fault_guard *fault_guard_current __attribute__((tls_model("initial-exec")));

/* 0, and again another number if there was a fault. */
#define fault_guard__enter(guard)                                                                  \
    ((guard)->outer = fault_guard_current, fault_guard_current = (guard),                          \
     sigsetjmp((guard)->point, 1))

static inline void fault_guard__leave(const struct fault_guard *guard)
{
    fault_guard_current = guard->outer;
}

#endif
