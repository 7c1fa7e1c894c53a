#include "agent/sampling/sampler.h"

#include "agent/host/jvmti_event.h"
#include "agent/host/log.h"
#include "agent/sampling/native_engine.h"
#include "agent/sampling/sample_signal.h"
#include "agent/sampling/wall_samples.h"
#include "native/fault_guard.h"
#include "native/hash_table.h"
#include "native/sampling/kernel_symbols.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_NS      50000000u
#define SLOW_NS       5000000u /* intervals from that on fill the buffers slowly: */
#define SLOW_DRAIN_NS 200000000u
#define RING_DRAIN_NS 100000000u /* as long as the rings of perf events last */
#define IDLE_DRAIN_NS 500000000u /* where the process consumes next to nothing, on a machine */
#define IDLE_MACHINE  16         /* with so many processors, whose samples of that time fit */
#define STACK_FRAMES  512
#define WATCH_COST    1500u /* threads are looked for again after so many times what it took */
#define WATCH_NS_MAX  1000000000u
#define STARTED_NS    60000000u /* so long after its first thread began a JVM is at the program */

struct sampled_task {
    pid_t tid;
    struct sample_timer timer;
    unsigned pass;
    UT_hash_handle hh;
};

void sampler__add_capabilities(jvmtiCapabilities *capabilities)
{
    capabilities->can_get_line_numbers = 1;
    capabilities->can_get_bytecodes = 1;
    capabilities->can_get_source_file_name = 1;
}

void sampler__code_generated(struct sampler *sampler, const char *name, const void *address,
                             jint bytes)
{
    stub_symbols__told(&sampler->merge.names.stubs, name, address, bytes);
}

static jfieldID find_java_thread_field(JNIEnv *jni)
{
    jclass class = (*jni)->FindClass(jni, "java/lang/Thread");
    jfieldID field = class ? (*jni)->GetFieldID(jni, class, "eetop", "J") : NULL;

    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    (*jni)->DeleteLocalRef(jni, class);
    return field;
}

const void *sampler__java_thread_of(const struct sampler *sampler, JNIEnv *jni, jthread thread)
{
    jfieldID field = sampler->java_thread_field;

    return field ? (const void *)(uintptr_t)(*jni)->GetLongField(jni, thread, field) : NULL;
}

/* A thread's JNIEnv lies in its JavaThread. */
static uintptr_t find_jni_offset(const struct sampler *sampler, JNIEnv *jni)
{
    jthread thread = NULL;
    uintptr_t offset = 0;

    if ((*sampler->jvmti)->GetCurrentThread(sampler->jvmti, &thread) == JVMTI_ERROR_NONE) {
        uintptr_t java_thread = (uintptr_t)sampler__java_thread_of(sampler, jni, thread);

        if (java_thread && (uintptr_t)jni > java_thread && (uintptr_t)jni - java_thread < 65536)
            offset = (uintptr_t)jni - java_thread;
        (*jni)->DeleteLocalRef(jni, thread);
    }
    return offset;
}

static void look_into_jvm(struct sampler *sampler)
{
    const char *missing;

    sampler->sees_java = stack_walker__open(&sampler->walker, sampler->images, &missing);
    if (!sampler->sees_java)
        log__line(LOG_WARN, "this JVM does not tell where its %s is: samples have no Java frames",
                  missing);
}

void sampler__prepare(struct sampler *sampler, JNIEnv *jni)
{
    pthread_mutex_init(&sampler->start_lock, NULL);
    sampler->java_thread_field = find_java_thread_field(jni);
    sampler->jni_offset = find_jni_offset(sampler, jni);
}

const void *sampler__java_thread(const struct sampler *sampler, const JNIEnv *jni)
{
    uintptr_t offset = sampler->jni_offset;

    return jni && offset ? (const char *)jni - offset : NULL;
}

/* A sample_kernel_stack. */
static bool find_kernel_stack(void *context, int32_t tid, uint64_t when_ns,
                              struct kernel_stack *stack)
{
    struct sampler *sampler = context;
    const struct sampled_task *task;
    bool found;

