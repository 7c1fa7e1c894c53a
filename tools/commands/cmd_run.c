/* treadle run: starts a program, with the agent in its JVM or with what profiles programs without
 * one.
 */
#include "tools/agent/agent_arguments.h"
#include "tools/agent/agent_receipt.h"
#include "tools/agent/native_program.h"
#include "tools/agent/profiled_program.h"
#include "tools/command.h"
#include "tools/jvm/watched_program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum option_key {
    KEY_EVENTS = 256,
    KEY_STRICT,
    KEY_BEST_EFFORT,
    KEY_JVM_ONLY,
    KEY_NATIVE,
};

static const struct argp_option options[] = {
    {"events", KEY_EVENTS, "MODE", 0, "how calls are seen: instrument, jvmti or none", 0},
    {"strict", KEY_STRICT, NULL, 0, "do not start the JVM when it cannot be profiled", 0},
    {"best-effort", KEY_BEST_EFFORT, NULL, 0,
     "run the program even if an option of the agent is wrong, and end as it ends even if nothing "
     "was profiled",
     0},
    {"jvm-only", KEY_JVM_ONLY, NULL, 0, "profile JVMs only, and no other program", 0},
    {"native", KEY_NATIVE, NULL, 0,
     "profile a script's, a shell's or a JVM's native programs, too, each with a ledger of its own",
     0},
    {0},
};

static const struct argp_child children[] = {
    {&agent_arguments__methods, 0, NULL, 0},
    {&agent_arguments__ledger, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Start a program and profile it: its JVM with the agent, or, if it has none, the program "
    "itself "
    "with libtreadle-native.so. Signals are passed on to the program, and its exit status is "
    "passed "
    "back, but for 0 where nothing was profiled or a snapshot could not be written: then the "
    "status "
    "is 1."
    "\vThe agent goes to `java` as -agentpath, to the JDK's tools (javac, jar, ...) as "
    "-J-agentpath, and to any other program through JAVA_TOOL_OPTIONS; every JVM that the "
    "program starts then prints \"Picked up JAVA_TOOL_OPTIONS\". Any other program gets "
    "libtreadle-native.so through LD_PRELOAD, too, and so do the programs that it starts: each "
    "leaves a ledger of its own. A script or a shell gets it only with --native.\n\n"
    "The agent is $TREADLE_AGENT, or libtreadle.so where this program was built or installed, and "
    "libtreadle-native.so is $TREADLE_PRELOAD, or likewise. "
    "Exit status 127 if the program is not found, 126 if it cannot be started, 1 if the agent is "
    "not found, 2 bad usage.";

struct run_request {
    struct agent_options options;
    char **program; /* argv of what to run */
    bool best_effort;
    bool strict;
    bool jvm_only;
    bool native;
};

/* What a child becomes. */
struct run {
    const struct run_request *request;
    const char *library; /* the agent, or NULL */
    const char *preload; /* libtreadle-native.so, or NULL */
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
    case KEY_JVM_ONLY:
        request->jvm_only = true;
        break;
    case KEY_NATIVE:
        request->native = true;
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
    char *text = agent_text(run);

    if (!text)
        return command__fail("%s", strerror(ENOMEM));
    int status = profiled_program__become(run->request->program, run->library, run->preload, text);
    free(text);
    return status;
}

/* A program that could not be started has said why. */
static int judge(const struct run *run, const struct agent_receipt *receipt, int status)
{
    const struct run_request *request = run->request;
    const char *program = request->program[0];
    bool is_native = run->preload && !profiled_program__is_of_jdk(program);
    const char *obstacle = is_native ? native_program__obstacle(program) : NULL;
    bool is_left_out = !run->preload && !request->jvm_only &&
                       !profiled_program__is_of_jdk(program) && native_program__is_script(program);

    if (profiled_program__has_failed(status))
        return status;
    if (agent_receipt__is_signed(receipt))
        return !status && agent_receipt__lacks_snapshot(receipt) ? EXIT_BAD_INPUT : status;
    command__note("%s of %s was profiled: %s%s; --best-effort passes its exit status back as it is",
                  is_native ? "nothing" : "no JVM", program,
                  obstacle    ? obstacle
                  : is_native ? "it ended before, or hid its environment"
                  : status    ? "it ended before, started none, or hid its environment from it"
                              : "it started none, or hid its environment from it",
                  is_left_out ? "; --native profiles a script's native programs, too" : "");
    return status ? status : EXIT_BAD_INPUT;
}

static int run(const struct run_request *request, const char *library, const char *preload)
{
    struct agent_receipt receipt = {.fd = -1};
    struct run run = {request, library, preload, receipt.path};

    if (request->best_effort || !agent_receipt__open(&receipt))
        return become(&run);
    int ended = watched_program__run(become, &run);
    int status = ended < 0 ? command__fail("%s", strerror(errno)) : EXIT_FINE;
    if (ended >= 0 && WIFEXITED(ended))
        status = judge(&run, &receipt, WEXITSTATUS(ended));
    agent_receipt__close(&receipt);
    return ended >= 0 && WIFSIGNALED(ended) ? watched_program__end(ended) : status;
}

/* libtreadle-native.so, or NULL if it is not wanted, or not there. Whoever names it wants it, but
 * for a JVM, whose native children are profiled with --native. */
static char *wanted_preload(const struct run_request *request)
{
    bool asked = request->native || getenv("TREADLE_PRELOAD");

    if (request->jvm_only || (!asked && native_program__is_script(request->program[0])) ||
        (!request->native && profiled_program__is_of_jdk(request->program[0])))
        return NULL;
    return preload_library__find();
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
    char *preload = wanted_preload(&request);
    bool can_do_without = preload && !profiled_program__is_of_jdk(request.program[0]);
    if (!library && !can_do_without)
        command__fail("no agent: looked for %s; TREADLE_AGENT=/path/to/libtreadle.so names it",
                      tried);
    else if (library && strchr(library, '='))
        command__fail("%s: a JVM ends an agent's path at the first '='; move it", library);
    else
        status = run(&request, library, preload);
    free(library);
    free(preload);
    agent_options__release(&request.options);
    return status;
}
