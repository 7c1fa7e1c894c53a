/*
 * A timer on the CPU clock of one kernel thread. The timer sends the thread a signal each time that
 * the thread has consumed another interval of CPU time.
 *
 * A perf event on the task's clock keeps any interval. A perf event needs a file descriptor per
 * thread and permission to observe the kernel (perf_event_paranoid < 2 or CAP_PERFMON). It also
 * arms a timer at each context switch, which in a virtual machine causes an exit to the hypervisor.
 * A POSIX timer needs none of these and adds no cost to a switch, but moves with the kernel's ticks
 * of 1 to 10 ms. So POSIX timers serve for intervals of two ticks and more.
 *
 * The first interval of a POSIX timer is a fraction of the interval, different for each thread.
 * Threads that were started together are therefore not sampled together, and a thread that lives
 * for less than one interval may still be sampled. A perf event has no such fraction.
 */
#ifndef TREADLE_SAMPLE_TIMER_H
#define TREADLE_SAMPLE_TIMER_H

#include "native/ledger/ledger_format.h"
#include "native/sampling/kernel_stacks.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct sample_timer {
    enum ledger_sample_clock clock; /* NONE: there is none */
    int fd;
    struct kernel_stacks *stacks; /* of a perf event: its samples of the kernel; or NULL */
    timer_t id;
};

#define SAMPLE_TIMER_TICKS_LEAST 2u /* the shortest interval of a POSIX timer */

/* The kernel's tick in ns: the most by which a POSIX timer is late. */
uint64_t sample_timer__tick_ns(void);

/* Chooses the clock for an interval. wanted: PERF or TIMER; NONE: whichever costs less and keeps
 * the interval. If perf events do not work the result is TIMER, and *error is the errno that says
 * why; else *error is 0. */
enum ledger_sample_clock sample_timer__choose(enum ledger_sample_clock wanted, uint64_t interval_ns,
                                              int *error);

/* 0 if perf events report kernel stacks here, else -errno. */
int sample_timer__check_kernel_stacks(void);

/* Starts signals to `tid`, a thread of this process. If no perf event is available for the thread
 * (too many open files), a POSIX timer is used. 0 or -errno. */
int sample_timer__start(struct sample_timer *timer, enum ledger_sample_clock clock, pid_t tid,
                        int signal, uint64_t interval_ns);
void sample_timer__stop(struct sample_timer *timer);

/* True if it could not be started because the thread has ended. */
static inline bool sample_timer__has_ended(int error)
{
    return error == -ESRCH || error == -EINVAL;
}

/* True of a signal that a timer sent, in this process or in the one that it was forked from.
 * Async-signal-safe. */
bool sample_timer__sent(const siginfo_t *info);

/* True if the thread of the timer has ended; the timer is still to be stopped. */
bool sample_timer__is_over(const struct sample_timer *timer);

#endif
