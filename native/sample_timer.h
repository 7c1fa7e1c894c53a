/*
 * A timer on the CPU clock of one kernel thread, which sends that thread a signal each time that it
 * has consumed so much CPU time more.
 *
 * A perf event on the task's clock keeps any interval, but needs a file descriptor a thread and
 * leave to see the kernel's side (perf_event_paranoid < 2 or CAP_PERFMON); a POSIX timer needs
 * neither, but moves with the scheduler's ticks, of 1 to 10 ms.
 */
#ifndef TREADLE_SAMPLE_TIMER_H
#define TREADLE_SAMPLE_TIMER_H

#include "native/ledger_format.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct sample_timer {
    enum ledger_sample_clock clock; /* NONE: there is none */
    int fd;
    timer_t id;
};

/* The best that works here; *error says why it is not perf. */
enum ledger_sample_clock sample_timer__choose(int *error);

/* Signals `tid`, a thread of this process, from now on. Where a perf event cannot be had, for one
 * thread too many, a POSIX timer does. 0 or -errno. */
int sample_timer__start(struct sample_timer *timer, enum ledger_sample_clock clock, pid_t tid,
                        int signal, uint64_t interval_ns);
void sample_timer__stop(struct sample_timer *timer);

/* Its thread is gone. */
bool sample_timer__is_over(const struct sample_timer *timer);

#endif
