#include "agent/profiling.h"

#include "agent/activity_hooks.h"
#include "agent/agent.h"
#include "agent/hooks.h"
#include "agent/hooks/class_changes.h"
#include "agent/host/jvmti_event.h"
#include "agent/host/log.h"
#include "agent/host_facts.h"
#include "agent/hotspot/safepoint_time.h"
#include "agent/housekeeping.h"
#include "agent/threads/io_natives.h"
#include "agent/threads/lock_holds.h"
#include "agent/threads/lock_waits.h"
#include "agent/threads/standing_frames.h"
#include "agent/threads/thread_events.h"
#include "agent/threads/thread_waits.h"
#include "agent/threads/virtual_threads.h"

#include <errno.h>

/* All but those of classes, which come with the hooks. */
static void set_events(struct agent *agent, bool on)
{
    (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_THREAD_START, on);
    (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_THREAD_END, on);
    virtual_threads__hear(&agent->java_threads, on);
    thread_waits__hear(&agent->java_threads, on);
    if (agent->options.events == LEDGER_EVENTS_JVMTI) {
        (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_METHOD_ENTRY, on);
        (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_METHOD_EXIT, on);
    }
}

static void begin_epoch(struct agent *agent)
{
    agent->epochs++;
    __atomic_store_n(&agent->setup.epoch, agent->epochs, __ATOMIC_RELEASE);
}

/* In the housekeeping thread: what that costs is the profiler's. Threads that do not run Java are
 * looked at: the second look, which makes their rows, may be that of a stop. */
static void note_start(void *context)
{
    struct agent *agent = context;

    pthread_mutex_lock(&agent->snapshot_lock);
    (void)unprofiled_table__prepare_start(&agent->unprofiled);
    unprofiled_table__start(&agent->unprofiled, ledger_time__now_ns(&agent->setup.time));
    kernel_thread_table__note_unprofiled(&agent->kernel_threads);
    (void)process_scan__run(&agent->scan, ledger_time__now_ns(&agent->setup.time), SCAN_CPU);
    pthread_mutex_unlock(&agent->snapshot_lock);
}

static void note_stop(void *context)
{
    struct agent *agent = context;

    pthread_mutex_lock(&agent->snapshot_lock);
    (void)process_scan__run(&agent->scan, ledger_time__now_ns(&agent->setup.time), SCAN_ALL);
    housekeeping__look_at_cost(agent, true);
    (void)unprofiled_table__prepare_stop(&agent->unprofiled);
    __atomic_store_n(&agent->setup.epoch, EPOCH_STOPPED, __ATOMIC_RELEASE);
    lock_waits__stopped(&agent->java_threads, ledger_time__now_ns(&agent->setup.time));
    unprofiled_table__stop(&agent->unprofiled, ledger_time__now_ns(&agent->setup.time));
    kernel_thread_table__note_unprofiled(&agent->kernel_threads);
    pthread_mutex_unlock(&agent->snapshot_lock);
}

static bool has_hooks(const struct agent *agent)
{
    return agent->options.events == LEDGER_EVENTS_INSTRUMENT ||
           agent->java_threads.virtual_thread_class;
}

/* Within a budget they fall silent, and stay for some time. Where nobody would take them out later
 * they come out now. */
static void end_hooks(struct agent *agent, JNIEnv *jni)
{
    if (agent->java_threads.locks)
        lock_holds__hear(&agent->java_threads, jni, false);
    if (!hook_renewal__may_change(&agent->renewal) ||
        !class_changes__silence(&agent->class_hooks, jni))
        class_changes__remove(&agent->class_hooks, jni);
}

/* Hooks are put in, or heard again, before their events count: everything begins at one moment. */
int profiling__start(struct agent *agent, JNIEnv *jni)
{
    if (atomic_load(&agent->profiling)) {
        log__line(LOG_ERROR, "profiling is running already");
        return -EALREADY;
    }
    atomic_store(&agent->profiling, true);
    if (has_hooks(agent))
        class_changes__insert(&agent->class_hooks, jni);
    set_events(agent, true);
    job_handoff__run(&agent->jobs, note_start, agent);
    lock_waits__before_start(&agent->java_threads, jni);
    if (agent->java_threads.locks)
        lock_holds__hear(&agent->java_threads, jni, lock_holds__are_heard(&agent->java_threads));
    thread_events__adopt_all(&agent->java_threads, jni);
    standing_frames__place_all(&agent->java_threads, jni, agent->epochs + 1);
    begin_epoch(agent);
    standing_frames__place_silent(&agent->java_threads, jni, agent->epochs);
    activity_hooks__turn(agent, jni);
    (void)sampler__start(&agent->sampler);
    log__line(LOG_INFO, "profiling started");
    return 0;
}

