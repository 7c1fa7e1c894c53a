/* treadle start: goes on profiling a JVM after treadle stop. */
#include "tools/agent/agent_arguments.h"
#include "tools/agent/agent_request.h"
#include "tools/arguments/pid_argument.h"
#include "tools/command.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/views/hook_summary.h"

#include <stdio.h>
#include <stdlib.h>

static const struct argp_child children[] = {
    {&pid_argument, 0, NULL, 0},
    {&agent_arguments__methods, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Go on profiling a JVM that treadle stop has stopped: the hooks are heard again, or go in "
    "again, and what is consumed from now on is added to the same ledger."
    "\vWithout --include and --exclude the same methods get hooks as before. To load the agent "
    "into a JVM that does not have it: treadle attach.";

struct start_request {
    struct agent_options options;
    pid_t pid;
};

static error_t parse_start_option(int key, char *argument, struct argp_state *state)
{
    struct start_request *request = state->input;

    (void)argument;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = &request->pid;
    state->child_inputs[1] = &request->options;
    return 0;
}

static int start(const struct start_request *request)
{
    struct ledger_header header;
    char hooks[HOOKS_TEXT_BYTES] = "threads only, no calls";
    int status = agent_request__send_again(request->pid, &request->options, &header);

    if (status)
        return status;
    if (hook_summary__are_used(&header))
        hook_summary__count(&header, hooks);
    printf("profiling %d again: %s; treadle report %d, treadle stop %d\n", (int)request->pid, hooks,
           (int)request->pid, (int)request->pid);
    return EXIT_FINE;
}

int cmd_start(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_start_option, .doc = doc, .children = children};
    struct start_request request = {0};
    struct ledger_header header;
    int status;

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    char *path = live_ledger__of_running(request.pid, &header);
    if (!path)
        status = live_ledger__refuse(request.pid);
    else if (!ledger_header__is_stopped(&header) && !request.options.text)
        status = command__fail("process %d is being profiled: treadle status %d", (int)request.pid,
                               (int)request.pid);
    else if (agent_options__add(&request.options, "start", NULL) != 0)
        status = command__fail("out of memory");
    else
        status = start(&request);
    free(path);
    agent_options__release(&request.options);
    return status;
}
