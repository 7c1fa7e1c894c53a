/*
 * Reading memory that may not be mapped: a fault in a guarded stretch of code ends the stretch
 * instead of the process.
 *
 * One handler for SIGSEGV and SIGBUS runs before the host's handler. It passes on to the host's
 * handler: every fault outside a guarded stretch, every fault of a thread without a guard, and
 * every SIGSEGV or SIGBUS that was sent with kill(2) and the like. A thread that blocks these
 * signals must not enter a guarded stretch: a fault there would end the process.
 *
 *     struct fault_guard guard;
 *
 *     if (fault_guard__enter(&guard) == 0)
 *         … reads …
 *     else
 *         … there was a fault …
 *     fault_guard__leave(&guard);
 *
 * Changes that the stretch made to local variables are lost after a fault unless the variables are
 * volatile. enter and leave are async-signal-safe; guards may nest.
 */
#ifndef TREADLE_FAULT_GUARD_H
#define TREADLE_FAULT_GUARD_H

#include <setjmp.h>

struct fault_guard {
    sigjmp_buf point;
    struct fault_guard *outer;
};

/* Installs the handler before the host's, or removes it if no other handler was installed before it
 * since. One caller at a time; not in signal handlers. 0 or -errno; -EBUSY: the handler is
 * installed already, and another handler was installed before it since. remove: for tests only. */
int fault_guard__install(void);
void fault_guard__remove(void);

extern __thread struct fault_guard *fault_guard_current __attribute__((tls_model("initial-exec")));

/* Returns 0; returns a second time, with another number, after a fault. */
#define fault_guard__enter(guard)                                                                  \
    ((guard)->outer = fault_guard_current, fault_guard_current = (guard),                          \
     sigsetjmp((guard)->point, 1))

static inline void fault_guard__leave(const struct fault_guard *guard)
{
    fault_guard_current = guard->outer;
}

#endif
