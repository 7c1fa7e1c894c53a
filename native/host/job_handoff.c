#include "native/host/job_handoff.h"

#include <time.h>

struct handed_job {
    void (*run)(void *context);
    void *context;
    bool done;
};

void job_handoff__init(struct job_handoff *handoff)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&handoff->lock, NULL);
    pthread_cond_init(&handoff->wake, &monotonic);
    pthread_cond_init(&handoff->done, NULL);
    pthread_condattr_destroy(&monotonic);
    handoff->job = NULL;
    handoff->is_over = false;
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
    struct timespec until;
    bool is_over;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(((uint64_t)until.tv_nsec + for_ns) / 1000000000u);
    until.tv_nsec = (long)(((uint64_t)until.tv_nsec + for_ns) % 1000000000u);
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
