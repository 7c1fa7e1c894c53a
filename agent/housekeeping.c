#include "agent/housekeeping.h"

#include "agent/agent.h"
#include "agent/held_memory.h"
#include "agent/host/log.h"
#include "agent/methods/hook_counts.h"
#include "agent/timeline_request.h"
#include "native/host/own_thread.h"
#include "native/ledger/busy_history.h"
#include "native/ledger/orphan_ledgers.h"
#include "native/thread/unprofiled.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How long it rests after a look at other threads: so many times as long as it worked, within
 * bounds; and the process is to have consumed so many times that, within the upper bound. While a
 * JVM starts it looks more often, for that is when VM threads come and go. */
#define START_NS       200000000u
#define START_COST     14u
#define START_ROUND_NS 1000000u
#define COST           2000u
#define CPU_COST       200u
#define ROUND_NS_MIN   100000000u
#define ROUND_NS_MAX   5000000000u
#define ALL_METRICS_NS 10000000000u
#define AHEAD_BYTES    (1u << 20)
#define AHEAD_PART     16u
#define STACK_BYTES    (256u * 1024u)
#define LOOK_NS        250000000u /* where waits have reasons, or calls are counted: so often */

/* A look at everything finds cold caches, some 0.2 ms in a process that rests: the process is to
 * have consumed so many times that since the last one, or so many intervals between samples. */
#define LOOK_COST      250u
#define SAMPLES_WAIT   16u
#define USED_LITTLE_NS 5000000u
#define QUIET_NS       1000000000u /* … or so much time has passed since then; … */
#define IDLE_NS        5000000000u /* … if the process consumed next to nothing meanwhile */
#define IDLE_ROUND_NS  500000000u  /* a deadlock is to be found within a second */