    if (sampler->clock != LEDGER_SAMPLE_CLOCK_PERF)
        return false;
    pthread_mutex_lock(&sampler->tasks_lock);
    HASH_FIND_INT(sampler->tasks, &tid, task);
    found = task && task->timer.stacks &&
            kernel_stacks__find(task->timer.stacks, when_ns + sampler->monotonic_ns, stack);
    pthread_mutex_unlock(&sampler->tasks_lock);
    return found;
}

/* What samples need and takes next to no time; once. */
static int prepare(struct sampler *sampler)
{
    jvmtiCapabilities capabilities = {0};

    if (sampler->ready)
        return 0;
    sampler__add_capabilities(&capabilities);
    if ((*sampler->jvmti)->AddCapabilities(sampler->jvmti, &capabilities) != JVMTI_ERROR_NONE)
        log__line(LOG_WARN,
                  "this JVM does not tell lines and bytecode indices: treadle annotate has none");
    if (!sampler->images)
        sampler->images = code_images__new();
    if (!sampler->buffers)
        sampler->buffers = sample_buffers__new();
    if (!sampler->images || !sampler->buffers)
        return -ENOMEM;
    sampler->ledger->header->sample_unwind =
        native_engine__set(sampler->images, sampler->wanted_unwind);
    sampler->walker.images = sampler->images;
    java_methods__init(&sampler->methods, &sampler->walker.structs);
    sampler->methods.generated = sampler->generated;
    compiled_code__init(&sampler->code, &sampler->walker.code, &sampler->methods);
    sample_merge__init(&sampler->merge, sampler->ledger, sampler->scan, &sampler->walker,
                       &sampler->methods, &sampler->code);
    sampler->merge.threads = sampler->kernel_threads;
    sampler->merge.names.kernel_stack = find_kernel_stack;
    sampler->merge.names.kernel_context = sampler;
    sampler->merge.names.keys_are_ids = sampler->keys_are_ids;
    pthread_mutex_init(&sampler->tasks_lock, NULL);
    sampler->ready = true;
    return 0;
}

/* Which methods are inlined in compiled code is written down at calls and polls only, so that an
 * inlined method that calls nothing would not be seen at all, unless the JVM is told to write it
 * down for all code. It is what it does for listeners of compiled methods, without the events. */
static void describe_all_code(struct sampler *sampler, bool on)
{
    static const char flag[] = "DebugNonSafepoints";

    if (on)
        sampler->describes_code = vm_structs__set_flag(flag, true);
    else if (sampler->describes_code)
        (void)vm_structs__set_flag(flag, false);
}

/* Names of the JVM's own stubs. */
static void hear(const struct sampler *sampler, bool on)
{
    jvmtiEnv *jvmti = sampler->jvmti;

    (void)jvmti_event__set(jvmti, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, on);
    if (on)
        (*jvmti)->GenerateEvents(jvmti, JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
}

static void forget_task(struct sampler *sampler, struct sampled_task *task)
{
    sample_timer__stop(&task->timer);
    /* NOLINTBEGIN(clang-analyzer-core.NullDereference,clang-analyzer-unix.Malloc) */
    HASH_DEL(sampler->tasks, task);
    /* NOLINTEND(clang-analyzer-core.NullDereference,clang-analyzer-unix.Malloc) */
    free(task);
}

/* Under the lock. */
static struct sampled_task *add_task(struct sampler *sampler, pid_t tid)
{
    struct sampled_task *task = calloc(1, sizeof(*task));
    int error;

    if (!task)
        return NULL;
    task->tid = tid;
    error = sample_timer__start(&task->timer, sampler->clock, tid, sampler->signal,
                                sampler->interval_ns);
    if (error) {
        if (!sample_timer__has_ended(error))
            sampler->ledger->header->sample_timer_error = -error;
        free(task);
        return NULL;
    }
    HASH_ADD_INT(sampler->tasks, tid, task);
    if (task->hh.tbl)
        return task;
    sample_timer__stop(&task->timer);
    free(task);
    return NULL;
}

/* Under the lock. */
static struct sampled_task *watch(struct sampler *sampler, pid_t tid)
{
    struct sampled_task *task;

    HASH_FIND_INT(sampler->tasks, &tid, task);
    if (task && sample_timer__is_over(&task->timer)) {
        forget_task(sampler, task);
        task = NULL;
    }
    return task ? task : add_task(sampler, tid);
}

void sampler__watch_me(struct sampler *sampler)
{
    if (!atomic_load(&sampler->running) || sampler->mode != LEDGER_SAMPLE_CPU)
        return;
    pthread_mutex_lock(&sampler->tasks_lock);
    if (atomic_load(&sampler->running))
        (void)watch(sampler, gettid());
    pthread_mutex_unlock(&sampler->tasks_lock);
}

static void forget_gone(struct sampler *sampler)
{
    struct sampled_task *task, *next;

    HASH_ITER (hh, sampler->tasks, task, next)
        if (task->pass != sampler->pass)
            forget_task(sampler, task);
}

/* All kernel threads but the profiler's own have a timer. */
static void watch_all(struct sampler *sampler)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;

    if (!folder)
        return;
    pthread_mutex_lock(&sampler->tasks_lock);
    sampler->pass++;
    /* Stopping samples deletes all timers under the lock: no timer may be added afterwards. */
    while (atomic_load(&sampler->running) && (entry = readdir(folder))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct sampled_task *task =
            tid > 0 && tid != sampler->ledger->header->profiler_tid ? watch(sampler, tid) : NULL;

        if (task)
            task->pass = sampler->pass;
    }
    forget_gone(sampler);
    pthread_mutex_unlock(&sampler->tasks_lock);
    closedir(folder);
}

