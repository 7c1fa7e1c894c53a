/* Knows the whole profiler. */
#include "native/preload/upkeep.h"

#include "native/host/own_thread.h"
#include "native/ledger/busy_history.h"
#include "native/ledger/orphan_ledgers.h"
#include "native/preload/hook_price.h"
#include "native/preload/host_program.h"
#include "native/preload/preload.h"
#include "native/proc/task_file.h"
#include "native/snapshot/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIRST_ROUND_NS 10000000u
#define ROUND_NS       100000000u
#define SCAN_COST      1000u /* a look at all threads rests so many times as long as it took */
#define SCAN_NS_MOST   5000000000u
#define ALL_METRICS_NS 10000000000u
#define AHEAD_BYTES    (1u << 20)
#define AHEAD_PART     16u
#define PAUSE_NS       10000000000u /* longer than a look at all images takes */
#define PAUSE_STEP_NS  100000u
#define STACK_BYTES    (512u * 1024u)
#define TIDY_NS        1000000000u /* a program that is over by then leaves that to others */

static void scan(struct preload *preload)
{
    struct ledger_header *header = preload->ledger.header;
    uint64_t now_ns = ledger_time__now_ns(&preload->setup.time);
    bool all = now_ns - preload->all_metrics_ns > ALL_METRICS_NS;

    busy_history__look(&header->busy_history, now_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    if (all)
        preload->all_metrics_ns = now_ns;
    (void)process_scan__run(&preload->scan, now_ns, all ? SCAN_ALL : SCAN_CPU);
    (void)ledger__read_process_cpu(header);
    header->asof_ns = now_ns;
}

static void scan_in_turn(struct preload *preload)
{
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), rest_ns;

    if (ledger_time__now_ns(&preload->setup.time) < preload->next_scan_ns)
        return;
    scan(preload);
    rest_ns = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) * SCAN_COST;
    rest_ns = rest_ns < ROUND_NS ? ROUND_NS : rest_ns < SCAN_NS_MOST ? rest_ns : SCAN_NS_MOST;
    preload->next_scan_ns = ledger_time__now_ns(&preload->setup.time) + rest_ns;
}

/* Functions or logical frames that were heard of. */
static bool has_hooks(struct preload *preload)
{
    return __atomic_load_n(&preload->functions.count, __ATOMIC_RELAXED) ||
           atomic_load(&preload->pushed.frames.count);
}

static void look_at_cost(struct preload *preload, bool all)
{
    const struct program_samples *samples = preload->samples;
    const struct own_cost_causes causes = {
        .samples = samples && atomic_load(&samples->running),
        .perf_events = samples && samples->clock == LEDGER_SAMPLE_CLOCK_PERF,
    };

    if (!preload->is_measured && has_hooks(preload)) {
        preload->is_measured = true;
        preload->ledger.header->hook_cost_ps = hook_price__measure_ps(&preload->setup);
    }
    own_cost__look(&preload->own_cost, &causes, all);
}

static void warn_of_losses(struct preload *preload)
{
    const struct ledger_header *header = preload->ledger.header;

    if (preload->has_warned || preload->options.is_quiet ||
        !(header->full_error || header->dropped_enters || header->dropped_threads))
        return;
    preload->has_warned = true;
    if (header->full_error)
        preload__say("the ledger is full (%s): the coldest contexts are folded; raise max-mem=, or "
                     "include= fewer functions",
                     header->full_error == ENOMEM ? "max-mem is reached"
                                                  : strerror(header->full_error));
    else
        preload__say("some calls or threads are not recorded; reports say how many");
}

static void begin_samples_in_turn(struct preload *preload)
{
    int error;

    if (!preload->samples_due_ns ||
        ledger_time__now_ns(&preload->setup.time) < preload->samples_due_ns)
        return;
    preload->samples_due_ns = 0;
    error = program_samples__begin(preload->samples);
    if (error)
        preload__say("no samples: %s", strerror(-error));
}

static void end_samples(struct preload *preload)
{
    if (preload->samples && !preload->has_stood_aside)
        program_samples__end(preload->samples);
    preload->has_stood_aside = true;
}

/* Under a lock that forks wait for: the question takes the dynamic linker's lock. */
static bool has_agent(struct preload *preload)
{
    bool found;

    pthread_mutex_lock(&preload->names.lock);
    found = host_program__has_agent();
    pthread_mutex_unlock(&preload->names.lock);
    return found;
}

static void name_and_drain(struct preload *preload)
{
    function_names__name(&preload->names);
    if (!preload->samples || !atomic_load(&preload->samples->running))
        return;
    function_names__look(&preload->names);
    program_samples__drain(preload->samples);
}

static void look_after(struct preload *preload)
{
    uint64_t used = (uint64_t)preload->ledger.header->chunks_used * LEDGER_CHUNK_BYTES;

    (void)ledger__reserve_ahead(&preload->ledger, AHEAD_BYTES + used / AHEAD_PART);
    if (atomic_load(&preload->stage) == PRELOAD_ASIDE)
        end_samples(preload);
    if (!preload__is_active(preload))
        return;
    begin_samples_in_turn(preload);
    scan_in_turn(preload);
    name_and_drain(preload);
    thread_fold__tidy(&preload->folder, &preload->folder_tree);
    look_at_cost(preload, false);
    function_budget__look(&preload->budget);
    warn_of_losses(preload);
    if (has_agent(preload)) {
        preload__stand_aside(preload);
        end_samples(preload);
    }
}

