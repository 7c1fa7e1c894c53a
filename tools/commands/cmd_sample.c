/* treadle sample: where the threads of processes are, in words of the programs themselves. */
#include "native/fault_guard.h"
#include "native/ledger/ledger_time.h"
#include "native/snapshot/snapshot.h"
#include "tools/command.h"
#include "tools/ledgers/rights.h"
#include "tools/report/memory.h"
#include "tools/sample/sampled_process.h"
#include "tools/sample/segment_files.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define LOOK_EVERY_NS UINT64_C(100000000)
#define HINT_NS       UINT64_C(2000000000)

struct sample_request {
    const char *pattern;
    uint64_t every_ns;
    uint64_t for_ns; /* 0: until the processes end or the command is interrupted */
    pid_t *pids;
    size_t count;
};

static const struct argp_option options[] = {
    {"every", 'e', "TIME", 0, "the interval between samples, 1ms to 1s (default 100ms)", 0},
    {"for", 'f', "TIME", 0,
     "how long, as 500ms, 60s, 5m (default: until the processes end, or Ctrl-C)", 0},
    {"output", 'o', "FILE", 0,
     "the ledger to write (default treadle-%p.ledger): %p pid, %t time as YYYYMMDD-hhmmss", 0},
    {0},
};

static const char doc[] =
    "Sample the logical stacks of running programs that have treadle.h."
    "\vNothing in the processes is signalled or stopped: their stacks are read from shared memory, "
    "their threads' states and CPU times from /proc. Each process gets a ledger, which the "
    "activity "
    "view of `treadle report` shows. Of a process that was killed, the stacks that it left are "
    "read "
    "once. Prints the paths.";

/* "100ms", "2s", "5m", "1500us". */
static bool parse_time(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}};
    char *end;
    unsigned long long number = strtoull(text, &end, 10);

    if (end == text || text[0] == '-' || number > 1000000)
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(end, units[i].unit) == 0) {
            *ns = number * units[i].ns;
            return true;
        }
    return false;
}

static void add_pid(struct sample_request *request, const char *text, struct argp_state *state)
{
    char *end;
    long pid = strtol(text, &end, 10);

    if (end == text || *end || pid <= 0 || pid > INT_MAX)
        argp_error(state, "'%s' is no process id", text);
    for (size_t i = 0; i < request->count; i++)
        if (request->pids[i] == (pid_t)pid)
            return;
    size_t room = request->count;
    request->pids = memory__grown(request->pids, &room, request->count + 1, sizeof(*request->pids));
    request->pids[request->count++] = (pid_t)pid;
}

