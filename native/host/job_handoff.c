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
    atomic_store(&handoff->cpu, 0);
}

/* 0: it has no clock, or has ended. */
static uint64_t cpu_ns(const struct job_handoff *handoff)
{
    clockid_t clock = atomic_load(&handoff->cpu);
    struct timespec now;

    if (!clock || clock_gettime(clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void job_patience__begin(struct job_patience *patience, const struct job_handoff *handoff,
                         uint64_t most_ns)
{
    uint64_t now_ns = cpu_ns(handoff);

    *patience = (struct job_patience){
        .handoff = handoff, .most_ns = most_ns, .first_cpu_ns = now_ns, .last_cpu_ns = now_ns};
}

bool job_patience__is_over(struct job_patience *patience)
{
    uint64_t before_ns = patience->last_cpu_ns;

    patience->last_cpu_ns = cpu_ns(patience->handoff);
    patience->times++;
    return patience->last_cpu_ns <= before_ns || patience->times >= JOB_PATIENCE ||
           patience->last_cpu_ns - patience->first_cpu_ns >= patience->most_ns / 2;
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

/* Waits under the lock for a change of the jobs. 0, or an error: the time is over. */
static int wait_for_change(struct job_handoff *handoff, struct timespec *until,
                           struct job_patience *patience)
{
    int error = pthread_cond_timedwait(&handoff->done, &handoff->lock, until);

    if (error != ETIMEDOUT || job_patience__is_over(patience))
        return error;
    *until = time_in(patience->most_ns);
    return 0;
}

bool job_handoff__run_within(struct job_handoff *handoff, void (*work)(void *context),
                             void *context, uint64_t most_ns)
{
    struct timespec until = time_in(most_ns);
    struct job_patience patience;
    bool done = false;
    int error = 0;

    job_patience__begin(&patience, handoff, most_ns);
    pthread_mutex_lock(&handoff->lock);
    while (handoff->job && !handoff->is_over && !error)
        error = wait_for_change(handoff, &until, &patience);
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
        while (!handoff->timed.done && handoff->job == &handoff->timed && !error)
            error = wait_for_change(handoff, &until, &patience);
        done = handoff->timed.done;
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
    clockid_t cpu;
    bool is_over;
    int error = 0;

    if (pthread_getcpuclockid(pthread_self(), &cpu) == 0)
        atomic_store(&handoff->cpu, cpu);
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
