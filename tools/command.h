/*
 * Subcommands: one file each, one row each in the table of treadle.c.
 */
#ifndef TREADLE_COMMAND_H
#define TREADLE_COMMAND_H

#include <argp.h>

enum exit_status {
    EXIT_FINE = 0,
    EXIT_BAD_INPUT = 1, /* one line has said what, where and what to do */
    EXIT_BAD_USAGE = 2,
    EXIT_HAZARDS = 3, /* treadle report --check hazards found some */
};

/* argv[0] is "treadle NAME". The result is the exit status. */
typedef int command_run(int argc, char **argv);

struct command {
    const char *name;
    const char *summary; /* one line for `treadle --help` */
    command_run *run;
};

command_run cmd_annotate;
command_run cmd_attach;
command_run cmd_diff;
command_run cmd_dump;
command_run cmd_export;
command_run cmd_html;
command_run cmd_list;
command_run cmd_merge;
command_run cmd_report;
command_run cmd_run;
command_run cmd_sample;
command_run cmd_start;
command_run cmd_status;
command_run cmd_stop;
command_run cmd_timeline;
command_run cmd_top;

/* One line to stderr, "treadle: " before it; for EXIT_BAD_INPUT. Control characters in it are made
 * visible. Returns EXIT_BAD_INPUT. */
__attribute__((format(printf, 1, 2))) int command__fail(const char *format, ...);

/* The same for a remark on something that is no failure; returns nothing. */
__attribute__((format(printf, 1, 2))) void command__note(const char *format, ...);

/* Flushes standard output. Returns `status`, or EXIT_BAD_INPUT after a line that says why something
 * could not be written, now or earlier. */
int command__flush_output(int status);

#endif
