/*
 * A timer on the CPU clock of one kernel thread, which sends that thread a signal each time that it
 * has consumed so much CPU time more.
 *
 * A perf event on the task's clock keeps any interval, but needs a file descriptor a thread and
 * leave to see the kernel's side (perf_event_paranoid < 2 or CAP_PERFMON), and arms a timer at each
 * context switch, which in a virtual machine leaves it. A POSIX timer needs none of these and costs
 * a switch nothing, but moves with the kernel's ticks, of 1 to 10 ms. So it serves for intervals of
 * two ticks and more.
 *
 * The first interval of a POSIX timer is a part of one, another part for each thread, so that
 * threads that were started together are not sampled together, and a thread that lives for less
 * than an interval has its chance. A perf event has no such part.
 */
#ifndef TREADLE_SAMPLE_TIMER_H
#define TREADLE_SAMPLE_TIMER_H

#include "native/ledger/ledger_format.h"
#include "native/sampling/kernel_stacks.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct sample_timer {
    enum ledger_sample_clock clock; /* NONE: there is none */
    int fd;
    struct kernel_stacks *stacks; /* of a perf event: what it says of the kernel; or NULL */
    timer_t id;
};

#define SAMPLE_TIMER_TICKS_LEAST 2u /* of an interval that a POSIX timer serves for */

/* The kernel's tick in ns: as far as a POSIX timer may be late. */
uint64_t sample_timer__tick_ns(void);

/* The clock for an interval. wanted: PERF or TIMER, or NONE: whichever costs less and keeps the
 * interval. Where perf events do not work it is TIMER, and *error is the errno that says why; else
 * *error is 0. */
enum ledger_sample_clock sample_timer__choose(enum ledger_sample_clock wanted, uint64_t interval_ns,
                                              int *error);

/* 0 if perf events tell here where in the kernel a thread is, else -errno. */
int sample_timer__check_kernel_stacks(void);

/* Signals `tid`, a thread of this process, from now on. Where a perf event cannot be had, for one
 * thread too many, a POSIX timer does. 0 or -errno. */
int sample_timer__start(struct sample_timer *timer, enum ledger_sample_clock clock, pid_t tid,
                        int signal, uint64_t interval_ns);
void sample_timer__stop(struct sample_timer *timer);

/* Its thread is gone. */
bool sample_timer__is_over(const struct sample_timer *timer);

#endif
