#include "agent/agent.h"

#include "agent/callbacks.h"
#include "agent/dump.h"
#include "agent/hooks.h"
#include "agent/hooks/class_hooks.h"
#include "agent/hooks/hook_cost.h"
#include "agent/host/log.h"
#include "agent/host_facts.h"
#include "agent/housekeeping.h"
#include "agent/modules.h"
#include "agent/native_frames.h"
#include "agent/profiling.h"
#include "agent/threads/thread_events.h"
#include "agent/threads/virtual_threads.h"
#include "agent/timeline_request.h"
#include "native/clock/kernel_clock.h"
#include "native/metrics/kernel_metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_BYTES 1024

/* Short, since the JVM waits for it; made better when it has started. */
#define COMPARE_AT_START_NS 100000u

struct agent treadle_agent = {.attach_lock = PTHREAD_MUTEX_INITIALIZER};

JNIEnv *agent__jni(const struct agent *agent)
{
    JNIEnv *jni = NULL;

    (*agent->vm)->GetEnv(agent->vm, (void **)&jni, JNI_VERSION_1_8);
    return jni;
}

static bool runs_java(void *context, pid_t tid)
{
    struct agent *agent = context;

    return kernel_thread_table__runs_java(&agent->kernel_threads, tid);
}

static bool ran_java(void *context, pid_t tid, uint64_t start_ticks)
{
    struct agent *agent = context;

    return kernel_thread_table__ran_java(&agent->kernel_threads, tid, start_ticks);
}

static void forget_gone(void *context)
{
    struct agent *agent = context;

    kernel_thread_table__sweep(&agent->kernel_threads);
}

static const struct ledger_unprofiled *find_unprofiled(void *context, pid_t tid,
                                                       uint64_t start_ticks)
{
    struct agent *agent = context;

    return unprofiled_table__find(&agent->unprofiled, tid, start_ticks);
}

/* In the folder asked for; else in the first memory file system or folder that takes it. */
static int create_ledger(struct agent *agent)
{
    const struct agent_options *options = &agent->options;
    const char *folders[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    int first_error = 0;

    if (options->live_dir)
        return ledger__create(&agent->ledger, options->live_dir, options->max_mem);
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        int error = folders[i] && *folders[i]
                        ? ledger__create(&agent->ledger, folders[i], options->max_mem)
                        : -ENOENT;

        if (!error)
            return 0;
        if (!first_error)
            first_error = error;
    }
    return first_error;
}

/* Absolute, since native code may change the working folder; whose own per cent signs are doubled,
 * for they are not ours to expand. */
static int make_snapshot_pattern(struct agent *agent)
{
    const char *file = agent->options.file;
    char folder[PATH_MAX];
    size_t used = 0;

    if (file[0] != '/' && getcwd(folder, sizeof(folder))) {
        for (const char *c = folder; *c && used + 3 < sizeof(agent->snapshot_pattern); c++) {
            if (*c == '%')
                agent->snapshot_pattern[used++] = '%';
            agent->snapshot_pattern[used++] = *c;
        }
        agent->snapshot_pattern[used++] = '/';
    }
    if (used + strlen(file) >= sizeof(agent->snapshot_pattern))
        return -ENAMETOOLONG;
    memcpy(agent->snapshot_pattern + used, file, strlen(file) + 1);
    return 0;
}

static void choose_clock(struct agent *agent, bool attached)
{
    enum ledger_clock_kind forced = agent->options.clock;
    int error;

    ledger_time__start(&agent->setup.time, attached ? LEDGER_TIME_COMPARE_NS : COMPARE_AT_START_NS);
    agent->setup.clock = kernel_clock__choose_and_tell(forced, &agent->setup.time, &error,
                                                       agent->ledger.header->clock_error);
    if (error)
        log__line(LOG_WARN, "clock=%s does not work here (%s); using %s",
                  kernel_clock__name(forced), strerror(-error),
                  kernel_clock__name(agent->setup.clock));
}

static void choose_metrics(struct agent *agent)
{
    int32_t errors[SOURCE_COUNT] = {0};
    uint64_t available = kernel_metrics__probe(errors);
    struct ledger_header *header = agent->ledger.header;

    agent->setup.metrics_charged = agent->options.metrics & available;
    /* taskstats costs a socket and four microseconds a read: only where asked for. */
    agent->setup.metrics_totals = agent->setup.metrics_charged |
                                  (available & ~kernel_metric_source__get(SOURCE_TASKSTATS)->bits);
    for (unsigned source = 0; source < SOURCE_COUNT; source++)
        header->source_error[source] = errors[source];
}

