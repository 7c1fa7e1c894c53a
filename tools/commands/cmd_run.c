/* treadle run: starts a JVM with the agent. */
#include "tools/agent/agent_arguments.h"
#include "tools/agent/agent_receipt.h"
#include "tools/command.h"
#include "tools/jvm/watched_program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_FOUND      127 /* as a shell has them */
#define EXIT_NOT_EXECUTABLE 126

enum option_key {
    KEY_EVENTS = 256,
    KEY_STRICT,
    KEY_BEST_EFFORT,
};

static const struct argp_option options[] = {
    {"events", KEY_EVENTS, "MODE", 0, "how calls are seen: instrument, jvmti or none", 0},
    {"strict", KEY_STRICT, NULL, 0, "do not start the JVM when it cannot be profiled", 0},
    {"best-effort", KEY_BEST_EFFORT, NULL, 0,
     "run the program even if an option of the agent is wrong, and end as it ends even if no JVM "
     "was profiled",
     0},
    {0},
};

static const struct argp_child children[] = {
    {&agent_arguments__methods, 0, NULL, 0},
    {&agent_arguments__ledger, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Start a program with the agent in its JVM. Signals are passed on to the program, and its exit "
    "status is passed back, but for 0 where no JVM was profiled or the snapshot of one could not "
    "be written: then the status is 1."
    "\vThe agent goes to `java` as -agentpath, to the JDK's tools (javac, jar, ...) as "
    "-J-agentpath, and to any other program through JAVA_TOOL_OPTIONS; every JVM that the "
    "program starts then prints \"Picked up JAVA_TOOL_OPTIONS\".\n\n"
    "The agent is $TREADLE_AGENT, or libtreadle.so where this program was built or installed. "
    "Exit status 127 if the program is not found, 126 if it cannot be started, 1 if the agent is "
    "not found, 2 bad usage.";

struct run_request {
    struct agent_options options;
    char **program; /* argv of what to run */
    bool best_effort;
    bool strict;
};

/* What a child becomes. */
struct run {
    const struct run_request *request;
    const char *library;
    const char *receipt; /* "" without */
};

static error_t parse_run_option(int key, char *argument, struct argp_state *state)
{
    struct run_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &request->options;
        break;
    case KEY_EVENTS:
        agent_arguments__add(&request->options, state, "events", argument);
        break;
    case KEY_STRICT:
        agent_arguments__add(&request->options, state, "strict", NULL);
        request->strict = true;
        break;
    case KEY_BEST_EFFORT:
        request->best_effort = true;
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
        return command__fail(
            "%s: cannot be quoted in JAVA_TOOL_OPTIONS: it has a ' beside blanks or \"", argument);
    if (asprintf(&value, "%s%s%s%s%s", before ? before : "", before && before[0] ? " " : "", quote,
                 argument, quote) < 0 ||
        setenv("JAVA_TOOL_OPTIONS", value, 1) != 0)
        return command__fail("%s", strerror(ENOMEM));
    free(value);
    return start(program);
}

/* A wrong option stops a JVM unless that is what --best-effort is for. */
static char *agent_text(const struct run *run)
{
    const struct run_request *request = run->request;
    bool strict = !request->best_effort && !request->strict;
    const char *parts[] = {run->receipt[0] ? "answer=" : "", run->receipt,
                           strict ? "strict=options" : "",
                           request->options.text ? request->options.text : ""};
    char *text = NULL;
    int length = asprintf(&text, "%s%s%s%s%s%s", parts[0], parts[1],
                          parts[0][0] && (strict || parts[3][0]) ? "," : "", parts[2],
                          strict && parts[3][0] ? "," : "", parts[3]);

    return length < 0 ? NULL : text;
}

static int become(void *context)
{
    const struct run *run = context;
    const struct run_request *request = run->request;
    const char *name = base_name(request->program[0]);
    char *text = agent_text(run);
    bool tool = takes_j_options(name);
    char *argument = NULL;

    if (!text || asprintf(&argument, "%s-agentpath:%s%s%s", tool ? "-J" : "", run->library,
                          text[0] ? "=" : "", text) < 0)
        return command__fail("%s", strerror(ENOMEM));
    int status = tool || strcmp(name, "java") == 0
                     ? start_with_argument(request->program, argument)
                     : start_with_environment(request->program, argument);
    free(argument);
    free(text);
    return status;
}

/* A program that could not be started has said why. */
static int judge(const struct run_request *request, const struct agent_receipt *receipt, int status)
{
    if (status == EXIT_NOT_FOUND || status == EXIT_NOT_EXECUTABLE)
        return status;
    if (agent_receipt__is_signed(receipt))
        return !status && agent_receipt__lacks_snapshot(receipt) ? EXIT_BAD_INPUT : status;
    command__note(
        "no JVM of %s was profiled: %s; --best-effort passes its exit status back as it is",
        request->program[0],
        status ? "it ended before, started none, or hid its environment from it"
               : "it started none, or hid its environment from it");
    return status ? status : EXIT_BAD_INPUT;
}

static int run(const struct run_request *request, const char *library)
{
    struct agent_receipt receipt = {.fd = -1};
    struct run run = {request, library, receipt.path};

    if (request->best_effort || !agent_receipt__open(&receipt))
        return become(&run);
    int ended = watched_program__run(become, &run);
    int status = ended < 0 ? command__fail("%s", strerror(errno)) : EXIT_FINE;
    if (ended >= 0 && WIFEXITED(ended))
        status = judge(request, &receipt, WEXITSTATUS(ended));
    agent_receipt__close(&receipt);
    return ended >= 0 && WIFSIGNALED(ended) ? watched_program__end(ended) : status;
}

int cmd_run(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_run_option,
                                     .args_doc = "[--] PROGRAM [ARGUMENT...]",
                                     .doc = doc,
                                     .children = children};
    struct run_request request = {0};
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