/* Java threads come by themselves, others are looked for: less often where that takes longer. */
static void watch_in_turn(struct sampler *sampler)
{
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), rest_ns;

    if (ledger_time__now_ns(sampler->time) < sampler->next_watch_ns)
        return;
    watch_all(sampler);
    rest_ns = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) * WATCH_COST;
    sampler->next_watch_ns =
        ledger_time__now_ns(sampler->time) + (rest_ns < WATCH_NS_MAX ? rest_ns : WATCH_NS_MAX);
}

static void note(struct sampler *sampler, int clock_error)
{
    struct ledger_header *header = sampler->ledger->header;

    header->sample_mode = sampler->mode;
    header->sample_modes |= 1u << sampler->mode;
    header->sample_clock = sampler->clock;
    header->sample_clock_error = clock_error;
    header->sample_interval_ns = sampler->interval_ns;
    header->sample_buffer_bytes = SAMPLE_BUFFER_BYTES;
    header->kernel_stack_error = -sample_timer__check_kernel_stacks();
    header->kernel_symbol_error = -kernel_symbols__check("/proc/kallsyms");
}

/* False: there are to be none, or there cannot be any. */
static bool may_start(struct sampler *sampler)
{
    if (sampler->mode == LEDGER_SAMPLE_NONE || sampler->due_ns || atomic_load(&sampler->running))
        return false;
    /* Of a handler that stands before its own, this JVM would complain to the user. */
    if (vm_structs__flag("CheckJNICalls")) {
        if (!sampler->is_by_budget)
            log__line(LOG_WARN, "no samples are taken under -Xcheck:jni: the JVM would warn about "
                                "the signal handler");
        return false;
    }
    return true;
}

/* On a thread that the JVM knows. */
static int get_ready(struct sampler *sampler)
{
    int clock_error = 0, error = prepare(sampler);

    if (error)
        return error;
    sampler->clock =
        sampler->mode == LEDGER_SAMPLE_WALL
            ? LEDGER_SAMPLE_CLOCK_WALL
            : sample_timer__choose(sampler->wanted_clock, sampler->interval_ns, &clock_error);
    note(sampler, clock_error);
    describe_all_code(sampler, true);
    hear(sampler, true);
    return 0;
}

/* What takes its time; one thread at a time. */
static int look_around(struct sampler *sampler)
{
    int error = code_images__refresh(sampler->images);

    if (error)
        return error;
    if (!sampler->looked)
        look_into_jvm(sampler);
    sampler->looked = true;
    return 0;
}

