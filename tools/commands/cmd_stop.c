/* treadle stop: ends the profiling of a JVM; the ledger stays. */
#include "tools/agent/agent_request.h"
#include "tools/arguments/pid_argument.h"
#include "tools/command.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/report/quantity.h"

#include <stdio.h>
#include <stdlib.h>

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "also write a snapshot: %p pid, %n sequence, %t time as YYYYMMDD-hhmmss", 0},
    {0},
};

static const struct argp_child children[] = {{&pid_argument, 0, NULL, 0}, {0}};

static const char doc[] =
    "Stop profiling a JVM: nothing is charged any more. The hooks fall silent, and come out of its "
    "classes a minute later; with overhead=any at once."
    "\vWhat was charged stays in the ledger: treadle report PID shows it, treadle dump PID writes "
    "a "
    "snapshot, and treadle start PID goes on.";

struct stop_request {
    const char *pattern; /* of the snapshot, or NULL */
    pid_t pid;
};

static error_t parse_stop_option(int key, char *argument, struct argp_state *state)
{
    struct stop_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->pid;
        return 0;
    case 'o':
        request->pattern = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int stop(pid_t pid, const struct ledger_header *before)
{
    char text[] = "stop";
    struct agent_options stop_word = {.text = text};
    struct ledger_header header;
    int status;

    if (ledger_header__is_stopped(before)) {
        printf("%d was stopped already: treadle report %d, treadle start %d\n", (int)pid, (int)pid,
               (int)pid);
        return EXIT_FINE;
    }
    status = agent_request__send_again(pid, &stop_word, &header);
    if (status)
        return status;
    printf("stopped %d after %s; the ledger stays: treadle report %d, treadle dump %d\n", (int)pid,
           quantity__ns(header.since_ns - before->since_ns).text, (int)pid, (int)pid);
    return EXIT_FINE;
}

int cmd_stop(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_stop_option, .doc = doc, .children = children};
    struct stop_request request = {0};
    struct ledger_header header;
    int status;

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    char *path = live_ledger__of_running(request.pid, &header);
    if (path)
        status = stop(request.pid, &header);
    else
        status = live_ledger__refuse(request.pid);
    if (!status && request.pattern)
        status = live_ledger__dump(path, request.pattern, request.pid);
    free(path);
    return status;
}
