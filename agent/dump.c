#include "agent/dump.h"

#include "agent/agent.h"
#include "agent/host/log.h"
#include "agent/housekeeping.h"
#include "agent/sampling/method_details.h"
#include "agent/threads/thread_events.h"
#include "native/snapshot/snapshot.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct snapshot_job {
    struct agent *agent;
    const char *pattern;
    bool last; /* the application's events no longer count */
    char path[PATH_MAX];
    int error;
};

/* Of a ledger whose counts were brought up to date just now. */
static int copy_whole(int source_fd, int target_fd)
{
    int error = snapshot__copy(source_fd, target_fd);

    return error ? error : snapshot__mark_counts(target_fd);
}

static int write_snapshot(struct snapshot_job *job)
{
    struct agent *agent = job->agent;
    struct ledger_header *header = agent->ledger.header;
    int error = snapshot__path(job->path, sizeof(job->path), job->pattern, (int)getpid(),
                               header->snapshots + 1);

    if (error)
        return error;
    if (header->profiling)
        (void)process_scan__run(&agent->scan, ledger_time__now_ns(&agent->setup.time), SCAN_CPU);
    sampler__drain(&agent->sampler);
    thread_fold__tidy(&agent->folder, &agent->folder_tree);
    housekeeping__look_at_cost(agent, true);
    housekeeping__publish_counts(agent);
    header->snapshots++;
    return snapshot__write_with(copy_whole, agent->ledger.fd, job->path);
}

static void run_snapshot(void *context)
{
    struct snapshot_job *job = context;

    pthread_mutex_lock(&job->agent->snapshot_lock);
    job->error = write_snapshot(job);
    housekeeping__warn_of_losses(job->agent);
    if (job->last) {
        atomic_store(&job->agent->active, false);
        atomic_store(&job->agent->over, true);
    }
    pthread_mutex_unlock(&job->agent->snapshot_lock);
}

/* Methods are known only if there were samples. */
static void record_details(struct agent *agent, JNIEnv *jni)
{
    if (agent->sampler.ready)
        method_details__record(&agent->sampler.methods, &agent->ledger, agent->jvmti, jni);
}

int dump__now(struct agent *agent, JNIEnv *jni, const char *pattern)
{
    struct snapshot_job job = {.agent = agent,
                               .pattern = pattern ? pattern : agent->snapshot_pattern};

    thread_events__record_names(&agent->java_threads, jni);
    record_details(agent, jni);
    job_handoff__run(&agent->jobs, run_snapshot, &job);
    if (job.error)
        log__line(LOG_ERROR, "snapshot %s: cannot be written: %s",
                  *job.path ? job.path : job.pattern, strerror(-job.error));
    else
        log__line(LOG_INFO, "snapshot %s", job.path);
    return job.error;
}

void dump__at_exit(struct agent *agent, JNIEnv *jni)
{
    struct snapshot_job job = {.agent = agent, .pattern = agent->snapshot_pattern, .last = true};

    thread_events__record_names(&agent->java_threads, jni);
    sampler__stop(&agent->sampler);
    record_details(agent, jni);
    job_handoff__run(&agent->jobs, run_snapshot, &job);
    if (job.error) {
        log__line(LOG_ERROR,
                  "snapshot %s: cannot be written: %s; the live ledger stays: treadle report %s",
                  *job.path ? job.path : job.pattern, strerror(-job.error), agent->ledger.path);
        log__begin_answer(agent->options.answer);
        log__answer("unwritten \n");
        log__end_answer();
        return;
    }
    ledger__unlink(&agent->ledger);
    log__line(LOG_INFO, "snapshot %s", job.path);
}
