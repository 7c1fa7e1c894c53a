/* Which system calls of futex(2) wait [linux/futex.h]. */
#ifndef TREADLE_FUTEX_WAITS_H
#define TREADLE_FUTEX_WAITS_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

#define FUTEX_WAITS                                                                                \
    (UINT64_C(1) << FUTEX_WAIT | UINT64_C(1) << FUTEX_WAIT_BITSET |                                \
     UINT64_C(1) << FUTEX_WAIT_REQUEUE_PI | UINT64_C(1) << FUTEX_LOCK_PI |                         \
     UINT64_C(1) << FUTEX_LOCK_PI2)

/* operation: the call's second argument. */
static inline bool futex_waits__is_wait(long operation)
{
    long command = operation & FUTEX_CMD_MASK;

    return command >= 0 && command < 64 && FUTEX_WAITS >> command & 1;
}

#endif
