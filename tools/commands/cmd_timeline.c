/* treadle timeline: what the threads of a JVM do, moment by moment, for some seconds. */
#include "tools/agent/agent_arguments.h"
#include "tools/agent/agent_receipt.h"
#include "tools/agent/agent_request.h"
#include "tools/agent/profiled_program.h"
#include "tools/command.h"
#include "tools/jvm/watched_program.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/ledgers/run_process.h"
#include "tools/timeline/timeline_outputs.h"
#include "tools/timeline/timeline_recorder.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS      UINT64_C(1000000000)
#define FOR_NS_DEFAULT (10 * SECOND_NS)
#define FOR_NS_LEAST   UINT64_C(1000000)
#define FOR_NS_MOST    (3600 * SECOND_NS)
#define GRACE_NS       (5 * SECOND_NS) /* in which the agent would end a timeline by itself */
#define SIZE_DEFAULT   (UINT64_C(256) << 20)
#define SIZE_LEAST     (UINT64_C(1) << 20)
#define SIZE_MOST      (UINT64_C(16) << 30)
#define EVENTS_PART    8u /* of the size: what the agent keeps */
#define EVENTS_LEAST   (UINT64_C(1) << 20)
#define EVENTS_MOST    (UINT64_C(64) << 20)
#define OPEN_POLL_US   5000u
#define FILE_SUFFIX    ".timeline"

enum option_key {
    KEY_FOR = 256,
    KEY_CALLS,
    KEY_SIZE,
    KEY_HTML,
};

static const struct argp_option options[] = {
    {"for", KEY_FOR, "TIME", 0,
     "how long: 1ms to 3600s (default 10s; of a program that is started, until it ends)", 0},
    {"output", 'o', "FILE", 0,
     "the trace for Perfetto, or - for standard output (default timeline-PID.perfetto-trace, "
     "unless --html is given)",
     0},
    {"html", KEY_HTML, "FILE", 0, "a page that draws the timeline in a browser, without a network",
     0},
    {"calls", KEY_CALLS, "TIME", 0,
     "calls as long as this or longer are in it (default what the budget allows: 640us for 2%)", 0},
    {"size", KEY_SIZE, "SIZE", 0,
     "what may be kept in memory, such as 64M (default 256M); the newest stays, the rest is "
     "counted",
     0},
    {0},
};

