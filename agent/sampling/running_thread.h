/*
 * Asks a running thread for a wall sample without ever interrupting its system calls.
 *
 * A signal sent to a thread that was seen running may arrive when the thread already waits in
 * poll() or select(), which then fail with EINTR whatever the handler's flags. So a one-shot timer
 * on the thread's own CPU clock sends the signal: Linux (5.9 and later on x86-64,
 * POSIX_CPU_TIMERS_TASK_WORK) lets such a timer expire on the way back to user code, where there is
 * no system call to interrupt.
 *
 * The thread's turns say how often the thread was running; the tick at which the timer fires says
 * where. Until the timer fires turns add up, and the one sample stands for all of them.
 */
#ifndef TREADLE_RUNNING_THREAD_H
#define TREADLE_RUNNING_THREAD_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define RUNNING_THREADS   1024u
#define RUNNING_TURNS_MAX 64u /* turns for which one sample may stand */

struct running_thread {
    pid_t tid; /* 0: unused */
    timer_t timer;
    _Atomic uint32_t owed; /* turns since its last sample */
};

/* By tid, modulo their number. */
struct running_threads {
    int signal;
    struct running_thread of[RUNNING_THREADS];
};

/* Counts one more turn that found the thread running. Returns how many turns are lost for good:
 * this turn or earlier ones, of this thread or of an ended thread. One caller at a time. */
uint32_t running_threads__ask(struct running_threads *threads, pid_t tid);

/* Deletes all timers and returns the turns that were lost. Not concurrently with
 * running_threads__ask. */
uint32_t running_threads__release(struct running_threads *threads);

/* For the signal's handler: the turns for which the sample stands; 0: no sample was requested.
 * Async-signal-safe. */
uint32_t running_threads__answer(struct running_threads *threads, const siginfo_t *info);

#endif
