#include "native/host/job_handoff.h"

#include <errno.h>
#include <time.h>

static struct timespec time_in(uint64_t for_ns)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(((uint64_t)until.tv_nsec + for_ns) / 1000000000u);
    until.tv_nsec = (long)(((uint64_t)until.tv_nsec + for_ns) % 1000000000u);
    return until;
}

void job_handoff__init(struct job_handoff *handoff)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&handoff->lock, NULL);
    pthread_cond_init(&handoff->wake, &monotonic);
    pthread_cond_init(&handoff->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    handoff->job = NULL;
    handoff->is_over = false;
    handoff->is_timed = false;
}

void job_handoff__run(struct job_handoff *handoff, void (*work)(void *context), void *context)
{
    struct handed_job job = {.run = work, .context = context};

    pthread_mutex_lock(&handoff->lock);
    while (handoff->job && !handoff->is_over)
        pthread_cond_wait(&handoff->done, &handoff->lock);
    if (handoff->is_over) {
        pthread_mutex_unlock(&handoff->lock);
        work(context);
        return;
    }
    handoff->job = &job;
    pthread_cond_signal(&handoff->wake);
    while (!job.done)
        pthread_cond_wait(&handoff->done, &handoff->lock);
    pthread_mutex_unlock(&handoff->lock);
}

/* Under the lock. False: the time is over. */
static bool wait_until_done(struct job_handoff *handoff, const struct timespec *until)
{
    while (!handoff->timed.done && handoff->job == &handoff->timed)
        if (pthread_cond_timedwait(&handoff->done, &handoff->lock, until) == ETIMEDOUT)
            return handoff->timed.done;
    return handoff->timed.done;
}

bool job_handoff__run_within(struct job_handoff *handoff, void (*work)(void *context),
                             void *context, uint64_t most_ns)
{
    struct timespec until = time_in(most_ns);
    bool done = false;
    int error = 0;

    pthread_mutex_lock(&handoff->lock);
    while (handoff->job && !handoff->is_over && !error)
        error = pthread_cond_timedwait(&handoff->done, &handoff->lock, &until);
    if (handoff->is_over && !handoff->job) {
        pthread_mutex_unlock(&handoff->lock);
        work(context);
        return true;
    }
    if (!handoff->job && !handoff->is_timed) {
        handoff->timed = (struct handed_job){.run = work, .context = context};
        handoff->is_timed = true;
        handoff->job = &handoff->timed;
        pthread_cond_signal(&handoff->wake);
        done = wait_until_done(handoff, &until);
        handoff->is_timed = !done;
    }
    pthread_mutex_unlock(&handoff->lock);
    return done;
}

/* Under the lock, which it lets go of while the job runs. */
static void run_job(struct job_handoff *handoff)
{
    struct handed_job *job = handoff->job;

    pthread_mutex_unlock(&handoff->lock);
    job->run(job->context);
    pthread_mutex_lock(&handoff->lock);
    job->done = true;
    handoff->job = NULL;
    pthread_cond_broadcast(&handoff->done);
}

bool job_handoff__rest(struct job_handoff *handoff, uint64_t for_ns)
{
    struct timespec until = time_in(for_ns);
    bool is_over;
    int error = 0;

    pthread_mutex_lock(&handoff->lock);
    while (!handoff->is_over && !error)
        if (handoff->job)
            run_job(handoff);
        else
            error = pthread_cond_timedwait(&handoff->wake, &handoff->lock, &until);
    is_over = handoff->is_over;
    /* Somebody waits for what was asked before the end; after it nobody can ask. */
    while (handoff->job)
        run_job(handoff);
    pthread_mutex_unlock(&handoff->lock);
    return is_over;
}

void job_handoff__end(struct job_handoff *handoff)
{
    pthread_mutex_lock(&handoff->lock);
    handoff->is_over = true;
    pthread_cond_signal(&handoff->wake);
    pthread_mutex_unlock(&handoff->lock);
}