static const struct argp_child children[] = {
    {&agent_arguments__methods, 0, NULL, 0},
    {&agent_arguments__any, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Record what the threads of a JVM do, moment by moment: when each has a processor, for what it "
    "waits and who lets it go on, pauses of the collector, and long calls. Writes a trace for "
    "Perfetto (https://ui.perfetto.dev), or a page that draws it, or both."
    "\vPID: a JVM that runs. Without the agent it gets it for that time: the options for methods "
    "are "
    "as those of treadle attach. PROGRAM is started with the agent, and its exit status is passed "
    "back. FILE: the events that an agent has left behind whose JVM was killed, NAME.timeline "
    "beside its ledger; they have no switches.\n\n"
    "Switches are heard from outside by perf events, which the kernel may refuse; the rest is then "
    "written without them. Exit status 0 fine, 1 bad input, 2 bad usage.";

struct timeline_request {
    struct agent_options options;
    uint64_t for_ns; /* 0: not given */
    uint64_t bytes;
    const char *calls;
    struct timeline_outputs outputs;
    pid_t pid;
    const char *file;
    char **program;
};

/* ---- the command line ---- */

static uint64_t read_number(const char *option, const char *text, const char *const *units,
                            const uint64_t *factors, uint64_t least, uint64_t most,
                            const char *range, struct argp_state *state)
{
    char *unit;
    unsigned long long number;

    errno = 0;
    number = strtoull(text, &unit, 10);
    for (size_t i = 0; units[i] && isdigit((unsigned char)text[0]) && !errno; i++)
        if (strcmp(unit, units[i]) == 0 && number <= most / factors[i] &&
            number * factors[i] >= least)
            return number * factors[i];
    argp_failure(state, 0, 0, "--%s '%s'; expected %s", option, text, range);
    exit(EXIT_BAD_USAGE);
}

static uint64_t read_time(const char *option, const char *text, uint64_t least, const char *range,
                          struct argp_state *state)
{
    static const char *const units[] = {"us", "ms", "s", NULL};
    static const uint64_t factors[] = {1000, 1000000, SECOND_NS};

    return read_number(option, text, units, factors, least, FOR_NS_MOST, range, state);
}

static uint64_t read_size(const char *text, struct argp_state *state)
{
    static const char *const units[] = {"", "K", "M", "G", NULL};
    static const uint64_t factors[] = {1, UINT64_C(1) << 10, UINT64_C(1) << 20, UINT64_C(1) << 30};

    return read_number("size", text, units, factors, SIZE_LEAST, SIZE_MOST, "1M to 16G", state);
}

static bool is_number(const char *text)
{
    return text[0] && strspn(text, "0123456789") == strlen(text);
}

static bool is_file(const char *text)
{
    size_t length = strlen(text), suffix = sizeof(FILE_SUFFIX) - 1;

    return length > suffix && strcmp(text + length - suffix, FILE_SUFFIX) == 0;
}

static void take_argument(struct timeline_request *request, char *argument,
                          struct argp_state *state)
{
    bool is_program = state->quoted && state->next > state->quoted;
    long number;

    if (request->pid || request->file)
        argp_error(state, "one JVM is wanted, not also '%s'", argument);
    if (!is_program && is_number(argument)) {
        number = strtol(argument, NULL, 10);
        if (number <= 0 || number >= INT32_MAX)
            argp_error(state, "one PID is wanted, not '%s'", argument);
        request->pid = (pid_t)number;
    } else if (!is_program && is_file(argument)) {
        request->file = argument;
    } else {
        request->program = &state->argv[state->next - 1];
        state->next = state->argc;
    }
}

static error_t parse_timeline_option(int key, char *argument, struct argp_state *state)
{
    struct timeline_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &request->options;
        break;
    case KEY_FOR:
        request->for_ns = read_time("for", argument, FOR_NS_LEAST, "1ms to 3600s", state);
        break;
    case KEY_CALLS:
        (void)read_time("calls", argument, 1000, "1us to 3600s", state);
        request->calls = argument;
        break;
    case KEY_SIZE:
        request->bytes = read_size(argument, state);
        break;
    case 'o':
        request->outputs.trace = argument;
        break;
    case KEY_HTML:
        request->outputs.html = argument;
        break;
    case ARGP_KEY_ARG:
        take_argument(request, argument, state);
        break;
    case ARGP_KEY_END:
        if (!request->pid && !request->file && !request->program)
            argp_error(state,
                       "of which JVM? treadle timeline PID, or treadle timeline -- java ...");
        if (timeline_outputs__are_one(&request->outputs))
            argp_error(state, "'%s' cannot be both the trace and the page", request->outputs.html);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- of a JVM that runs ---- */

/* Options of ours, which those that the user gave may change. */
static void add_first(struct agent_options *to, const char *ours, const struct agent_options *given)
{
    if (asprintf(&to->text, "%s%s%s", ours, given->text ? "," : "",
                 given->text ? given->text : "") < 0)
        to->text = NULL;
}

static void add_number(struct agent_options *to, const char *key, uint64_t number, const char *unit)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64 "%s", number, unit);
    (void)agent_options__add(to, key, text);
}

static void add_timeline(struct agent_options *to, const struct timeline_request *request,
                         uint64_t for_ns)
{
    uint64_t bytes = request->bytes / EVENTS_PART;

    bytes = bytes < EVENTS_LEAST ? EVENTS_LEAST : bytes > EVENTS_MOST ? EVENTS_MOST : bytes;
    add_number(to, "timeline", bytes, "");
    add_number(to, "timeline-for", for_ns / 1000, "us");
    if (request->calls)
        (void)agent_options__add(to, "timeline-calls", request->calls);
}

static int attach(pid_t pid, const struct agent_options *wanted)
{
    struct jvm_process process;
    char *library;
    int status = jvm_process__open(&process, pid);

    if (status)
        return status;
    library = agent_request__library(&process);
    status = library ? agent_request__send(&process, library, wanted) : EXIT_BAD_INPUT;
    free(library);
    jvm_process__close(&process);
    return status;
}

/* One request to an agent that is loaded; quietly, for a JVM may end meanwhile. */
static int tell(pid_t pid, const char *key, const char *value)
{
    struct agent_options told = {0};
    struct ledger_header header;
    int status;

    (void)agent_options__add(&told, key, value);
    status = agent_request__send_again(pid, &told, &header);
    agent_options__release(&told);
    return status;
}

/* Has the agent begin, loading or starting it first where it is not. *was_on: profiling ran. */
static int begin_events(const struct timeline_request *request, uint64_t for_ns, bool *was_on)
{
    struct agent_options wanted = {0};
    struct ledger_header header;
    char *present = live_ledger__of_running(request->pid, &header);
    int status = EXIT_FINE;

    *was_on = present && !ledger_header__is_stopped(&header);
    if (present && *was_on && request->options.text)
        command__note("process %d is profiled already: the options for methods are not used",
                      (int)request->pid);
    if (present && !*was_on)
        status = tell(request->pid, "start", NULL);
    if (!present)
        add_first(&wanted, "waits=on", &request->options);
    add_timeline(&wanted, request, for_ns + GRACE_NS);
    if (!status && present)
        status = agent_request__send_again(request->pid, &wanted, &header);
    else if (!status)
        status = attach(request->pid, &wanted);
    agent_options__release(&wanted);
    free(present);
    return status;
}

/* The agent's begin may take a second in which many switches come. */
struct early {
    struct timeline_recorder *recorder;
    _Atomic bool over;
};

static void *drain_early(void *context)
{
    struct early *early = context;

    while (!atomic_load(&early->over)) {
        timeline_recorder__drain_switches(early->recorder);
        (void)usleep(OPEN_POLL_US);
    }
    return NULL;
}

static int begin_and_drain(struct timeline_recorder *recorder,
                           const struct timeline_request *request, uint64_t for_ns, bool *was_on)
{
    struct early early = {.recorder = recorder};
    pthread_t drainer;
    bool drains = pthread_create(&drainer, NULL, drain_early, &early) == 0;
    int status = begin_events(request, for_ns, was_on);

    atomic_store(&early.over, true);
    if (drains)
        pthread_join(drainer, NULL);
    return status;
}

static int open_events(struct timeline_recorder *recorder)
{
    struct ledger_header header;
    char message[512] = "";
    char *path = live_ledger__of_running(recorder->pid, &header);
    int error = path ? timeline_recorder__open(recorder, path, message, sizeof(message)) : -1;

    free(path);
    if (!error)
        return EXIT_FINE;
    return message[0] ? command__fail("%s", message)
                      : command__fail("process %d has ended", (int)recorder->pid);
}

static void end_events(struct timeline_recorder *recorder, bool was_on)
{
    if (!timeline_recorder__goes_on(recorder))
        return;
    (void)tell(recorder->pid, "timeline", "off");
    if (!was_on)
        (void)tell(recorder->pid, "stop", NULL);
}

static int of_process(const struct timeline_request *request)
{
    struct timeline_recorder recorder;
    uint64_t for_ns = request->for_ns ? request->for_ns : FOR_NS_DEFAULT;
    bool was_on = true;
    sigset_t stops;
    int status;

    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &stops, NULL);
    timeline_recorder__begin(&recorder, request->pid, request->bytes);
    status = begin_and_drain(&recorder, request, for_ns, &was_on);
    if (!status)
        status = open_events(&recorder);
    if (!status) {
        timeline_recorder__run(&recorder, for_ns, &stops);
        end_events(&recorder, was_on);
        timeline_recorder__finish(&recorder, for_ns);
        status = timeline_outputs__write(&request->outputs, &recorder, stdout);
    }
    timeline_recorder__release(&recorder);
    return status;
}

