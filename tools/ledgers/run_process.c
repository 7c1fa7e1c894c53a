#include "tools/ledgers/run_process.h"

#include "tools/command.h"
#include "tools/jvm/process_status.h"
#include "tools/ledgers/live_ledger.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX  64u /* of processes below each other */
#define NAMED_MOST 6u

/* Its command line begins with "treadle", in whatever folder, and "run". */
static bool is_run(pid_t pid)
{
    static const char name[] = "treadle";
    char path[32], command[4096];

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, command, sizeof(command) - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    command[length] = '\0';
    size_t first = strlen(command);
    const char *slash = strrchr(command, '/');
    return strcmp(slash ? slash + 1 : command, name) == 0 && first + 1 < (size_t)length &&
           strcmp(command + first + 1, "run") == 0;
}

static bool is_below(pid_t pid, pid_t above)
{
    struct process_status status;

    for (unsigned i = 0; i < DEPTH_MAX && pid > 1; i++) {
        if (process_status__read(&status, pid) != 0)
            return false;
        pid = status.parent;
        if (pid == above)
            return true;
    }
    return false;
}

static bool has_ledger(pid_t pid)
{
    struct ledger_header header;
    char *path = live_ledger__of_running(pid, &header);

    free(path);
    return path != NULL;
}

/* The processes below it with a ledger: how many, and the first of them. */
static size_t find_below(pid_t above, pid_t found[NAMED_MOST])
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    size_t count = 0;

    while (folder && (entry = readdir(folder)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (*end || pid <= 0 || !is_below((pid_t)pid, above) || !has_ledger((pid_t)pid))
            continue;
        if (count < NAMED_MOST)
            found[count] = (pid_t)pid;
        count++;
    }
    if (folder)
        closedir(folder);
    return count;
}

bool run_process__follow(pid_t *pid)
{
    pid_t found[NAMED_MOST];
    char names[NAMED_MOST * 13] = "";
    size_t at = 0;

    if (!is_run(*pid))
        return true;
    size_t count = find_below(*pid, found);
    if (count == 1) {
        command__note("process %d is `treadle run`; its JVM is process %d", (int)*pid,
                      (int)found[0]);
        *pid = found[0];
        return true;
    }
    for (size_t i = 0; i < count && i < NAMED_MOST; i++)
        at +=
            (size_t)snprintf(names + at, sizeof(names) - at, "%s%d", i ? ", " : "", (int)found[i]);
    if (count)
        command__fail("process %d is `treadle run`; which of its JVMs? there are %s%s", (int)*pid,
                      names, count > NAMED_MOST ? " and more: see `treadle list`" : "");
    else
        command__fail("process %d is `treadle run`, and no JVM below it has a ledger by now",
                      (int)*pid);
    return false;
}