/* What killed processes of this user left beside the ledger takes memory. Once. */
static void tidy_up(struct preload *preload)
{
    char folder[sizeof(preload->ledger.path)];
    char *slash;

    if (preload->is_tidy || ledger_time__now_ns(&preload->setup.time) < TIDY_NS)
        return;
    preload->is_tidy = true;
    snprintf(folder, sizeof(folder), "%s", preload->ledger.path);
    slash = strrchr(folder, '/');
    if (preload->options.keep_orphans || !slash)
        return;
    *slash = '\0';
    (void)orphan_ledgers__tidy(folder);
}

/* 0: not known. */
static unsigned long count_threads(void)
{
    struct stat tasks;

    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2 ? tasks.st_nlink - 2 : 0;
}

/* The main thread stays in /proc until the process ends, which it has left by pthread_exit. */
static bool is_over(pid_t tid)
{
    char path[64], text[TASK_FILE_BYTES];
    const char *name_end;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
    if (task_file__load(AT_FDCWD, path, text) < 0)
        return false;
    name_end = strrchr(text, ')');
    return name_end && strncmp(name_end, ") Z", 3) == 0;
}

/* The process ends with the program's last thread, as without this one: then it is the last. */
static bool is_alone(struct preload *preload)
{
    return !preload_threads__any(&preload->threads) && count_threads() == 2 && is_over(getpid());
}

/* The C library calls exit on the thread that ends last, with what the program has for that. */
static void end_process(struct preload *preload)
{
    sigset_t none;

    job_handoff__end(&preload->jobs);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static void *run(void *context)
{
    struct preload *preload = context;
    uint64_t rest_ns = FIRST_ROUND_NS;

    preload_mine.is_no_ones = true;
    pthread_setname_np(pthread_self(), "treadle");
    preload->ledger.header->profiler_tid = gettid();
    while (!job_handoff__rest(&preload->jobs, rest_ns)) {
        look_after(preload);
        tidy_up(preload);
        rest_ns = ROUND_NS;
        if (preload->samples_due_ns)
            rest_ns = FIRST_ROUND_NS;
        if (is_alone(preload))
            end_process(preload);
    }
    return NULL;
}

static void start_thread(struct preload *preload)
{
    int error;

    job_handoff__init(&preload->jobs);
    error = own_thread__create(run, preload, STACK_BYTES);
    if (!error)
        return;
    job_handoff__end(&preload->jobs);
    preload__say("no thread for the profiler (%s): functions get their names at the end",
                 strerror(-error));
}

void upkeep__start(struct preload *preload)
{
    call_tree__init(&preload->folder_tree, &preload->ledger, NULL, NULL);
    start_thread(preload);
}

static bool wait_for_end(void)
{
    const struct timespec step = {.tv_nsec = PAUSE_STEP_NS};
    uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + PAUSE_NS;

    while (count_threads() != 1) {
        if (clock_ns(CLOCK_MONOTONIC) > until_ns)
            return false;
        (void)nanosleep(&step, NULL);
    }
    return true;
}

bool upkeep__pause(struct preload *preload)
{
    bool has_ended;

    if (count_threads() != 2)
        return false;
    job_handoff__end(&preload->jobs);
    preload_mine.waits_for_profiler = true;
    has_ended = wait_for_end();
    preload_mine.waits_for_profiler = false;
    return has_ended;
}

/* The new thread is not taken for one of the program's. */
void upkeep__go_on(struct preload *preload)
{
    bool was_no_ones = preload_mine.is_no_ones;

    preload_mine.is_no_ones = true;
    start_thread(preload);
    preload_mine.is_no_ones = was_no_ones;
}

static void bring_up_to_date(struct preload *preload)
{
    (void)process_scan__run(&preload->scan, ledger_time__now_ns(&preload->setup.time), SCAN_CPU);
    function_names__name(&preload->names);
    if (preload->samples)
        program_samples__drain(preload->samples);
    thread_fold__tidy(&preload->folder, &preload->folder_tree);
    look_at_cost(preload, true);
}

/* On the profiler's own thread, for which this one waits. False: it took too long. */
static bool run_within(struct preload *preload, void (*work)(void *context), uint64_t most_ns)
{
    bool is_done;

    preload_mine.waits_for_profiler = true;
    is_done = job_handoff__run_within(&preload->jobs, work, preload, most_ns);
    preload_mine.waits_for_profiler = false;
    return is_done;
}

static void name_and_merge(void *context)
{
    name_and_drain(context);
}

void upkeep__before_unload(struct preload *preload, uint64_t most_ns)
{
    (void)run_within(preload, name_and_merge, most_ns);
}

static void look_now(void *context)
{
    struct preload *preload = context;

    bring_up_to_date(preload);
    scan(preload);
}

void upkeep__look(struct preload *preload, uint64_t most_ns)
{
    (void)run_within(preload, look_now, most_ns);
}

static void write_snapshot(void *context)
{
    struct preload *preload = context;
    struct ledger_header *header = preload->ledger.header;
    struct last_snapshot *job = &preload->last;
    int fd;

    job->error = snapshot__path(job->path, sizeof(job->path), preload->snapshot_pattern,
                                (int)preload->pid, header->snapshots + 1);
    if (job->error)
        return;
    bring_up_to_date(preload);
    warn_of_losses(preload);
    header->snapshots++;
    fd = ledger__file(&preload->ledger);
    job->error = fd < 0 ? fd : snapshot__write(fd, job->path);
    if (!job->error)
        ledger__unlink(&preload->ledger);
}

int upkeep__write_last(struct preload *preload, uint64_t most_ns)
{
    const struct last_snapshot *job = &preload->last;
    int error = run_within(preload, write_snapshot, most_ns) ? job->error : -ETIMEDOUT;

    if (error)
        preload__say("snapshot %s: cannot be written: %s; the live ledger stays: treadle report %s",
                     job->path[0] ? job->path : preload->snapshot_pattern, strerror(-error),
                     preload->ledger.path);
    return error;
}
