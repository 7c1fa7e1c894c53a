/* treadle run: starts a JVM with the agent. */
#include "tools/agent_options.h"
#include "tools/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_NOT_FOUND      127 /* as a shell has them */
#define EXIT_NOT_EXECUTABLE 126

enum option_key {
    KEY_EVENTS = 256,
    KEY_INCLUDE,
    KEY_EXCLUDE,
    KEY_METRICS,
    KEY_CLOCK,
    KEY_MAX_MEM,
    KEY_LOG,
    KEY_STRICT,
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "where snapshots go: %p pid, %n sequence, %t time; relative to the JVM's working folder "
     "(default treadle-%p.ledger)",
     0},
    {"events", KEY_EVENTS, "MODE", 0, "how calls are seen: instrument, jvmti or none", 0},
    {"include", KEY_INCLUDE, "GLOB;GLOB", 0, "only these methods, as pkg.Class.method", 0},
    {"exclude", KEY_EXCLUDE, "GLOB;GLOB", 0, "not these methods", 0},
    {"metrics", KEY_METRICS, "LIST", 0, "what to charge: switches,faults,io,delay,... or all", 0},
    {"clock", KEY_CLOCK, "KIND", 0, "rseq, perf or plain instead of what the self-test chooses", 0},
    {"max-mem", KEY_MAX_MEM, "SIZE", 0, "the ledger's bound, such as 256M", 0},
    {"log", KEY_LOG, "LEVEL", 0, "what the agent says: error, warn, info or debug", 0},
    {"strict", KEY_STRICT, NULL, 0, "do not start the JVM when it cannot be profiled", 0},
    {"option", 'O', "KEY=VALUE", 0, "any option of the agent; may be given again", 0},
    {0},
};

static const char doc[] =
    "Start a program with the agent in its JVM; exit status and signals are the program's."
    "\vThe agent goes to `java` as -agentpath, to the JDK's tools (javac, jar, ...) as "
    "-J-agentpath, and to any other program through JAVA_TOOL_OPTIONS, on which every JVM that it "
    "starts says \"Picked up JAVA_TOOL_OPTIONS\".\n\n"
    "The agent is $TREADLE_AGENT, or libtreadle.so where this program was built or installed. "
    "Exit status 127 when the program is not found, 1 when the agent is not, 2 bad usage.";

struct request {
    struct agent_options options;
    char **program; /* argv of what to run */
};

static void add(struct request *request, struct argp_state *state, const char *key,
                const char *value)
{
    if (agent_options__add(&request->options, key, value) != 0)
        argp_error(state, "%s='%s' has a comma, which ends an option of the agent%s", key, value,
                   strstr(key, "clude") ? "; separate globs with ';'" : "");
}

static void add_any(struct request *request, struct argp_state *state, char *option)
{
    char *value = strchr(option, '=');
    if (value)
        *value++ = '\0';
    if (!option[0] || strchr(option, ','))
        argp_error(state, "--option expects KEY=VALUE");
    add(request, state, option, value);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const struct {
        int key;
        const char *name;
    } direct[] = {
        {'o', "file"},
        {KEY_EVENTS, "events"},
        {KEY_INCLUDE, "include"},
        {KEY_EXCLUDE, "exclude"},
        {KEY_METRICS, "metrics"},
        {KEY_CLOCK, "clock"},
        {KEY_MAX_MEM, "max-mem"},
        {KEY_LOG, "log"},
        {KEY_STRICT, "strict"},
    };
    struct request *request = state->input;
    for (size_t i = 0; i < sizeof(direct) / sizeof(direct[0]); i++) {
        if (direct[i].key != key)
            continue;
        add(request, state, direct[i].name, argument);
        return 0;
    }
    switch (key) {
    case 'O':
        add_any(request, state, argument);
        break;
    case ARGP_KEY_ARG:
        request->program = &state->argv[state->next - 1];
        state->next = state->argc;
        break;
    case ARGP_KEY_END:
        if (!request->program)
            argp_error(state, "what is to be run? treadle run [OPTION...] -- java ...");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Programs of the JDK that hand an option behind -J to their own JVM. */
static bool takes_j_options(const char *program)
{
    static const char *const tools[] = {
        "jar",   "jarsigner", "javac",      "javadoc",  "javap",      "jcmd",        "jconsole",
        "jdb",   "jdeprscan", "jdeps",      "jfr",      "jhsdb",      "jimage",      "jinfo",
        "jlink", "jmap",      "jmod",       "jps",      "jrunscript", "jshell",      "jstack",
        "jstat", "jstatd",    "jwebserver", "jpackage", "keytool",    "rmiregistry", "serialver",
    };
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        if (strcmp(program, tools[i]) == 0)
            return true;
    return false;
}

static int start(char **argv)
{
    execvp(argv[0], argv);
    int error = errno;
    command__fail("%s: %s", argv[0],
                  error == ENOENT ? "no such program; is it on the PATH?" : strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int start_with_argument(char **program, char *argument)
{
    size_t count = 0;
    while (program[count])
        count++;
    char **argv = calloc(count + 2, sizeof(*argv));
    if (!argv)
        return command__fail("%s", strerror(ENOMEM));
    argv[0] = program[0];
    argv[1] = argument;
    memcpy(argv + 2, program + 1, (count - 1) * sizeof(*argv));
    int status = start(argv);
    free((void *)argv);
    return status;
}

/* JAVA_TOOL_OPTIONS is split at blanks; either quote keeps them, and there is no escape. */
static int start_with_environment(char **program, const char *argument)
{
    const char *before = getenv("JAVA_TOOL_OPTIONS");
    const char *quote = strpbrk(argument, " \t\n\"") ? "'" : strchr(argument, '\'') ? "\"" : "";
    char *value = NULL;
    if (quote[0] && strchr(argument, quote[0]))
        return command__fail("%s: cannot be quoted in JAVA_TOOL_OPTIONS: blanks or \" and ' both",
                             argument);
    if (asprintf(&value, "%s%s%s%s%s", before ? before : "", before && before[0] ? " " : "", quote,
                 argument, quote) < 0 ||
        setenv("JAVA_TOOL_OPTIONS", value, 1) != 0)
        return command__fail("%s", strerror(ENOMEM));
    free(value);
    return start(program);
}

static int run(const struct request *request, const char *library)
{
    const char *name = base_name(request->program[0]);
    const char *text = request->options.text;
    bool tool = takes_j_options(name);
    char *argument = NULL;
    if (asprintf(&argument, "%s-agentpath:%s%s%s", tool ? "-J" : "", library, text ? "=" : "",
                 text ? text : "") < 0)
        return command__fail("%s", strerror(ENOMEM));
    int status = tool || strcmp(name, "java") == 0
                     ? start_with_argument(request->program, argument)
                     : start_with_environment(request->program, argument);
    free(argument);
    return status;
}

int cmd_run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "[--] PROGRAM [ARGUMENT...]", .doc = doc};
    struct request request = {0};
    char tried[8192];
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    int status = EXIT_BAD_INPUT;
    char *library = agent_library__find(tried, sizeof(tried));
    if (!library)
        command__fail("no agent: looked for %s; TREADLE_AGENT=/path/to/libtreadle.so names it",
                      tried);
    else if (strchr(library, '='))
        command__fail("%s: a JVM ends an agent's path at the first '='; move it", library);
    else
        status = run(&request, library);
    free(library);
    agent_options__release(&request.options);
    return status;
}