/* Under the lock. */
static int begin(struct sampler *sampler)
{
    int error = fault_guard__install();

    sampler->due_ns = 0;
    if (!error)
        error = sample_handler__install(&sampler->signal, sampler->on_signal, NULL);
    if (error)
        return error;
    sampler->running_threads.signal = sampler->signal;
    own_cost__measure_delivery(sampler->own_cost, sampler->signal);
    sample_time__start(&sampler->merge.time, ledger_time__now_ns(sampler->time));
    atomic_fetch_add(&sampler->round, 1);
    atomic_store(&sampler->running, true);
    if (sampler->mode == LEDGER_SAMPLE_CPU)
        watch_all(sampler);
    return 0;
}

static int complain(int error)
{
    if (error)
        log__line(LOG_WARN, "no samples: %s", strerror(-error));
    return error;
}

/* In the housekeeping thread, which looks for new images, too. */
static void start_now(void *context)
{
    struct sampler *sampler = context;
    int error = look_around(sampler);

    pthread_mutex_lock(&sampler->start_lock);
    if (!error && sampler->due_ns)
        error = begin(sampler);
    sampler->due_ns = 0;
    sampler->start_error = error;
    pthread_mutex_unlock(&sampler->start_lock);
    (void)complain(error);
}

static int start_at(struct sampler *sampler, uint64_t when_ns)
{
    int error = complain(get_ready(sampler));

    pthread_mutex_lock(&sampler->start_lock);
    sampler->due_ns = error ? 0 : when_ns;
    pthread_mutex_unlock(&sampler->start_lock);
    return error;
}

int sampler__start(struct sampler *sampler)
{
    int error;

    if (!may_start(sampler))
        return sampler->mode == LEDGER_SAMPLE_NONE ? 0 : -ENOTSUP;
    error = start_at(sampler, ledger_time__now_ns(sampler->time));
    if (error)
        return error;
    job_handoff__run(sampler->jobs, start_now, sampler);
    return sampler->start_error;
}

void sampler__start_later(struct sampler *sampler)
{
    if (may_start(sampler))
        (void)start_at(sampler, ledger_time__now_ns(sampler->time) + STARTED_NS);
}

static bool is_due(struct sampler *sampler)
{
    uint64_t due_ns;

    pthread_mutex_lock(&sampler->start_lock);
    due_ns = sampler->due_ns;
    pthread_mutex_unlock(&sampler->start_lock);
    return due_ns && ledger_time__now_ns(sampler->time) >= due_ns;
}

void sampler__start_if_due(struct sampler *sampler)
{
    if (sampler->ready && is_due(sampler))
        start_now(sampler);
}

void sampler__stop(struct sampler *sampler)
{
    bool was_due, was_running;

    pthread_mutex_lock(&sampler->start_lock);
    was_due = sampler->due_ns != 0;
    was_running = atomic_exchange(&sampler->running, false);
    sampler->due_ns = 0;
    pthread_mutex_unlock(&sampler->start_lock);
    if (!was_due && !was_running)
        return;
    pthread_mutex_lock(&sampler->tasks_lock);
    while (sampler->tasks)
        forget_task(sampler, sampler->tasks);
    wall_samples__end(sampler);
    pthread_mutex_unlock(&sampler->tasks_lock);
    hear(sampler, false);
    describe_all_code(sampler, false);
}

/* Names first: a lane is not held while the JVM is asked. */
static uint32_t name_stack(struct sampler *sampler, jvmtiEnv *jvmti,
                           const struct java_method *methods[STACK_FRAMES])
{
    jvmtiFrameInfo stack[STACK_FRAMES];
    uint32_t named = 0;
    jint count;

    if ((*jvmti)->GetStackTrace(jvmti, NULL, 0, STACK_FRAMES, stack, &count) != JVMTI_ERROR_NONE)
        return 0;
    for (jint i = 0; i < count; i++) {
        methods[named] = java_methods__by_id(&sampler->methods, jvmti, stack[i].method);
        named += methods[named] != NULL;
    }
    return named;
}

