/* Knows the whole profiler: how it begins and ends. */
#include "native/preload/preload.h"

#include "native/ledger/process_facts.h"
#include "native/metrics/kernel_metrics.h"
#include "native/preload/forks.h"
#include "native/preload/host_program.h"
#include "native/preload/signal_wrappers.h"
#include "native/preload/upkeep.h"
#include "native/proc/process_stat.h"
#include "native/proc/task_file.h"
#include "native/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MESSAGE_BYTES     1024
#define COMPARE_NS        100000u
#define FILES_OF_PROGRAMS 500
#define SAMPLES_LATER_NS                                                                           \
    20000000u /* a program that is over by then is spared the tables of its images */
#define NOTHING_NS 20000000u
#define END_NS     10000000000u /* longer than a snapshot of any size takes */
#define EXEC_NS    2000000000u
/* Nobody waits for a monitor. */
#define WAIT_METRICS (1ull << METRIC_PARK | 1ull << METRIC_SLEEP | 1ull << METRIC_IO_WAIT)

struct preload preload_process;

void preload__say(const char *format, ...)
{
    static const char prefix[] = "treadle: ";
    char line[MESSAGE_BYTES];
    size_t used = sizeof(prefix) - 1;
    int error = errno, length;
    va_list arguments;

    memcpy(line, prefix, used);
    va_start(arguments, format);
    length = vsnprintf(line + used, sizeof(line) - used - 1, format, arguments);
    va_end(arguments);
    if (length > 0)
        used += (size_t)length < sizeof(line) - used - 1 ? (size_t)length : sizeof(line) - used - 2;
    line[used++] = '\n';
    (void)!write(STDERR_FILENO, line, used);
    errno = error;
}

/* For whoever waits to hear that a program is profiled. */
static void answer(const struct preload *preload, const char *word)
{
    int fd =
        preload->options.answer[0]
            ? standard_files__avoid(open(preload->options.answer,
                                         O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))
            : -1;

    if (fd < 0)
        return;
    (void)!write(fd, word, strlen(word));
    close(fd);
}

static bool runs_here(void *context, pid_t tid)
{
    struct preload *preload = context;

    return kernel_thread_table__runs_java(&preload->kernel_threads, tid);
}

static bool ran_here(void *context, pid_t tid, uint64_t start_ticks)
{
    struct preload *preload = context;

    return kernel_thread_table__ran_java(&preload->kernel_threads, tid, start_ticks);
}

static void forget_gone(void *context)
{
    struct preload *preload = context;

    kernel_thread_table__sweep(&preload->kernel_threads);
}

static const struct ledger_unprofiled *none_unprofiled(void *context, pid_t tid,
                                                       uint64_t start_ticks)
{
    (void)context, (void)tid, (void)start_ticks;
    return NULL;
}

/* A call_tree_resolve. */
static ledger_ref resolve(void *context, uint64_t key)
{
    struct preload *preload = context;

    if (ledger_key__is_logical(key))
        return logical_frames__resolve(&preload->pushed.frames, &preload->ledger, key);
    return function_table__record(&preload->functions,
                                  function_table__at(&preload->functions, key));
}

static int create_ledger(struct preload *preload)
{
    const struct preload_options *options = &preload->options;
    const char *folders[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    int first_error = 0;

    if (options->live_dir[0])
        return ledger__create(&preload->ledger, options->live_dir, options->max_mem);
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        int error = folders[i] && *folders[i]
                        ? ledger__create(&preload->ledger, folders[i], options->max_mem)
                        : -ENOENT;

        if (!error)
            return 0;
        first_error = first_error ? first_error : error;
    }
    return first_error;
}

/* Programs count on the lowest numbers, and shells give these to files of their own. */
static void move_file_away(struct ledger *ledger)
{
    int fd = fcntl(ledger->fd, F_DUPFD_CLOEXEC, FILES_OF_PROGRAMS);

    if (fd < 0)
        return;
    close(ledger->fd);
    ledger->fd = fd;
}

