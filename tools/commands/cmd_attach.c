/* treadle attach: begins to profile a JVM that runs already. */
#include "tools/agent/agent_arguments.h"
#include "tools/agent/agent_request.h"
#include "tools/arguments/pid_argument.h"
#include "tools/command.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/views/hook_summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_key {
    KEY_EVENTS = 256,
};

static const struct argp_option options[] = {
    {"events", KEY_EVENTS, "MODE", 0, "how calls are seen: instrument (the default) or none", 0},
    {0},
};

static const struct argp_child children[] = {
    {&pid_argument, 0, NULL, 0},
    {&agent_arguments__methods, 0, NULL, 0},
    {&agent_arguments__ledger, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Begin to profile a JVM that runs already: load the agent into it."
    "\vLoaded classes get their hooks at once, others when they are loaded; treadle stop has them "
    "taken out again. Only the JVM's own user and group, and root, can attach.\n\n"
    "The agent is $TREADLE_AGENT, or libtreadle.so where this program was built or installed; the "
    "JVM must see it at the same path.";

struct attach_request {
    struct agent_options options;
    pid_t pid;
};

static error_t parse_attach_option(int key, char *argument, struct argp_state *state)
{
    struct attach_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->pid;
        state->child_inputs[1] = state->child_inputs[2] = &request->options;
        return 0;
    case KEY_EVENTS:
        if (strcmp(argument, "jvmti") == 0)
            argp_error(state, "events=jvmti works only from a JVM's start: use treadle run");
        agent_arguments__add(&request->options, state, "events", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int report_success(pid_t pid)
{
    struct ledger_header header;
    char hooks[HOOKS_TEXT_BYTES];
    char *path = live_ledger__of_running(pid, &header);

    if (!path)
        return command__fail("the agent is loaded in process %d, but its ledger cannot be found",
                             (int)pid);
    free(path);
    if (hook_summary__are_used(&header))
        hook_summary__count(&header, hooks);
    else
        snprintf(hooks, sizeof(hooks), "threads only, no calls");
    printf("attached to %d: %s; treadle report %d, treadle stop %d\n", (int)pid, hooks, (int)pid,
           (int)pid);
    return EXIT_FINE;
}

static int already_there(pid_t pid, bool stopped)
{
    if (stopped)
        return command__fail("process %d has the agent already, stopped: treadle start %d",
                             (int)pid, (int)pid);
    return command__fail("process %d is profiled already: treadle status %d, treadle report %d",
                         (int)pid, (int)pid, (int)pid);
}

/* Somebody else did it between our look and our request. */
static int came_too_late(pid_t pid)
{
    struct ledger_header header;
    char *path = live_ledger__of_running(pid, &header);
    int status = already_there(pid, path && ledger_header__is_stopped(&header));

    free(path);
    return status;
}

static int attach(const struct attach_request *request)
{
    struct jvm_process process;
    char *library;
    int status = jvm_process__open(&process, request->pid);

    if (status)
        return status;
    library = agent_request__library(&process);
    status = library ? agent_request__send(&process, library, &request->options) : EXIT_BAD_INPUT;
    free(library);
    jvm_process__close(&process);
    if (status == -EEXIST)
        return came_too_late(request->pid);
    return status ? status : report_success(request->pid);
}

int cmd_attach(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_attach_option, .doc = doc, .children = children};
    struct attach_request request = {0};
    struct ledger_header header;
    char *present;
    int status;

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    present = live_ledger__of_running(request.pid, &header);
    if (present)
        status = already_there(request.pid, ledger_header__is_stopped(&header));
    else
        status = attach(&request);
    free(present);
    agent_options__release(&request.options);
    return status;
}