/* Without room for quotas every call is heard: that is said, and costs what it costs. */
static void begin_budget(struct agent *agent)
{
    const struct agent_options *options = &agent->options;
    char message[MESSAGE_BYTES];

    if (!options->overhead_ppm)
        return;
    if (hook_quotas__begin(&agent->quotas, &agent->ledger, &agent->setup.time) != 0) {
        log__line(LOG_WARN, "no memory for the budget of overhead=: every call is recorded");
        return;
    }
    hook_renewal__init(&agent->renewal);
    agent->quotas.rate_max = HOOK_RATE_FIRST;
    agent->quotas.overhead_ppm = options->overhead_ppm;
    agent->setup.counted_keys = HOOK_METHODS_MAX;
    agent->ledger.header->overhead_ppm = options->overhead_ppm;
    agent->ledger.header->rate_max = HOOK_RATE_FIRST;
    if (!options->plan)
        return;
    if (plan__read(&agent->plan, options->plan, options->overhead_ppm, message, sizeof(message)) !=
        0) {
        log__line(LOG_WARN, "plan=%s; this run learns anew", message);
        return;
    }
    agent->ledger.header->planned = 1;
    if (message[0])
        log__line(LOG_WARN, "plan=%s", message);
}

/* A call_tree_resolve. */
static ledger_ref resolve(void *context, uint64_t key)
{
    struct agent *agent = context;

    if (ledger_key__is_logical(key))
        return logical_frames__resolve(&agent->pushed_frames.frames, &agent->ledger, key);
    if (agent->options.events == LEDGER_EVENTS_INSTRUMENT)
        return class_hooks__resolve(&agent->class_hooks, key);
    return method_names__resolve(&agent->method_names, key);
}

static int begin_ledger(struct agent *agent, const char *options, bool attached)
{
    struct scan_java java = {.runs_java = runs_java,
                             .ran_java = ran_java,
                             .unprofiled = find_unprofiled,
                             .forget_gone = forget_gone,
                             .context = agent};
    const char *folder = agent->options.live_dir ? agent->options.live_dir : "/dev/shm";
    int error = create_ledger(agent);

    if (error) {
        log__line(LOG_ERROR, "cannot make the ledger in %s: %s; not profiling", folder,
                  strerror(-error));
        return error;
    }
    /* What was consumed so far is not profiled. */
    if (attached) {
        agent->ledger.header->attached = 1;
        agent->ledger.header->profiling = 0;
        agent->ledger.header->starts = 0;
    }
    choose_clock(agent, attached);
    choose_metrics(agent);
    if (agent->options.events == LEDGER_EVENTS_INSTRUMENT)
        agent->ledger.header->hook_cost_ps = hook_cost__measure_ps(&agent->setup, hooks__natives);
    unprofiled_table__init(&agent->unprofiled, &agent->ledger, agent->setup.metrics_totals);
    begin_budget(agent);
    agent->setup.ledger = &agent->ledger;
    agent->setup.timeline = &agent->timeline;
    agent->timeline.on = &agent->setup.timeline_is_on;
    agent->setup.unprofiled = &agent->unprofiled;
    agent->setup.reuse_new = agent->options.reuse_new;
    agent->setup.admits_all = agent->options.events == LEDGER_EVENTS_INSTRUMENT;
    agent->setup.has_latencies = agent->options.latency != NULL;
    agent->setup.names_exits = agent->options.events == LEDGER_EVENTS_JVMTI;
    generated_names__init(&agent->generated);
    agent->setup.resolve = resolve;
    agent->setup.resolve_context = agent;
    pthread_mutex_init(&agent->snapshot_lock, NULL);
    java_hosts__init(&agent->java_hosts);
    deadlock_watch__init(&agent->deadlocks);
    thread_events__init(&agent->java_threads);
    process_scan__init(&agent->scan, &agent->ledger, getpid(), agent->setup.metrics_totals, &java);
    host_facts__record(agent, options);
    error = kernel_thread_table__init(&agent->kernel_threads, &agent->setup);
    if (!error)
        error = make_snapshot_pattern(agent);
    if (error)
        log__line(LOG_ERROR, "cannot begin: %s; not profiling", strerror(-error));
    return error;
}

/* The child of a fork has one thread, whose hooks go on; what it does is not this process's. It
 * cannot profile itself: what others held when it was made stays locked for ever. */
