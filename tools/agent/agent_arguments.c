#include "tools/agent/agent_arguments.h"

#include "tools/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum option_key {
    KEY_INCLUDE = 256,
    KEY_EXCLUDE,
    KEY_METRICS,
    KEY_CLOCK,
    KEY_MAX_MEM,
    KEY_RECURSION,
    KEY_LOG,
    KEY_SAMPLE,
    KEY_INTERVAL,
    KEY_SAMPLE_CLOCK,
    KEY_UNWIND,
    KEY_OVERHEAD,
    KEY_PLAN,
    KEY_EXACT,
    KEY_WAITS,
    KEY_LATENCY,
};

static const struct argp_option method_options[] = {
    {"include", KEY_INCLUDE, "GLOB;GLOB", 0,
     "only these methods, as pkg.Class.method; @FILE: those of a file, a glob a line", 0},
    {"exclude", KEY_EXCLUDE, "GLOB;GLOB", 0, "not these methods; or @FILE", 0},
    {"sample", KEY_SAMPLE, "CLOCK", 0,
     "sample stacks too, on each thread's CPU clock or on the wall clock: cpu, wall or none "
     "(default cpu within a budget, else none)",
     0},
    {"interval", KEY_INTERVAL, "TIME", 0,
     "the time between two samples: 100us to 1s (default 10ms)", 0},
    {"sample-clock", KEY_SAMPLE_CLOCK, "KIND", 0,
     "what asks for samples of CPU time: timer, perf or auto (default auto: timers for intervals "
     "of two ticks of the kernel or more, perf events for shorter ones)",
     0},
    {"recursion", KEY_RECURSION, "N", 0,
     "how many levels of a method on a path are kept apart, 1 to 16, or all (default 1); deeper "
     "levels are added to the last one",
     0},
    {0},
};

static const struct argp_option ledger_options[] = {
    {"output", 'o', "FILE", 0,
     "where snapshots go: %p pid, %n sequence, %t time; relative to the JVM's working folder "
     "(default treadle-%p.ledger)",
     0},
    {"unwind", KEY_UNWIND, "ENGINE", 0,
     "what walks through native frames for samples: tables or libunwind (default tables on x86-64, "
     "else libunwind)",
     0},
    {"overhead", KEY_OVERHEAD, "PERCENT", 0,
     "what profiling may cost of the process's CPU, such as 2%, or any (default 2%)", 0},
    {"exact", KEY_EXACT, NULL, 0, "every call is recorded, whatever it costs: --overhead any", 0},
    {"plan", KEY_PLAN, "LEDGER", 0,
     "begin with what an earlier run learned about methods that are called too often", 0},
    {"waits", KEY_WAITS, "on|off", 0, "whether waits have reasons (default on, within overhead=)",
     0},
    {"latency", KEY_LATENCY, "GLOB;GLOB", 0,
     "methods whose calls are measured one by one, for histograms; or @FILE", 0},
    {"metrics", KEY_METRICS, "LIST", 0, "what to charge: switches,faults,io,delay,... or all", 0},
    {"clock", KEY_CLOCK, "KIND", 0,
     "the kernel clock: rseq, perf or plain instead of what the self-test chooses", 0},
    {"max-mem", KEY_MAX_MEM, "SIZE", 0, "the ledger's largest size (default 64M)", 0},
    {"log", KEY_LOG, "LEVEL", 0, "what the agent says: error, warn, info or debug", 0},
    {"option", 'O', "KEY=VALUE", 0, "any option of the agent; may be given again", 0},
    {0},
};

static const struct argp_option any_options[] = {
    {"option", 'O', "KEY=VALUE", 0, "any option of the agent; may be given again", 0},
    {0},
};

void agent_arguments__add(struct agent_options *options, struct argp_state *state, const char *key,
                          const char *value)
{
    if (agent_options__add(options, key, value) != 0)
        argp_error(state, "%s='%s' has a comma, which ends an option of the agent%s", key, value,
                   strstr(key, "clude") || strcmp(key, "latency") == 0 ? "; separate globs with ';'"
                                                                       : "");
}

static void add_globs(struct agent_options *options, struct argp_state *state, const char *key,
                      const char *list)
{
    const char *file = NULL;
    char *globs = agent_options__globs(list, &file);

    if (!globs)
        exit(command__fail("%.*s: cannot be read: %s", file ? (int)strcspn(file, ";") : 0,
                           file ? file : "", strerror(errno)));
    agent_arguments__add(options, state, key, globs);
    free(globs);
}

static void add_option(struct agent_options *options, struct argp_state *state, const char *key,
                       const char *value)
{
    if (value &&
        (strcmp(key, "include") == 0 || strcmp(key, "exclude") == 0 || strcmp(key, "latency") == 0))
        add_globs(options, state, key, value);
    else
        agent_arguments__add(options, state, key, value);
}

static void add_any(struct agent_options *options, struct argp_state *state, char *option)
{
    char *value = strchr(option, '=');

    if (value)
        *value++ = '\0';
    if (!option[0] || strchr(option, ','))
        argp_error(state, "--option expects KEY=VALUE");
    add_option(options, state, option, value);
}

/* Absolute, since the JVM may run elsewhere. One that is not there yet is for the agent to say. */
static void add_plan(struct agent_options *options, struct argp_state *state, const char *path)
{
    char *absolute = realpath(path, NULL);

    add_option(options, state, "plan", absolute ? absolute : path);
    free(absolute);
}

static error_t parse_agent_option(int key, char *argument, struct argp_state *state)
{
    static const struct {
        int key;
        const char *name;
    } direct[] = {
        {'o', "file"},
        {KEY_INCLUDE, "include"},
        {KEY_EXCLUDE, "exclude"},
        {KEY_METRICS, "metrics"},
        {KEY_CLOCK, "clock"},
        {KEY_MAX_MEM, "max-mem"},
        {KEY_RECURSION, "recursion"},
        {KEY_LOG, "log"},
        {KEY_SAMPLE, "sample"},
        {KEY_INTERVAL, "interval"},
        {KEY_SAMPLE_CLOCK, "sample-clock"},
        {KEY_UNWIND, "unwind"},
        {KEY_OVERHEAD, "overhead"},
        {KEY_WAITS, "waits"},
        {KEY_LATENCY, "latency"},
    };

    for (size_t i = 0; i < sizeof(direct) / sizeof(direct[0]); i++) {
        if (direct[i].key != key)
            continue;
        add_option(state->input, state, direct[i].name, argument);
        return 0;
    }
    if (key == KEY_EXACT) {
        add_option(state->input, state, "overhead", "any");
        return 0;
    }
    if (key == KEY_PLAN) {
        add_plan(state->input, state, argument);
        return 0;
    }
    if (key != 'O')
        return ARGP_ERR_UNKNOWN;
    add_any(state->input, state, argument);
    return 0;
}

const struct argp agent_arguments__methods = {.options = method_options,
                                              .parser = parse_agent_option};
const struct argp agent_arguments__ledger = {.options = ledger_options,
                                             .parser = parse_agent_option};
const struct argp agent_arguments__any = {.options = any_options, .parser = parse_agent_option};
