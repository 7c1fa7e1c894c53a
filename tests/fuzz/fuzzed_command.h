/* A fuzzed ledger as the argument of one of some command lines: its bytes say which. */
#ifndef TREADLE_FUZZED_COMMAND_H
#define TREADLE_FUZZED_COMMAND_H

#include "tests/fuzz/fuzzed_ledger.h"
#include "tools/command.h"

#define ARGUMENTS_MAX 10

/* Up to the first NULL; the file comes last. */
struct fuzzed_command {
    command_run *run;
    const char *arguments[ARGUMENTS_MAX - 2];
};

static inline void run_one(const struct fuzzed_command *commands, size_t count,
                           const uint8_t *bytes, size_t length)
{
    struct ledger_header header;
    int fd = fuzzed_file(bytes, length, &header), argc = 0;
    char path[32], *argv[ARGUMENTS_MAX];
    const struct fuzzed_command *command;

    if (fd < 0)
        return;
    put_header(fd, &header);
    command =
        &commands[(header.asof_ns ^ header.epoch_ns ^ header.samples ^ bytes[length - 1]) % count];
    while (command->arguments[argc]) {
        argv[argc] = strdup(command->arguments[argc]);
        argc++;
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    argv[argc++] = strdup(path);
    argv[argc] = NULL;
    {
        char *given[ARGUMENTS_MAX];

        memcpy(given, argv, sizeof given); /* argp sorts them */
        (void)command->run(argc, given);
    }
    while (argc--)
        free(argv[argc]);
    (void)close(fd);
}

#endif