int profiling__stop(struct agent *agent, JNIEnv *jni)
{
    if (!atomic_load(&agent->profiling)) {
        log__line(LOG_ERROR, "profiling is stopped already");
        return -EALREADY;
    }
    thread_events__record_names(&agent->java_threads, jni);
    sampler__stop(&agent->sampler);
    job_handoff__run(&agent->jobs, note_stop, agent);
    set_events(agent, false);
    if (has_hooks(agent))
        end_hooks(agent, jni);
    atomic_store(&agent->profiling, false);
    activity_hooks__turn(agent, jni);
    log__line(LOG_INFO, "profiling stopped");
    return 0;
}

static void start_with_process(struct agent *agent, JNIEnv *jni, jthread main)
{
    ledger_time__refine(&agent->setup.time);
    agent->ledger.header->tsc_mult = agent->setup.time.tsc_mult;
    atomic_store(&agent->profiling, true);
    begin_epoch(agent);
    thread_events__start(&agent->java_threads, jni, main);
    set_events(agent, true);
    if (agent->options.events == LEDGER_EVENTS_INSTRUMENT)
        thread_events__adopt_all(&agent->java_threads, jni);
    else
        thread_events__note_hosts(&agent->java_threads, jni);
    agent->class_hooks.interfaces_may_change = true;
    if (has_hooks(agent))
        class_changes__insert(&agent->class_hooks, jni);
    agent->class_hooks.interfaces_may_change = false;
    sampler__start_later(&agent->sampler);
}

/* Natives that were bound before the agent came are bound again, to their wrappers. */
static int begin_hooks(struct agent *agent, JNIEnv *jni, bool rebind_natives)
{
    JNINativeMethod natives[2], methods[WAIT_NATIVES];
    struct bound_natives more = {.methods = natives}, waits[WAIT_NATIVES];
    struct io_bindings io;
    const struct bound_natives *all;

    if (rebind_natives)
        more.count = thread_events__rebind(&agent->java_threads, jni, &more.class, natives);
    all = thread_waits__bind(&agent->java_threads, jni, waits, methods, more.count ? &more : NULL);
    all = io_natives__bind(&agent->java_threads, jni, &io, all);
    agent->class_hooks.plan = agent->plan;
    agent->class_hooks.has_virtual_threads = agent->java_threads.virtual_thread_class != NULL;
    return class_hooks__begin(&agent->class_hooks, jni, hooks__natives, all);
}

static void tell_waits(struct agent *agent)
{
    struct ledger_header *header = agent->ledger.header;

    header->metrics_charged |= LEDGER_WAIT_METRICS;
    if (agent->java_threads.virtual_thread_class)
        header->metrics_charged |= 1ull << METRIC_UNMOUNTED;
    if (safepoint_time__find(&agent->setup.stopped))
        header->metrics_charged |= 1ull << METRIC_SAFEPOINT;
    agent->setup.tells_waits = true;
}

static void begin_native_waits(struct agent *agent)
{
    size_t count = native_lock_wrappers__table(agent->native_wrappers);

    count += native_wait_wrappers__table(agent->native_wrappers + count);
    native_locks__begin(&agent->native_locks, &agent->java_threads, agent->native_wrappers, count);
}

int profiling__begin(struct agent *agent, JNIEnv *jni, jthread main)
{
    int error = 0;

    host_facts__record_jvm(agent);
    sampler__prepare(&agent->sampler, jni);
    thread_events__prepare(&agent->java_threads, jni);
    agent->ledger.header->metrics_charged |= 1ull << METRIC_MIGRATIONS;
    if (agent->java_threads.virtual_thread_class)
        agent->ledger.header->metrics_charged |= 1ull << METRIC_PINNED;
    if (agent->options.waits) {
        tell_waits(agent);
        error = lock_waits__begin(&agent->java_threads, jni);
        begin_native_waits(agent);
    }
    if (!error)
        error = begin_hooks(agent, jni, !main);
    if (error)
        return error;
    atomic_store(&agent->active, true);
    if (!main)
        activity_hooks__find(agent, jni);
    if (main) {
        start_with_process(agent, jni, main);
        return 0;
    }
    return profiling__start(agent, jni);
}

void profiling__give_up(struct agent *agent)
{
    atomic_store(&agent->active, false);
    housekeeping__stop(agent);
    ledger__unlink(&agent->ledger);
}