/* ---- of a file ---- */

static int of_file(const struct timeline_request *request)
{
    struct timeline_recorder recorder;
    char message[512];
    int error =
        timeline_recorder__read(&recorder, request->file, request->bytes, message, sizeof(message));
    int status = error ? command__fail("%s", message)
                       : timeline_outputs__write(&request->outputs, &recorder, stdout);

    timeline_recorder__release(&recorder);
    return status;
}

/* ---- of a program that is started ---- */

struct started {
    const struct timeline_request *request;
    const char *library;
    char *text;   /* the agent's options */
    int ready[2]; /* the program's pid comes here, from before it is the program */
    int go[2];    /* it goes on when this is closed */
    _Atomic bool ended;
    bool recorded;
    int status; /* of what was written */
};

static int become(void *context)
{
    struct started *started = context;
    pid_t pid = getpid();
    char byte;

    close(started->ready[0]);
    close(started->go[1]);
    (void)!write(started->ready[1], &pid, sizeof(pid));
    (void)!read(started->go[0], &byte, 1);
    close(started->ready[1]);
    close(started->go[0]);
    return profiled_program__become(started->request->program, started->library, NULL,
                                    started->text);
}

/* The agent makes its ledger before the JVM runs Java, and the file of events soon after. */
static bool wait_for_events(struct started *started, struct timeline_recorder *recorder)
{
    while (!atomic_load(&started->ended)) {
        struct ledger_header header;
        char message[512];
        char *path = live_ledger__of_running(recorder->pid, &header);
        int error = path ? timeline_recorder__open(recorder, path, message, sizeof(message)) : -1;

        free(path);
        if (!error)
            return true;
        timeline_recorder__drain_switches(recorder);
        (void)usleep(OPEN_POLL_US);
    }
    return false;
}

