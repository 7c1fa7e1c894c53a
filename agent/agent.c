#include "agent/agent.h"

#include "agent/dump.h"
#include "agent/host_facts.h"
#include "agent/housekeeping.h"
#include "agent/log.h"
#include "agent/method_events.h"
#include "agent/method_names.h"
#include "agent/thread_events.h"
#include "agent/virtual_threads.h"
#include "native/kernel_clock.h"
#include "native/kernel_metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_BYTES 1024

struct agent treadle_agent;

static bool loaded;

JNIEnv *agent__jni(const struct agent *agent)
{
    JNIEnv *jni = NULL;

    (*agent->vm)->GetEnv(agent->vm, (void **)&jni, JNI_VERSION_1_8);
    return jni;
}

static bool knows_java(void *context, pid_t tid)
{
    struct agent *agent = context;

    return kernel_thread_table__knows(&agent->kernel_threads, tid);
}

static bool knew_java(void *context, pid_t tid, uint64_t start_ticks)
{
    struct agent *agent = context;

    return kernel_thread_table__knew(&agent->kernel_threads, tid, start_ticks);
}

static void forget_gone(void *context)
{
    struct agent *agent = context;

    kernel_thread_table__sweep(&agent->kernel_threads);
}

/* In the folder asked for; else in the first memory file system or folder that takes it. */
static int create_ledger(struct agent *agent)
{
    const struct agent_options *options = &agent->options;
    const char *folders[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    int first_error = 0;

    if (options->live_dir)
        return ledger__create(&agent->ledger, options->live_dir, options->max_mem);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
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

    if (file[0] != '/' && getcwd(folder, sizeof folder)) {
        for (const char *c = folder; *c && used + 3 < sizeof agent->snapshot_pattern; c++) {
            if (*c == '%')
                agent->snapshot_pattern[used++] = '%';
            agent->snapshot_pattern[used++] = *c;
        }
        agent->snapshot_pattern[used++] = '/';
    }
    if (used + strlen(file) >= sizeof agent->snapshot_pattern)
        return -ENAMETOOLONG;
    memcpy(agent->snapshot_pattern + used, file, strlen(file) + 1);
    return 0;
}

static void choose_clock(struct agent *agent)
{
    enum ledger_clock_kind forced = agent->options.clock;
    int error;

    ledger_time__start(&agent->setup.time, true);
    agent->setup.clock = kernel_clock__choose(forced, &agent->setup.time, &error);
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

static int begin_ledger(struct agent *agent, const char *options)
{
    struct scan_java java = {
        .knows = knows_java, .knew = knew_java, .forget_gone = forget_gone, .context = agent};
    const char *folder = agent->options.live_dir ? agent->options.live_dir : "/dev/shm";
    int error = create_ledger(agent);

    if (error) {
        log__line(LOG_ERROR, "cannot make the ledger in %s: %s; not profiling", folder,
                  strerror(-error));
        return error;
    }
    choose_clock(agent);
    choose_metrics(agent);
    agent->setup.ledger = &agent->ledger;
    agent->setup.reuse_new = agent->options.reuse_new;
    agent->setup.resolve = method_names__resolve;
    agent->setup.resolve_context = agent;
    pthread_mutex_init(&agent->snapshot_lock, NULL);
    pthread_mutex_init(&agent->names_lock, NULL);
    java_thread_table__init(&agent->java_threads);
    process_scan__init(&agent->scan, &agent->ledger, getpid(), agent->setup.metrics_totals, &java);
    host_facts__record(agent, options);
    error = kernel_thread_table__init(&agent->kernel_threads, &agent->setup);
    if (!error)
        error = make_snapshot_pattern(agent);
    if (error) {
        log__line(LOG_ERROR, "cannot begin: %s; not profiling", strerror(-error));
        ledger__unlink(&agent->ledger);
    }
    return error;
}

static void set_event(struct agent *agent, jvmtiEvent event)
{
    (*agent->jvmti)->SetEventNotificationMode(agent->jvmti, JVMTI_ENABLE, event, NULL);
}

static void JNICALL on_vm_init(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    struct agent *agent = &treadle_agent;

    host_facts__record_jvm(agent);
    thread_events__prepare(agent, jni);
    atomic_store(&agent->active, true);
    thread_events__start(jvmti, jni, thread);
    if (agent->options.events == LEDGER_EVENTS_JVMTI) {
        set_event(agent, JVMTI_EVENT_METHOD_ENTRY);
        set_event(agent, JVMTI_EVENT_METHOD_EXIT);
    }
}

static void JNICALL on_vm_death(jvmtiEnv *jvmti, JNIEnv *jni)
{
    struct agent *agent = &treadle_agent;

    (void)jvmti;
    if (!atomic_load(&agent->active))
        return;
    dump__at_exit(agent, jni);
    housekeeping__stop(agent);
}

static void JNICALL on_data_dump(jvmtiEnv *jvmti)
{
    struct agent *agent = &treadle_agent;

    (void)jvmti;
    if (atomic_load(&agent->active))
        (void)dump__now(agent, agent__jni(agent), NULL);
}

static int add_capabilities(struct agent *agent)
{
    jvmtiCapabilities capabilities = {
        .can_generate_method_entry_events = agent->options.events == LEDGER_EVENTS_JVMTI,
        .can_generate_method_exit_events = agent->options.events == LEDGER_EVENTS_JVMTI,
        .can_generate_native_method_bind_events = 1,
        .can_get_source_file_name = 1,
    };

    virtual_threads__ask(agent, &capabilities);

    return (int)(*agent->jvmti)->AddCapabilities(agent->jvmti, &capabilities);
}

static int hear_events(struct agent *agent)
{
    static const jvmtiEventCallbacks callbacks = {
        .VMInit = on_vm_init,
        .VMDeath = on_vm_death,
        .DataDumpRequest = on_data_dump,
        .ThreadStart = thread_events__start,
        .ThreadEnd = thread_events__end,
        .NativeMethodBind = thread_events__native_bound,
        .MethodEntry = method_events__entry,
        .MethodExit = method_events__exit,
    };
    int error = add_capabilities(agent);

    if (!error)
        error = (int)(*agent->jvmti)
                    ->SetEventCallbacks(agent->jvmti, &callbacks, (jint)sizeof callbacks);
    if (error) {
        log__line(LOG_ERROR, "the JVM refuses the events (JVMTI error %d); not profiling", error);
        return -ENOTSUP;
    }
    set_event(agent, JVMTI_EVENT_VM_INIT);
    set_event(agent, JVMTI_EVENT_VM_DEATH);
    set_event(agent, JVMTI_EVENT_DATA_DUMP_REQUEST);
    set_event(agent, JVMTI_EVENT_THREAD_START);
    set_event(agent, JVMTI_EVENT_THREAD_END);
    set_event(agent, JVMTI_EVENT_NATIVE_METHOD_BIND);
    virtual_threads__hear(agent);
    return 0;
}

static int begin(struct agent *agent, JavaVM *vm, const char *options)
{
    char message[MESSAGE_BYTES];
    int error = agent_options__parse(&agent->options, options, message, sizeof message);

    if (error) {
        log__line(LOG_ERROR, "%s (not profiling)", message);
        return error;
    }
    log__set_level(agent->options.log);
    agent->vm = vm;
    if ((*vm)->GetEnv(vm, (void **)&agent->jvmti, JVMTI_VERSION_11) != JNI_OK) {
        log__line(LOG_ERROR, "this JVM has no JVMTI 11; not profiling");
        return -ENOTSUP;
    }
    error = begin_ledger(agent, options);
    if (error)
        return error;
    error = hear_events(agent);
    if (error) {
        ledger__unlink(&agent->ledger);
        return error;
    }
    log__line(LOG_INFO, "ledger %s, clock %s", agent->ledger.path,
              kernel_clock__name(agent->setup.clock));
    error = housekeeping__start(agent);
    if (error)
        log__line(LOG_WARN, "no housekeeping thread (%s): short-lived VM threads may be missed",
                  strerror(-error));
    return 0;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    struct agent *agent = &treadle_agent;
    int error;

    (void)reserved;
    if (loaded) {
        log__line(LOG_WARN, "loaded already; the second -agentpath is ignored");
        return JNI_OK;
    }
    loaded = true;
    error = begin(agent, vm, options);
    if (error && agent->options.strict)
        return JNI_ERR;
    if (error)
        agent_options__free(&agent->options);
    return JNI_OK;
}

/* A running JVM that has the agent: a request. The result reaches whoever asked. */
JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *text, void *reserved)
{
    struct agent *agent = &treadle_agent;
    char message[MESSAGE_BYTES];
    struct agent_options request;
    int error;

    (void)vm, (void)reserved;
    if (!atomic_load(&agent->active)) {
        log__line(LOG_ERROR, "not profiling this JVM: start it with -agentpath:…/libtreadle.so");
        return JNI_ERR;
    }
    error = agent_options__parse(&request, text, message, sizeof message);
    if (!error && !request.dump) {
        error = -EINVAL;
        snprintf(message, sizeof message,
                 "loaded already; a running agent takes only dump[,file:PATH]");
    }
    if (error)
        log__line(LOG_ERROR, "%s", message);
    else
        error = dump__now(agent, agent__jni(agent), request.file_given ? request.file : NULL);
    agent_options__free(&request);
    return error ? JNI_ERR : JNI_OK;
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM *vm)
{
    (void)vm;
}
