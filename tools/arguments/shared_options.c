#include "tools/arguments/shared_options.h"

#include "tools/arguments/option_values.h"

error_t shared_option__parse(int key, char *argument, struct argp_state *state,
                             struct shared_options *options)
{
    switch (key) {
    case KEY_METRIC:
        options->column = option_value__metric(argument, state);
        options->column_given = true;
        return 0;
    case KEY_TOP:
        options->top = option_value__number("--top", argument, 1, state);
        return 0;
    case KEY_OUTPUT:
        options->output = argument;
        return 0;
    case KEY_THREAD:
        options->threads = argument;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_CSV:
        options->csv = true;
        return 0;
    case ARGP_KEY_END:
        if (options->json && options->csv)
            argp_error(state, "--json or --csv, not both");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}