static void *record(void *context)
{
    struct started *started = context;
    const struct timeline_request *request = started->request;
    struct timeline_recorder recorder;
    pid_t pid = 0;
    sigset_t all;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    if (read(started->ready[0], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
        return NULL;
    timeline_recorder__begin(&recorder, pid, request->bytes);
    close(started->go[1]);
    if (wait_for_events(started, &recorder)) {
        timeline_recorder__run(&recorder, request->for_ns, NULL);
        timeline_recorder__finish(&recorder, request->for_ns);
        started->status = timeline_outputs__write(&request->outputs, &recorder, stderr);
        started->recorded = true;
    }
    timeline_recorder__release(&recorder);
    return NULL;
}

static int run_started(struct started *started)
{
    pthread_t recorder;
    int ended, error = pthread_create(&recorder, NULL, record, started);

    if (error)
        return command__fail("%s", strerror(error));
    ended = watched_program__run(become, started);
    close(started->ready[1]);
    atomic_store(&started->ended, true);
    if (ended < 0)
        command__fail("%s", strerror(errno));
    pthread_join(recorder, NULL);
    if (ended < 0)
        return EXIT_BAD_INPUT;
    if (!started->recorded &&
        !(WIFEXITED(ended) && profiled_program__has_failed(WEXITSTATUS(ended))))
        command__note("no JVM of %s was recorded: it has ended, or is not the process that was "
                      "started; give its PID instead",
                      started->request->program[0]);
    if (WIFSIGNALED(ended))
        return watched_program__end(ended);
    return WEXITSTATUS(ended) ? WEXITSTATUS(ended) : started->status;
}

static int of_program(const struct timeline_request *request)
{
    struct agent_options wanted = {0};
    char tried[8192];
    char *library = agent_library__find(tried, sizeof(tried));
    struct started started = {.request = request, .library = library, .status = EXIT_BAD_INPUT};
    int status;

    if (!library)
        return command__fail(
            "no agent: looked for %s; TREADLE_AGENT=/path/to/libtreadle.so names it", tried);
    add_first(&wanted, "strict=options,waits=on", &request->options);
    add_timeline(&wanted, request, request->for_ns ? request->for_ns : FOR_NS_MOST);
    started.text = wanted.text;
    if (pipe(started.ready) != 0 || pipe(started.go) != 0)
        status = command__fail("%s", strerror(errno));
    else
        status = run_started(&started);
    agent_options__release(&wanted);
    free(library);
    return status;
}

int cmd_timeline(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_timeline_option,
                                     .args_doc = "PID\nFILE\n[--] PROGRAM [ARGUMENT...]",
                                     .doc = doc,
                                     .children = children};
    struct timeline_request request = {.bytes = SIZE_DEFAULT};
    int status = EXIT_BAD_INPUT;

    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    if (!timeline_outputs__check(&request.outputs, request.pid, request.file))
        status = EXIT_BAD_INPUT;
    else if (request.file)
        status = of_file(&request);
    else if (request.program)
        status = of_program(&request);
    else if (run_process__follow(&request.pid))
        status = of_process(&request);
    agent_options__release(&request.options);
    return status;
}