void sampler__record_stack(struct sampler *sampler, struct ledger_thread *thread)
{
    const struct java_method *methods[STACK_FRAMES];
    uint32_t room, count;
    struct sample *sample;

    if (thread->partial_samples == thread->recorded_samples || !atomic_load(&sampler->running))
        return;
    thread->recorded_samples = thread->partial_samples;
    count = name_stack(sampler, sampler->jvmti, methods);
    sample = count ? sample_buffers__claim(sampler->buffers, (unsigned)gettid(), &room) : NULL;
    if (!sample)
        return;
    sample->flags = SAMPLE_IS_STACK;
    sample->modes = (struct mode_times){0};
    sample->failure = SAMPLE_IS_WHOLE;
    sample->seen_ns = 0;
    sample->thread = ledger__ref(sampler->ledger, thread);
    sample->node = thread->root;
    sample->key = 0;
    sample->frame_count = count < room ? count : room;
    for (uint32_t i = 0; i < sample->frame_count; i++)
        sample->frames[i] = sample_frame__make(FRAME_NAMED, (uint64_t)(uintptr_t)methods[i], 0);
    __atomic_fetch_add(&thread->samples, 1, __ATOMIC_RELAXED);
    sample_buffers__commit(sampler->buffers, sample);
}

static void read_kernel_stacks(struct sampler *sampler)
{
    struct sampled_task *task, *next;
    struct timespec now;

    pthread_mutex_lock(&sampler->tasks_lock);
    clock_gettime(CLOCK_MONOTONIC, &now);
    sampler->monotonic_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec -
                            ledger_time__now_ns(sampler->time);
    HASH_ITER (hh, sampler->tasks, task, next)
        if (task->timer.stacks)
            kernel_stacks__read(task->timer.stacks);
    pthread_mutex_unlock(&sampler->tasks_lock);
}

/* A sample_visit. */
static void merge_turns(void *context, const struct sample *sample)
{
    uint64_t turns = sample->flags & SAMPLE_IS_WALL ? sample->turns : 1;

    while (turns--)
        sample_merge__add(context, sample);
}

void sampler__drain(struct sampler *sampler)
{
    struct ledger_header *header = sampler->ledger->header;
    uint64_t dropped, now_ns = ledger_time__now_ns(sampler->time);

    if (!sampler->ready)
        return;
    if (sampler->clock == LEDGER_SAMPLE_CLOCK_PERF)
        read_kernel_stacks(sampler);
    if (ledger__hold_folding(sampler->ledger) != 0)
        return; /* the samples can wait */
    sample_buffers__drain(sampler->buffers, merge_turns, &sampler->merge);
    ledger__let_go_folding(sampler->ledger);
    dropped = sample_buffers__dropped(sampler->buffers);
    ledger__count(&header->samples, dropped - sampler->dropped_before);
    ledger__count(&header->dropped_samples, dropped - sampler->dropped_before);
    sampler->dropped_before = dropped;
    header->sample_fill_bytes = sample_buffers__fill_bytes(sampler->buffers);
    header->lost_scopes = sampler->code.lost;
    sampler->drained_ns = now_ns;
}

void sampler__look_after(struct sampler *sampler)
{
    if (!sampler->ready)
        return;
    if (atomic_load(&sampler->running)) {
        (void)code_images__refresh(sampler->images);
        if (sampler->mode == LEDGER_SAMPLE_CPU)
            watch_in_turn(sampler);
        else
            wall_samples__take(sampler);
    }
    sampler__drain(sampler);
}

/* All processors may be busy all at once. */
static uint64_t idle_drain_ns(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return processors > IDLE_MACHINE ? SLOW_DRAIN_NS : IDLE_DRAIN_NS;
}

uint64_t sampler__rest_ns(const struct sampler *sampler, bool idle)
{
    if (!atomic_load(&sampler->running))
        return sampler->due_ns ? STARTED_NS : 0;
    if (sampler->mode == LEDGER_SAMPLE_WALL && sampler->interval_ns < DRAIN_NS)
        return sampler->interval_ns;
    if (sampler->interval_ns < SLOW_NS)
        return DRAIN_NS;
    if (sampler->clock == LEDGER_SAMPLE_CLOCK_PERF)
        return RING_DRAIN_NS;
    return idle ? idle_drain_ns() : SLOW_DRAIN_NS;
}

void sampler__disable_in_child(struct sampler *sampler)
{
    atomic_store(&sampler->running, false);
}