/* Absolute, since the program may change its folder, whose own per cent signs are doubled. */
static int make_snapshot_pattern(struct preload *preload)
{
    const char *file = preload->options.file;
    char folder[PATH_MAX];
    size_t used = 0;

    if (file[0] != '/' && getcwd(folder, sizeof(folder))) {
        for (const char *c = folder; *c && used + 3 < sizeof(preload->snapshot_pattern); c++) {
            if (*c == '%')
                preload->snapshot_pattern[used++] = '%';
            preload->snapshot_pattern[used++] = *c;
        }
        preload->snapshot_pattern[used++] = '/';
    }
    if (used + strlen(file) >= sizeof(preload->snapshot_pattern))
        return -ENAMETOOLONG;
    memcpy(preload->snapshot_pattern + used, file, strlen(file) + 1);
    return 0;
}

static void choose_clock(struct preload *preload)
{
    enum ledger_clock_kind forced = preload->options.clock;
    int error;

    ledger_time__start(&preload->setup.time, COMPARE_NS);
    preload->setup.clock = kernel_clock__choose_and_tell(forced, &preload->setup.time, &error,
                                                         preload->ledger.header->clock_error);
    if (error && !preload->options.is_quiet && !preload->forks)
        preload__say("clock=%s does not work here (%s); using %s", kernel_clock__name(forced),
                     strerror(-error), kernel_clock__name(preload->setup.clock));
}

static void choose_metrics(struct preload *preload)
{
    int32_t errors[SOURCE_COUNT] = {0};
    uint64_t available = kernel_metrics__probe(errors);
    struct ledger_header *header = preload->ledger.header;

    preload->setup.metrics_charged = preload->options.metrics & available;
    preload->setup.metrics_totals =
        preload->setup.metrics_charged |
        (available & ~kernel_metric_source__get(SOURCE_TASKSTATS)->bits);
    for (unsigned source = 0; source < SOURCE_COUNT; source++)
        header->source_error[source] = errors[source];
}

static void record_facts(struct preload *preload, const char *options)
{
    struct ledger_header *header = preload->ledger.header;

    process_facts__record(&preload->ledger, &preload->setup.time, NULL);
    header->options = process_facts__options(&preload->ledger, options);
    header->clock_kind = preload->setup.clock;
    header->clock_forced = preload->options.clock == preload->setup.clock;
    header->metrics_charged = preload->setup.metrics_charged | 1ull << METRIC_MIGRATIONS |
                              (preload->options.waits ? WAIT_METRICS : 0);
    header->metrics_totals = preload->setup.metrics_totals;
    header->reuse_new = preload->options.reuse_new;
    header->fold_none = preload->options.fold_none;
    header->recursion = preload->options.recursion;
    header->event_mode = LEDGER_EVENTS_INSTRUMENT;
}

/* Hooks count their calls only where there is a budget to keep. */
static void set_up(struct preload *preload)
{
    preload->setup.ledger = &preload->ledger;
    preload->setup.epoch = EPOCH_FIRST;
    preload->setup.reuse_new = preload->options.reuse_new;
    preload->setup.admits_all = true;
    preload->setup.tells_waits = preload->options.waits;
    preload->setup.counted_keys = preload->options.overhead_ppm ? FUNCTIONS_MAX + 1 : 0;
    preload->setup.resolve = resolve;
    preload->setup.resolve_context = preload;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    if (program_signal__is_profilers(&preload_process.signal, number, info))
        program_samples__take(preload_process.samples, info, context);
    else
        program_signal__pass_on(&preload_process.signal, info, context);
}

