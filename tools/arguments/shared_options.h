/*
 * Options with the same meaning in several commands. A command lists the shared options that it
 * has in its own table, with words that fit its help, and passes options that are not its own to
 * shared_option__parse.
 */
#ifndef TREADLE_SHARED_OPTIONS_H
#define TREADLE_SHARED_OPTIONS_H

#include "tools/report/report_model.h"

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

enum shared_option_key {
    KEY_METRIC = 'm',
    KEY_TOP = 'n',
    KEY_OUTPUT = 'o',
    KEY_THREAD = 't',
    KEY_JSON = 0x10200, /* no command has that many */
    KEY_CSV,
};

struct shared_options {
    enum report_column column; /* --metric */
    bool column_given;
    const char *threads; /* --thread, a glob; or NULL: all */
    const char *output;  /* --output, or NULL */
    uint32_t top;        /* --top; 0: all */
    bool json;
    bool csv;
};

/* For the parser of a command. An invalid value ends the program, as argp's own complaints do. */
error_t shared_option__parse(int key, char *argument, struct argp_state *state,
                             struct shared_options *options);

#endif
