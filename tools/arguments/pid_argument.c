#include "tools/arguments/pid_argument.h"

#include "tools/command.h"
#include "tools/ledgers/run_process.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

static error_t parse_pid(int key, char *argument, struct argp_state *state)
{
    pid_t *pid = state->input;
    char *end;
    long number;

    switch (key) {
    case ARGP_KEY_ARG:
        number = strtol(argument, &end, 10);
        if (*pid || *end || number <= 0 || number >= INT32_MAX)
            argp_error(state, "one PID is wanted, not '%s'", argument);
        *pid = (pid_t)number;
        return 0;
    case ARGP_KEY_END:
        if (!*pid)
            argp_error(state, "which process? `treadle list` shows those with a ledger");
        if (!run_process__follow(pid))
            exit(EXIT_BAD_INPUT);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp pid_argument = {.parser = parse_pid, .args_doc = "PID"};
