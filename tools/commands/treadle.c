/* The command line: finds the subcommand and looks after what they have in common. */
#include "tools/command.h"
#include "tools/output/size_signal.h"
#include "tools/report/nearest.h"
#include "tools/report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command commands[] = {
    {"annotate", "show where in a method its samples are", cmd_annotate},
    {"attach", "begin to profile a JVM that runs already", cmd_attach},
    {"diff", "show what changed from one ledger to another", cmd_diff},
    {"dump", "write a snapshot of a running JVM's ledger", cmd_dump},
    {"export", "write a ledger for pprof, flame graphs, speedscope, Perfetto, SQL", cmd_export},
    {"html", "write a ledger as one HTML file for a browser", cmd_html},
    {"list", "show running JVMs with a ledger, orphans, and snapshots here", cmd_list},
    {"merge", "put the ledgers of several processes into one", cmd_merge},
    {"report", "show a ledger: threads, call trees, methods, callers", cmd_report},
    {"run", "start a JVM with the agent", cmd_run},
    {"sample", "sample the logical stacks of programs that have treadle.h", cmd_sample},
    {"start", "go on profiling a JVM after stop", cmd_start},
    {"status", "show whether and how a JVM is profiled", cmd_status},
    {"stop", "stop profiling a JVM: the hooks fall silent, the ledger stays", cmd_stop},
    {"timeline", "record what threads do, moment by moment", cmd_timeline},
    {"top", "show live what each thread consumes, and its hot path", cmd_top},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
    fputs(
        "Usage: treadle COMMAND [OPTION...]\n"
        "The thread ledger: what each Java thread really cost the kernel, on which call path.\n\n",
        out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n`treadle COMMAND --help` lists the options; the manual is treadle(1).\n", out);
}

static int bad_usage(const char *given)
{
    const char *names[COMMAND_COUNT];

    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    const char *near = nearest__of(given, names, COMMAND_COUNT);
    command__fail(near ? "no command '%s'; did you mean '%s'?"
                       : "no command '%s'; `treadle --help` lists them",
                  given, near);
    return EXIT_BAD_USAGE;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    char name[64];

    snprintf(name, sizeof(name), "treadle %s", command->name);
    argv[0] = name;
    return command->run(argc, argv);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_BAD_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "-?") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return EXIT_FINE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts(argp_program_version);
        return EXIT_FINE;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run_command(&commands[i], argc - 1, argv + 1);
    return bad_usage(argv[1]);
}

/* argp exits by itself after --help, --usage and --version. */
static void flush_at_exit(int status, void *context)
{
    int judged = command__flush_output(status);

    (void)context;
    if (judged != status)
        _exit(judged);
}

int main(int argc, char **argv)
{
    (void)on_exit(flush_at_exit, NULL);
    size_signal__ignore();
    text__set_locale();
    argp_program_version = "treadle " TREADLE_VERSION;
    argp_err_exit_status = EXIT_BAD_USAGE;
    return dispatch(argc, argv);
}
