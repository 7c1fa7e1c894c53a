/* treadle dump: a snapshot of a running JVM, made from its mapped ledger. The JVM is not asked. */
#include "native/snapshot.h"
#include "tools/command.h"
#include "tools/live_ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "where to (default treadle-%p.ledger): %p pid, %n sequence, %t time as YYYYMMDD-hhmmss", 0},
    {0},
};

static const char doc[] =
    "Write a snapshot of the ledger of a running JVM that was started with the agent."
    "\vThe snapshot is made from the mapped ledger and /proc, without touching the JVM; it is "
    "complete or not there at all. Prints the path. The same from inside the JVM: "
    "`jcmd PID JVMTI.data_dump`.";

struct request {
    const char *pattern;
    pid_t pid;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    char *end;
    long pid;

    switch (key) {
    case 'o':
        request->pattern = argument;
        break;
    case ARGP_KEY_ARG:
        pid = strtol(argument, &end, 10);
        if (request->pid || *end || pid <= 0 || pid >= INT32_MAX)
            argp_error(state, "one PID is wanted, not '%s'", argument);
        request->pid = (pid_t)pid;
        break;
    case ARGP_KEY_END:
        if (!request->pid)
            argp_error(state, "which process? `treadle list` shows those with a ledger");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int dump(const char *live_path, const struct request *request)
{
    char path[PATH_MAX];
    struct ledger_header header;
    int fd = open(live_path, O_RDONLY | O_CLOEXEC);
    int error;

    if (fd < 0 || pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header)) {
        int saved = errno;

        if (fd >= 0)
            close(fd);
        return command__fail("%s: cannot be read: %s", live_path, strerror(saved));
    }
    error = snapshot__path(path, sizeof(path), request->pattern, (int)request->pid,
                           header.snapshots + 1);
    if (error) {
        close(fd);
        return command__fail("'%s' is no pattern of a path: %%p, %%n and %%t are known",
                             request->pattern);
    }
    error = snapshot__write(fd, path);
    close(fd);
    if (error == -ESRCH)
        return command__fail("process %d is gone; what it left is read by: treadle report %s",
                             (int)request->pid, live_path);
    if (error)
        return command__fail("%s: cannot be written: %s", path, strerror(-error));
    puts(path);
    return EXIT_FINE;
}

int cmd_dump(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "PID", .doc = doc};
    struct request request = {.pattern = "treadle-%p.ledger"};
    char *live_path;
    int status;

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    live_path = live_ledger__find(request.pid);
    if (!live_path)
        return EXIT_BAD_INPUT;
    status = dump(live_path, &request);
    free(live_path);
    return status;
}
