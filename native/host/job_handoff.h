/*
 * A thread of the agent's own that rests, and does the jobs that other threads hand over meanwhile.
 * A thread that hands over a job waits until the job is done. After the end of the resting thread
 * each thread does its jobs itself.
 */
#ifndef TREADLE_JOB_HANDOFF_H
#define TREADLE_JOB_HANDOFF_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct handed_job {
    void (*run)(void *context);
    void *context;
    bool done;
};

struct job_handoff {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_cond_t done;
    struct handed_job *job;  /* under the lock, as is the next */
    bool is_over;            /* the resting thread ends, or there is none */
    struct handed_job timed; /* of job_handoff__run_within */
    bool is_timed;           /* … which is in use */
    _Atomic(clockid_t) cpu;  /* the resting thread's CPU clock; 0: not known */
};

/* How long to wait for the resting thread, in ns by the wall clock. Where the machine leaves that
 * thread little of its processors the time is over later: after one in which the thread did not run
 * at all, or when it has had half of it, or after JOB_PATIENCE times. Any thread. */
#define JOB_PATIENCE 10u
struct job_patience {
    const struct job_handoff *handoff;
    uint64_t most_ns;
    uint64_t first_cpu_ns;
    uint64_t last_cpu_ns;
    unsigned times;
};

void job_patience__begin(struct job_patience *patience, const struct job_handoff *handoff,
                         uint64_t most_ns);

/* To be asked whenever that time has passed. True: it is over for good. */
bool job_patience__is_over(struct job_patience *patience);

void job_handoff__init(struct job_handoff *handoff);

/* Runs work in the resting thread and waits for its end. The caller may hold no lock that work
 * takes. */
void job_handoff__run(struct job_handoff *handoff, void (*work)(void *context), void *context);

/* The same, but waits no longer than that, with patience: the job may then run later, or be under
 * way still, with its context. False: it is not done, or another thread waits in the same way. */
bool job_handoff__run_within(struct job_handoff *handoff, void (*work)(void *context),
                             void *context, uint64_t most_ns);

/* For the resting thread: rests for that time, and does the jobs that are handed over. True when
 * the thread is to end. */
bool job_handoff__rest(struct job_handoff *handoff, uint64_t for_ns);

/* Asks the resting thread to end; does not wait. Also to be called if no such thread could be made.
 */
void job_handoff__end(struct job_handoff *handoff);

#endif