static error_t parse_sample_option(int key, char *argument, struct argp_state *state)
{
    struct sample_request *request = state->input;

    switch (key) {
    case 'e':
        if (!parse_time(argument, &request->every_ns) || request->every_ns < 1000000 ||
            request->every_ns > 1000000000)
            argp_error(state, "--every=%s: expected a time from 1ms to 1s", argument);
        break;
    case 'f':
        if (!parse_time(argument, &request->for_ns) || request->for_ns == 0)
            argp_error(state, "--for=%s: expected a time as 500ms, 60s or 5m", argument);
        break;
    case 'o':
        request->pattern = argument;
        break;
    case ARGP_KEY_ARG:
        add_pid(request, argument, state);
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no process to sample");
        break;
    case ARGP_KEY_END:
        if (request->count > 1 && !strstr(request->pattern, "%p"))
            argp_error(state, "--output=%s: several processes need a %%p in it", request->pattern);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Sleeps until a moment; true if a signal to end came before. */
static bool sleep_until(int signals, uint64_t until_ns)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec time = {.tv_sec = (time_t)(left_ns / 1000000000),
                            .tv_nsec = (long)(left_ns % 1000000000)};
    struct pollfd poll_signals = {.fd = signals, .events = POLLIN};

    return ppoll(&poll_signals, 1, &time, NULL) > 0;
}

static bool any_runs(struct sampled_process *const *processes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (processes[i] && !sampled_process__is_over(processes[i]))
            return true;
    return false;
}

static void hint(const struct sample_request *request, struct sampled_process *const *processes)
{
    for (size_t i = 0; i < request->count; i++)
        if (processes[i] && !sampled_process__is_over(processes[i]) &&
            !sampled_process__has_stacks(processes[i]))
            command__note("process %d has shown no logical stacks so far; still waiting",
                          sampled_process__pid(processes[i]));
}

/* Samples are due at whole intervals from the beginning; those that came too late are counted. */
static void run(const struct sample_request *request, struct sampled_process *const *processes,
                int signals)
{
    uint64_t start_ns = clock_ns(CLOCK_MONOTONIC), due_ns = start_ns, looked_ns = start_ns;
    uint64_t end_ns = request->for_ns ? start_ns + request->for_ns : UINT64_MAX;
    bool has_hinted = false;

    while (any_runs(processes, request->count)) {
        uint64_t late, now_ns;

        due_ns += request->every_ns;
        if (sleep_until(signals, due_ns < end_ns ? due_ns : end_ns) ||
            clock_ns(CLOCK_MONOTONIC) >= end_ns)
            break;
        for (size_t i = 0; i < request->count; i++)
            if (processes[i])
                sampled_process__sample(processes[i]);
        now_ns = clock_ns(CLOCK_MONOTONIC);
        late = now_ns > due_ns ? (now_ns - due_ns) / request->every_ns : 0;
        due_ns += late * request->every_ns;
        for (size_t i = 0; late && i < request->count; i++)
            if (processes[i])
                sampled_process__note_late(processes[i], late);
        if (now_ns - looked_ns < LOOK_EVERY_NS)
            continue;
        looked_ns = now_ns;
        for (size_t i = 0; i < request->count; i++)
            if (processes[i])
                sampled_process__look(processes[i]);
        if (!has_hinted && now_ns - start_ns > HINT_NS) {
            has_hinted = true;
            hint(request, processes);
        }
    }
    for (size_t i = 0; i < request->count; i++)
        if (processes[i])
            sampled_process__look(processes[i]);
}

static int write_ledger(const struct sample_request *request, struct sampled_process *process)
{
    pid_t pid = sampled_process__pid(process);
    char path[PATH_MAX];
    int error = snapshot__path(path, sizeof(path), request->pattern, pid, 1);

    if (error)
        return command__fail("%s: %s", request->pattern, strerror(-error));
    if (sampled_process__refused(process)[0])
        command__note("%s", sampled_process__refused(process));
    else if (!sampled_process__has_stacks(process))
        command__note("process %d showed no logical stacks: no treadle.h in it, or nothing was "
                      "pushed",
                      pid);
    error = sampled_process__write(process, path);
    if (error)
        return rights__refuse_output(path, error);
    puts(path);
    return EXIT_FINE;
}

/* Before the time is spent: whether a file can be made where the ledger goes. */
static int check_output(const struct sample_request *request)
{
    char path[PATH_MAX];
    int error = snapshot__path(path, sizeof(path), request->pattern, request->pids[0], 1);
    char *slash;

    if (error)
        return command__fail("%s: %s", request->pattern, strerror(-error));
    slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    if (access(slash ? path : ".", W_OK | X_OK) != 0)
        return rights__refuse_output(request->pattern, -errno);
    return EXIT_FINE;
}

static int catch_signals(void)
{
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Two descriptors a thread, and timers that do not wait for others. */
static void prepare(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    (void)fault_guard__install();
}

static int sample_all(const struct sample_request *request)
{
    struct sampled_process **processes =
        memory__zeroed(request->count, sizeof(struct sampled_process *));
    int status = EXIT_FINE, signals;
    char why[256];

    prepare();
    signals = catch_signals();
    for (size_t i = 0; i < request->count; i++) {
        processes[i] = sampled_process__open(request->pids[i], request->every_ns, why, sizeof(why));
        if (!processes[i])
            status = command__fail("%s", why);
    }
    run(request, processes, signals);
    for (size_t i = 0; i < request->count; i++) {
        if (processes[i] && write_ledger(request, processes[i]) != EXIT_FINE)
            status = EXIT_BAD_INPUT;
        sampled_process__close(processes[i]);
    }
    free((void *)processes);
    (void)segment_files__tidy();
    close(signals);
    return status;
}

int cmd_sample(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_sample_option, .args_doc = "PID...", .doc = doc};
    struct sample_request request = {.pattern = "treadle-%p.ledger", .every_ns = 100000000};
    int status;

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    status = check_output(&request);
    if (status == EXIT_FINE)
        status = sample_all(&request);
    free(request.pids);
    return status;
}