/* Much of it is memory that only deep stacks touch. */
static void prepare_samples(struct preload *preload)
{
    struct program_samples *samples;

    if (preload->options.sample == LEDGER_SAMPLE_NONE)
        return;
    samples = preload->samples;
    if (samples)
        program_samples__restart(samples);
    else
        samples = mmap(NULL, sizeof(*samples), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (samples == MAP_FAILED)
        return;
    samples->round = 1 + preload->forks;
    samples->ledger = &preload->ledger;
    samples->time = &preload->setup.time;
    samples->threads = &preload->threads;
    samples->names = &preload->names;
    samples->scan = &preload->scan;
    samples->own_cost = &preload->own_cost;
    preload->signal.sigaction = signal_wrappers__sigaction();
    samples->program_signal = &preload->signal;
    samples->on_signal = on_signal;
    samples->interval_ns = preload->options.interval_ns;
    samples->wanted_clock = preload->options.sample_clock;
    preload->samples = samples;
    preload->samples_due_ns = ledger_time__now_ns(&preload->setup.time) + SAMPLES_LATER_NS;
}

static int prepare_functions(struct preload *preload)
{
    int error = function_table__init(&preload->functions, &preload->ledger, &preload->setup.time);

    if (!error)
        error = call_frames__init(&preload->frames);
    preload->images = error ? NULL : code_images__new();
    if (!error && !preload->images)
        error = -ENOMEM;
    if (!error)
        error = function_names__init(&preload->names, &preload->functions, preload->images,
                                     preload->options.include, preload->options.exclude);
    if (error)
        return error;
    if (preload->names.filtered)
        function_names__look(&preload->names);
    function_budget__init(&preload->budget, &preload->functions, &preload->ledger,
                          preload->options.overhead_ppm);
    return 0;
}

/* Images and frames of code are the parent's; names and calls are not. */
static void prepare_functions_again(struct preload *preload)
{
    function_table__restart(&preload->functions);
    function_names__restart(&preload->names);
    function_budget__init(&preload->budget, &preload->functions, &preload->ledger,
                          preload->options.overhead_ppm);
}

static int begin_ledger(struct preload *preload, const char *options)
{
    struct scan_java threads = {.runs_java = runs_here,
                                .ran_java = ran_here,
                                .unprofiled = none_unprofiled,
                                .forget_gone = forget_gone,
                                .context = preload};
    int error = create_ledger(preload);

    if (error)
        return error;
    move_file_away(&preload->ledger);
    choose_clock(preload);
    choose_metrics(preload);
    set_up(preload);
    process_scan__init(&preload->scan, &preload->ledger, getpid(), preload->setup.metrics_totals,
                       &threads);
    record_facts(preload, options);
    chain_parts__init(&preload->chain_parts, &preload->ledger);
    if (preload->forks)
        prepare_functions_again(preload);
    else
        error = prepare_functions(preload);
    if (!error)
        error = kernel_thread_table__init(&preload->kernel_threads, &preload->setup);
    if (!error)
        error = preload_threads__init(&preload->threads, &preload->kernel_threads, &preload->ledger,
                                      &preload->setup.time);
    if (!error && !preload->forks)
        error = make_snapshot_pattern(preload);
    own_cost__init(&preload->own_cost, &preload->ledger, &preload->setup.time, &preload->scan,
                   &preload->kernel_threads, false);
    return error;
}

static void end_quickly(void)
{
    preload__end(&preload_process);
}

/* With the options that are there. */
static int begin_profile(struct preload *preload, const char *text,
                         const struct preload_start *start)
{
    int error = begin_ledger(preload, text);

    if (error) {
        preload__say("cannot make the ledger in %s: %s; not profiling",
                     preload->options.live_dir[0] ? preload->options.live_dir : "/dev/shm",
                     strerror(-error));
        if (preload->ledger.base)
            ledger__unlink(&preload->ledger);
        return error;
    }
    preload->pid = getpid();
    preload_threads__begin(&preload->threads, start);
    prepare_samples(preload);
    upkeep__start(preload);
    return 0;
}

static int begin(struct preload *preload, const char *text)
{
    char message[MESSAGE_BYTES];
    int error = preload_options__read(&preload->options, text, message, sizeof(message));

    if (error) {
        preload__say("%s (not profiling)", message);
        return error;
    }
    preload->options_text = text ? strdup(text) : NULL;
    error = begin_profile(preload, text, NULL);
    if (error)
        return error;
    forks__prepare(preload);
    (void)at_quick_exit(end_quickly);
    return 0;
}

void preload__begin_child(struct preload *preload, const struct preload_start *start)
{
    int error = errno;

    preload_mine.is_no_ones = false;
    if (begin_profile(preload, preload->options_text, start) == 0) {
        atomic_store(&preload->stage, PRELOAD_ACTIVE);
    } else {
        preload_mine.is_no_ones = true;
        atomic_store(&preload->stage, PRELOAD_ASIDE);
    }
    errno = error;
}

void preload__begin(struct preload *preload)
{
    int stage = PRELOAD_NOT_BEGUN;
    int error = errno;

    if (!atomic_compare_exchange_strong(&preload->stage, &stage, PRELOAD_BEGINNING))
        return;
    if (host_program__is_jvm() || begin(preload, getenv(PRELOAD_OPTIONS_VARIABLE)) != 0) {
        atomic_store(&preload->stage, PRELOAD_ASIDE);
    } else {
        answer(preload, "profiling \n");
        atomic_store(&preload->stage, PRELOAD_ACTIVE);
    }
    errno = error;
}

static bool is_own_process(const struct preload *preload)
{
    return preload__is_active(preload) && getpid() == preload->pid;
}

void preload__end(struct preload *preload)
{
    int stage = PRELOAD_ACTIVE;
    int error = errno;

    if (!is_own_process(preload) ||
        !atomic_compare_exchange_strong(&preload->stage, &stage, PRELOAD_OVER))
        return;
    if (preload->samples)
        program_samples__end(preload->samples);
    if (upkeep__write_last(preload, END_NS) != 0)
        answer(preload, "unwritten \n");
    errno = error;
}

/* The profiler's own thread ends the samples. */
void preload__stand_aside(struct preload *preload)
{
    int stage = PRELOAD_ACTIVE;

    if (!atomic_compare_exchange_strong(&preload->stage, &stage, PRELOAD_ASIDE))
        return;
    __atomic_store_n(&preload->setup.epoch, EPOCH_STOPPED, __ATOMIC_RELEASE);
    ledger__unlink(&preload->ledger);
}

void preload__leave_to_agent(struct preload *preload, const struct treadle_inside *inside,
                             const struct treadle_inside_ids *ids)
{
    forks__prepare(preload);
    preload__stand_aside(preload);
    __atomic_store_n(&preload->agent.ids, ids, __ATOMIC_RELEASE);
    __atomic_store_n(&preload->agent.inside, inside, __ATOMIC_RELEASE);
}

/* For how long the calling thread, which is as old as the process, was ready and had no processor.
 */
static uint64_t queued_ns(void)
{
    char text[TASK_FILE_BYTES];
    struct task_schedstat times;

    if (task_file__load(AT_FDCWD, "/proc/thread-self/schedstat", text) <= 0 ||
        task_schedstat__parse(text, &times) != 0)
        return 0;
    return times.run_queue_delay_ns;
}

/* Children are forked to execute a program: what they do before is nothing of its own. */
static bool is_nothing_yet(struct preload *preload)
{
    return preload->forks && ledger_time__now_ns(&preload->setup.time) < NOTHING_NS + queued_ns() &&
           !__atomic_load_n(&preload->functions.count, __ATOMIC_RELAXED) &&
           !atomic_load(&preload->pushed.frames.count);
}

/* What stays is the ledger of a process that is gone: of the process's number is another program
 * from here on. */
void preload__before_exec(struct preload *preload)
{
    program_signal__before_exec(&preload->signal);
    if (!is_own_process(preload))
        return;
    if (is_nothing_yet(preload)) {
        ledger__unlink(&preload->ledger);
        return;
    }
    upkeep__look(preload, EXEC_NS);
    if (preload_mine.thread && preload_mine.thread->kernel)
        kernel_thread__charge_all(preload_mine.thread->kernel);
    __atomic_store_n(&preload->ledger.header->start_ticks, 0, __ATOMIC_RELEASE);
}

void preload__after_failed_exec(struct preload *preload)
{
    uint64_t ticks;

    program_signal__after_failed_exec(&preload->signal);
    if (is_own_process(preload) && process_start__read(preload->pid, &ticks) == 0)
        __atomic_store_n(&preload->ledger.header->start_ticks, ticks, __ATOMIC_RELEASE);
}

static __attribute__((constructor)) void loaded(void)
{
    preload__begin(&preload_process);
}

static __attribute__((destructor)) void unloaded(void)
{
    preload__end(&preload_process);
}