static void leave_to_parent(void)
{
    struct agent *agent = &treadle_agent;

    __atomic_store_n(&agent->setup.epoch, EPOCH_STOPPED, __ATOMIC_RELEASE);
    timeline__abandon(&agent->timeline);
    atomic_store(&agent->profiling, false);
    atomic_store(&agent->active, false);
    atomic_store(&agent->class_hooks.wanted, false);
    sampler__disable_in_child(&agent->sampler);
    kernel_thread_table__abandon(&agent->kernel_threads);
    (void)ledger__make_private(&agent->ledger);
}

/* What a beginning has made that came to nothing, and that nobody has used yet: it may be tried
 * again.
 */
static void undo(struct agent *agent)
{
    (*agent->jvmti)->DisposeEnvironment(agent->jvmti);
    agent->jvmti = NULL;
    kernel_thread_table__destroy(&agent->kernel_threads);
    hook_quotas__end(&agent->quotas);
    generated_names__end(&agent->generated);
    plan__delete(agent->plan);
    agent->plan = NULL;
    memset(&agent->setup, 0, sizeof(agent->setup));
    if (agent->ledger.base) {
        ledger__unlink(&agent->ledger);
        ledger__close(&agent->ledger);
    }
}

/* From the options, which are read already, to where the JVM runs Java. */
static int begin(struct agent *agent, JavaVM *vm, const char *options, bool attached)
{
    int error;

    log__set_level(agent->options.log);
    agent->vm = vm;
    if ((*vm)->GetEnv(vm, (void **)&agent->jvmti, JVMTI_VERSION_11) != JNI_OK) {
        log__line(LOG_ERROR, "this JVM has no JVMTI 11; not profiling");
        return -ENOTSUP;
    }
    modules__connect(agent);
    error = begin_ledger(agent, options, attached);
    if (!error)
        error = callbacks__set(agent);
    if (error) {
        undo(agent);
        return error;
    }
    if (!agent->prepared_for_forks)
        (void)pthread_atfork(NULL, NULL, leave_to_parent);
    agent->prepared_for_forks = true;
    native_frames__note_thread(agent);
    native_frames__announce();
    log__line(LOG_INFO, "ledger %s, clock %s", agent->ledger.path,
              kernel_clock__name(agent->setup.clock));
    error = housekeeping__start(agent);
    if (error)
        log__line(LOG_WARN, "no housekeeping thread (%s): short-lived VM threads may be missed",
                  strerror(-error));
    return 0;
}

static int read_options(const struct agent *agent, struct agent_options *options, const char *text)
{
    char message[MESSAGE_BYTES];
    int error = agent_options__parse(options, text, message, sizeof(message));

    log__begin_answer(options->answer);
    if (error)
        log__line(LOG_ERROR, "%s%s", message, agent->loaded ? "" : " (not profiling)");
    return error;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    struct agent *agent = &treadle_agent;
    bool strict = false;
    int error;

    (void)reserved;
    if (agent->loaded) {
        log__line(LOG_WARN, "the agent is loaded already; the second -agentpath is ignored");
        return JNI_OK;
    }
    error = read_options(agent, &agent->options, options);
    agent->loaded = true;
    strict |= error && agent->options.strict_options;
    strict |= agent->options.strict;
    if (!error)
        error = begin(agent, vm, options, false);
    if (!error)
        return JNI_OK; /* VMInit ends the answer */
    log__end_answer();
    if (strict)
        return JNI_ERR;
    agent_options__free(&agent->options);
    return JNI_OK;
}

/* To a JVM that runs and has not the agent yet. It may be tried again after a failure. */
static int attach(struct agent *agent, JavaVM *vm, const char *text)
{
    int error = read_options(agent, &agent->options, text);

    if (!error && agent->options.events == LEDGER_EVENTS_JVMTI) {
        log__line(LOG_ERROR,
                  "events=jvmti works only from the JVM's start: use -agentpath or treadle run");
        error = -ENOTSUP;
    }
    if (!error && agent->options.stop) {
        log__line(LOG_ERROR, "this JVM is not profiled: there is nothing to stop");
        error = -EINVAL;
    }
    if (!error)
        error = begin(agent, vm, text, true);
    if (error) {
        agent_options__free(&agent->options);
        return error;
    }
    agent->loaded = true;
    /* The file is there for this request only. */
    free(agent->options.answer);
    agent->options.answer = NULL;
    error = profiling__begin(agent, agent__jni(agent), NULL);
    if (error)
        profiling__give_up(agent);
    else if (agent->options.timeline_bytes)
        error = timeline_request__begin(agent, &agent->options);
    else if (agent->options.dump)
        error = dump__now(agent, agent__jni(agent), NULL);
    return error;
}