static void note_busy(struct agent *agent)
{
    busy_history__look(&agent->ledger.header->busy_history, ledger_time__now_ns(&agent->setup.time),
                       clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static void scan(struct agent *agent)
{
    struct ledger_header *header = agent->ledger.header;
    uint64_t now_ns = ledger_time__now_ns(&agent->setup.time);
    bool all;

    if (!header->profiling)
        return;
    all = now_ns - agent->all_metrics_ns > ALL_METRICS_NS;
    if (all)
        agent->all_metrics_ns = now_ns;
    (void)process_scan__run(&agent->scan, now_ns, all ? SCAN_ALL : SCAN_CPU);
    (void)ledger__read_process_cpu(header);
    header->asof_ns = now_ns;
}

static uint64_t rest_after(const struct agent *agent, uint64_t work_ns)
{
    bool starting = ledger_time__now_ns(&agent->setup.time) < START_NS;
    uint64_t rest_ns = work_ns * (starting ? START_COST : COST);
    uint64_t least_ns = starting ? START_ROUND_NS : ROUND_NS_MIN;

    if (rest_ns < least_ns)
        return least_ns;
    return rest_ns < ROUND_NS_MAX ? rest_ns : ROUND_NS_MAX;
}

/* Once after the start in any case: a thread has its row from the second look on. */
static bool is_scan_due(const struct agent *agent, uint64_t now_ns, uint64_t cpu_ns)
{
    uint64_t used_ns = unprofiled__less(cpu_ns, agent->last_scan.cpu_ns);

    return now_ns >= agent->next_scan_ns &&
           (agent->last_scan.at_ns < START_NS || used_ns >= agent->last_scan.took_ns * CPU_COST ||
            now_ns - agent->last_scan.at_ns >= ROUND_NS_MAX);
}

/* When it is time. */
static void scan_in_turn(struct agent *agent)
{
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t now_ns = ledger_time__now_ns(&agent->setup.time);
    uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

    if (!is_scan_due(agent, now_ns, cpu_ns))
        return;
    scan(agent);
    __atomic_store_n(&agent->ledger.header->held_bytes, held_memory__bytes(agent),
                     __ATOMIC_RELAXED);
    agent->last_scan = (struct agent_work){
        .at_ns = now_ns,
        .cpu_ns = cpu_ns,
        .took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns,
    };
    agent->next_scan_ns =
        ledger_time__now_ns(&agent->setup.time) + rest_after(agent, agent->last_scan.took_ns);
}

void housekeeping__warn_of_losses(struct agent *agent)
{
    const struct ledger_header *header = agent->ledger.header;
    bool lost = header->dropped_enters || header->dropped_threads;

    if (agent->warned || !(header->full_error || lost))
        return;
    agent->warned = true;
    if (header->full_error == ENOMEM)
        log__line(LOG_WARN,
                  "the ledger is full (max-mem is reached): the coldest contexts are folded, a "
                  "row a method; raise max-mem= to keep more, or include= fewer methods");
    else if (header->full_error)
        log__line(LOG_WARN,
                  "the ledger is full (%s): calls in contexts that are new are folded or lost, and "
                  "so are threads; name another folder with live-dir=",
                  strerror(header->full_error));
    else
        log__line(LOG_WARN, "some calls or threads are not recorded; reports say how many");
}

void housekeeping__look_at_cost(struct agent *agent, bool all)
{
    const struct sampler *sampler = &agent->sampler;
    const struct own_cost_causes causes = {
        .samples = atomic_load(&sampler->running),
        .perf_events = sampler->clock == LEDGER_SAMPLE_CLOCK_PERF,
        .recompiled_ns = agent->renewal.recompiled_ns,
        .hazards_ns = deadlock_watch__took_ns(&agent->deadlocks),
        .counting_methods = __atomic_load_n(&agent->quotas.silenced, __ATOMIC_RELAXED) +
                            __atomic_load_n(&agent->quotas.only_counted, __ATOMIC_RELAXED),
    };

    own_cost__look(&agent->own_cost, &causes, all);
}

void housekeeping__publish_counts(struct agent *agent)
{
    struct ledger_header *header = agent->ledger.header;
    uint64_t now_ns = ledger_time__now_ns(&agent->setup.time);

    if (!thread_counters__given(&agent->quotas.counters))
        return;
    __atomic_store_n(&header->counts_begun_ns, now_ns, __ATOMIC_SEQ_CST);
    hook_counts__publish(&agent->quotas);
    __atomic_store_n(&header->counts_at_ns, now_ns, __ATOMIC_RELEASE);
}

static void note_pruning(struct agent *agent)
{
    struct ledger_header *header = agent->ledger.header;

    if (!header->pruned_since_ns && __atomic_load_n(&header->folds_begun, __ATOMIC_RELAXED))
        header->pruned_since_ns = ledger_time__now_ns(&agent->setup.time);
}

/* The samples that wait for the next look are kept in room for so much CPU time of the process. */
static uint64_t samples_wait_ns(const struct sampler *sampler)
{
    if (!atomic_load(&sampler->running))
        return UINT64_MAX;
    /* Kernel stacks have less room. */
    return sampler->clock == LEDGER_SAMPLE_CLOCK_PERF ? sampler->interval_ns
                                                      : sampler->interval_ns * SAMPLES_WAIT;
}

/* True if there is something to look at, or none was for long. */
static bool is_look_due(struct agent *agent)
{
    const struct sampler *sampler = &agent->sampler;
    uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t now_ns = ledger_time__now_ns(&agent->setup.time);
    uint64_t used_ns = unprofiled__less(cpu_ns, agent->last_look.cpu_ns);
    uint64_t passed_ns = unprofiled__less(now_ns, agent->last_look.at_ns);
    bool due = now_ns < START_NS || used_ns >= agent->last_look.took_ns * LOOK_COST ||
               used_ns >= samples_wait_ns(sampler) ||
               passed_ns >= (used_ns < USED_LITTLE_NS ? IDLE_NS : QUIET_NS) ||
               (atomic_load(&sampler->running) && sampler->mode == LEDGER_SAMPLE_WALL);

    agent->is_idle = !due;
    return due;
}

static void look_at_all(struct agent *agent)
{
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

    sampler__look_after(&agent->sampler);
    thread_fold__tidy(&agent->folder, &agent->folder_tree);
    housekeeping__look_at_cost(agent, false);
    note_pruning(agent);
    housekeeping__warn_of_losses(agent);
    hook_budget__look(&agent->budget);
    wait_budget__look(&agent->wait_budget);
    native_locks__look(&agent->native_locks);
    hook_renewal__remove_silent(&agent->renewal);
    agent->last_look = (struct agent_work){
        .at_ns = ledger_time__now_ns(&agent->setup.time),
        .cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
        .took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns,
    };
}

/* Deadlocks are looked for all the same, for their threads rest; few calls may have been counted in
 * next to no time; and threads that wait for locks use next to none. */
static void look_after(struct agent *agent)
{
    struct ledger_header *header = agent->ledger.header;
    uint64_t used = (uint64_t)header->chunks_used * LEDGER_CHUNK_BYTES;

    (void)ledger__reserve_ahead(&agent->ledger, AHEAD_BYTES + used / AHEAD_PART);
    /* Takes its time, for which an exit need not wait: not under the lock. */
    if (!atomic_load(&agent->over))
        sampler__start_if_due(&agent->sampler);
    timeline_request__look(agent);
    /* A snapshot that is being written scans too: no need to wait for it. */
    if (pthread_mutex_trylock(&agent->snapshot_lock) != 0)
        return;
    if (!atomic_load(&agent->over)) {
        note_busy(agent);
        scan_in_turn(agent);
        housekeeping__publish_counts(agent);
        if (is_look_due(agent))
            look_at_all(agent);
        hook_renewal__hook_locks(&agent->renewal, agent->java_threads.locks);
        deadlock_watch__look(&agent->deadlocks);
    }
    pthread_mutex_unlock(&agent->snapshot_lock);
}

static uint64_t rest_ns(const struct agent *agent)
{
    uint64_t now_ns = ledger_time__now_ns(&agent->setup.time);
    uint64_t rest_ns = agent->next_scan_ns > now_ns ? agent->next_scan_ns - now_ns : 0;
    uint64_t sampler_ns = sampler__rest_ns(&agent->sampler, agent->is_idle);
    uint64_t look_ns = agent->is_idle ? IDLE_ROUND_NS : LOOK_NS;
    uint64_t least_ns = now_ns < START_NS ? START_ROUND_NS
                        : agent->is_idle  ? IDLE_ROUND_NS
                                          : ROUND_NS_MIN;

    rest_ns = rest_ns > least_ns ? rest_ns : least_ns;
    if ((agent->options.waits || thread_counters__given(&agent->quotas.counters)) &&
        rest_ns > look_ns)
        rest_ns = look_ns;
    return sampler_ns && sampler_ns < rest_ns ? sampler_ns : rest_ns;
}

/* What killed JVMs of this user left beside the ledger takes memory. */
static void tidy_up(const struct agent *agent)
{
    char folder[sizeof(agent->ledger.path)];
    char *slash;
    unsigned removed;

    snprintf(folder, sizeof(folder), "%s", agent->ledger.path);
    slash = strrchr(folder, '/');
    if (agent->options.keep_orphans || !slash)
        return;
    *slash = '\0';
    removed = orphan_ledgers__tidy(folder);
    if (removed)
        log__line(LOG_INFO, "removed %u ledgers that killed JVMs had left in %s", removed, folder);
}

static void *run(void *context)
{
    struct agent *agent = context;

    pthread_setname_np(pthread_self(), "treadle");
    agent->ledger.header->profiler_tid = gettid();
    tidy_up(agent);
    while (!job_handoff__rest(&agent->jobs, rest_ns(agent)))
        look_after(agent);
    return NULL;
}

int housekeeping__start(struct agent *agent)
{
    int error;

    call_tree__init(&agent->folder_tree, &agent->ledger, NULL, NULL);
    job_handoff__init(&agent->jobs);
    error = own_thread__create(run, agent, STACK_BYTES);
    if (error)
        job_handoff__end(&agent->jobs);
    return error;
}

static void look(void *context)
{
    struct agent *agent = context;

    pthread_mutex_lock(&agent->snapshot_lock);
    if (!atomic_load(&agent->over)) {
        note_busy(agent);
        scan(agent);
    }
    pthread_mutex_unlock(&agent->snapshot_lock);
}

void housekeeping__look(struct agent *agent)
{
    job_handoff__run(&agent->jobs, look, agent);
}

void housekeeping__stop(struct agent *agent)
{
    job_handoff__end(&agent->jobs);
}
