#include "tools/arguments/ledger_selection.h"

#include "tools/arguments/ledger_argument.h"
#include "tools/arguments/partial_argument.h"
#include "tools/command.h"

#include <stdlib.h>

static const struct argp_child children[] = {
    {&partial_argument, 0, NULL, 0},
    {&since_argument, 0, NULL, 0},
    {0},
};

static error_t parse_selection(int key, char *argument, struct argp_state *state)
{
    struct ledger_selection *selection = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &selection->partial;
        state->child_inputs[1] = &selection->moments;
        return 0;
    case ARGP_KEY_ARG:
        if (!selection->given)
            selection->given = argument;
        else if (!selection->may_have_more)
            argp_error(state, "one FILE or PID, not more");
        else if (selection->more_count == LEDGERS_MORE)
            argp_error(state, "more than %u FILEs or PIDs", LEDGERS_MORE + 1);
        else
            selection->more[selection->more_count++] = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp ledger_selection = {.parser = parse_selection, .children = children};

int ledger_selection__resolve(struct ledger_selection *selection)
{
    selection->path = ledger_argument__path(selection->given);
    if (!selection->path)
        return EXIT_BAD_INPUT;
    return since_argument__resolve(&selection->moments, &selection->path, &selection->since,
                                   selection->partial, &selection->judged);
}

struct ledger_reader *ledger_selection__read(struct ledger_selection *selection)
{
    return partial_argument__read(selection->path, selection->partial, &selection->judged);
}

struct ledger_reader *ledger_selection__read_more(struct ledger_selection *selection, size_t index,
                                                  char **path)
{
    *path = ledger_argument__path(selection->more[index]);
    return *path ? partial_argument__read(*path, selection->partial, &selection->judged) : NULL;
}

int ledger_selection__finish(struct ledger_selection *selection, int status)
{
    free(selection->since);
    free(selection->path);
    return partial_argument__status(status, selection->judged);
}
