/* treadle dump: a snapshot of a running JVM, made from its mapped ledger. The JVM is not asked. */
#include "tools/arguments/pid_argument.h"
#include "tools/command.h"
#include "tools/ledgers/live_ledger.h"

#include <stdlib.h>

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "the file to write (default treadle-%p.ledger): %p pid, %n sequence, %t time as "
     "YYYYMMDD-hhmmss",
     0},
    {0},
};

static const char doc[] =
    "Write a snapshot of the ledger of a running JVM that has the agent."
    "\vThe snapshot is made from the mapped ledger and /proc, without touching the JVM; it is "
    "complete or not there at all. Prints the path. `jcmd PID JVMTI.data_dump` "
    "makes the JVM write one itself.";

struct dump_request {
    const char *pattern;
    pid_t pid;
};

static error_t parse_dump_option(int key, char *argument, struct argp_state *state)
{
    struct dump_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->pid;
        break;
    case 'o':
        request->pattern = argument;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int cmd_dump(int argc, char **argv)
{
    static const struct argp_child children[] = {{&pid_argument, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = options, .parser = parse_dump_option, .doc = doc, .children = children};
    struct dump_request request = {.pattern = "treadle-%p.ledger"};
    char *live_path;
    int status;

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    live_path = live_ledger__find(request.pid);
    if (!live_path)
        return EXIT_BAD_INPUT;
    status = live_ledger__dump(live_path, request.pattern, request.pid);
    free(live_path);
    return status;
}
