/*
 * Asks a running thread for a wall sample without ever ending its system calls early.
 *
 * A signal that is sent to a thread that was seen running may come when it waits already, in poll()
 * or select(), which then fail with EINTR whatever the handler's flags. So a timer on the thread's
 * own CPU clock sends it, once: Linux (5.9 and later on x86-64, POSIX_CPU_TIMERS_TASK_WORK) lets
 * such a timer expire on the way back to user code, where no system call is left to be interrupted.
 *
 * How often a thread was running is what its turns say, where it ran is what the tick says that the
 * timer meets: until it comes turns add up, and its one sample stands for all of them.
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
#define RUNNING_TURNS_MAX 64u /* that one sample may stand for */

struct running_thread {
    pid_t tid; /* 0: nobody's */
    timer_t timer;
    _Atomic uint32_t owed; /* turns since its last sample */
};

/* By tid, modulo their number. */
struct running_threads {
    int signal;
    struct running_thread of[RUNNING_THREADS];
};

/* One more turn found the thread running. How many turns are lost for good: this one or earlier
 * ones, of this thread or of an ended one. One caller at a time. */
uint32_t running_threads__ask(struct running_threads *threads, pid_t tid);

/* No timer is left; the turns that were lost. Not beside running_threads__ask. */
uint32_t running_threads__release(struct running_threads *threads);

/* By the signal's handler: the turns that the sample stands for; 0: none is asked for.
 * Async-signal-safe. */
uint32_t running_threads__answer(struct running_threads *threads, const siginfo_t *info);

#endif