static int start_again(struct agent *agent, struct agent_options *request, const char *text)
{
    bool was_profiling = atomic_load(&agent->profiling);

    if (agent->options.events == LEDGER_EVENTS_INSTRUMENT &&
        (agent_options__has(request, "include") || agent_options__has(request, "exclude"))) {
        if (was_profiling) {
            log__line(LOG_ERROR,
                      "profiling is running: stop it before you change include= or exclude=");
            return -EALREADY;
        }
        class_hooks__set_filter(&agent->class_hooks, &request->filter);
    }
    if (!was_profiling && agent_options__has(request, "sample"))
        agent->sampler.mode = request->sample;
    if (!was_profiling && agent_options__has(request, "interval"))
        agent->sampler.interval_ns = request->interval_ns;
    if (!was_profiling && agent_options__has(request, "sample-clock"))
        agent->sampler.wanted_clock = request->sample_clock;
    if (!was_profiling && agent_options__has(request, "recursion"))
        agent->ledger.header->recursion = request->recursion;
    if (!was_profiling)
        host_facts__record_start(agent, text);
    return profiling__start(agent, agent__jni(agent));
}

/* What a running agent is asked: one of three things, with what belongs to it. */
static int check_request(const struct agent_options *request)
{
    static const char *const of_dump[] = {"file", "answer", NULL};
    static const char *const of_start[] = {"include",      "exclude",   "sample", "interval",
                                           "sample-clock", "recursion", "answer", NULL};
    static const char *const of_stop[] = {"answer", NULL};
    static const char *const of_timeline[] = {"timeline", "timeline-calls", "timeline-for",
                                              "answer", NULL};
    const char *other = NULL;
    int wishes = request->dump + request->start + request->stop + request->has_timeline;

    /* Somebody else has attached since the sender looked. The sender says so; the host does not
     * hear of it. */
    if (wishes == 0 && agent_options__has(request, "answer"))
        return -EISCONN;
    if (wishes != 1) {
        log__line(LOG_ERROR, "the agent is loaded already and takes only dump[,file:PATH], "
                             "start[,include:GLOBS,exclude:GLOBS,"
                             "sample:CLOCK,interval:TIME,sample-clock:KIND,recursion:N], stop or "
                             "timeline:SIZE|off[,timeline-calls:TIME,timeline-for:TIME]");
        return -EINVAL;
    }
    other = agent_options__other(request, request->dump    ? of_dump
                                          : request->start ? of_start
                                          : request->stop  ? of_stop
                                                           : of_timeline);
    if (!other)
        return 0;
    log__line(
        LOG_ERROR,
        "option %s can be given only when the agent is loaded first, and it is loaded already",
        other);
    return -EINVAL;
}

static int answer(struct agent *agent, const char *text)
{
    struct agent_options request;
    int error = read_options(agent, &request, text);

    if (!error && !atomic_load(&agent->active)) {
        log__line(LOG_ERROR, "the agent is loaded in this JVM, but does not profile it");
        error = -ENOTSUP;
    }
    if (!error)
        error = check_request(&request);
    if (!error && request.dump)
        error = dump__now(agent, agent__jni(agent),
                          agent_options__has(&request, "file") ? request.file : NULL);
    else if (!error && request.start)
        error = start_again(agent, &request, text);
    else if (!error && request.has_timeline)
        error = timeline_request__answer(agent, &request);
    else if (!error)
        error = profiling__stop(agent, agent__jni(agent));
    agent_options__free(&request);
    return error;
}

/* In a running JVM: starts the agent, or answers a request if the agent runs already. The sender of
 * the request gets the result: JNI_EEXIST to a second attach that treadle sent. */
JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *text, void *reserved)
{
    struct agent *agent = &treadle_agent;
    int error;

    (void)reserved;
    pthread_mutex_lock(&agent->attach_lock);
    error = agent->loaded ? answer(agent, text) : attach(agent, vm, text);
    log__end_answer();
    pthread_mutex_unlock(&agent->attach_lock);
    if (error == -EISCONN)
        return JNI_EEXIST;
    return error ? JNI_ERR : JNI_OK;
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM *vm)
{
    (void)vm;
}
