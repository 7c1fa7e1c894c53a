#include "tools/jvm/jvm_process.h"

#include "tools/command.h"
#include "tools/jvm/jvm_arguments.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int check_owner(pid_t pid, const struct process_status *status)
{
    const struct passwd *user = getpwuid(status->uid);
    char id[32];

    if (geteuid() == 0 || (geteuid() == status->uid && getegid() == status->gid))
        return 0;
    snprintf(id, sizeof(id), "%u:%u", (unsigned)status->uid, (unsigned)status->gid);
    return command__fail("process %d runs as %s%s%s: a JVM lets in only that user and group, "
                         "and root",
                         (int)pid, user ? user->pw_name : "", user ? ", " : "", id);
}

/* The path in a line of maps if that is its file's name, to be freed, else NULL. */
static char *path_named(char *line, const char *name)
{
    static const char deleted[] = " (deleted)";
    char *path = strchr(line, '/');
    size_t length;

    line[strcspn(line, "\n")] = '\0';
    if (!path)
        return NULL;
    length = strlen(path);
    if (length > strlen(deleted) && strcmp(path + length - strlen(deleted), deleted) == 0)
        path[length - strlen(deleted)] = '\0';
    return strcmp(strrchr(path, '/') + 1, name) == 0 ? strdup(path) : NULL;
}

static int find_libraries(struct jvm_process *process)
{
    char path[64], *line = NULL;
    size_t room = 0;
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)process->pid);
    maps = fopen(path, "re");
    if (!maps && (errno == EACCES || errno == EPERM))
        return command__fail("process %d lets nobody look into it: as its own user, with the "
                             "capabilities that it has (root with CAP_SYS_PTRACE), it can be "
                             "attached to",
                             (int)process->pid);
    if (!maps)
        return command__fail("%s: cannot be read: %s", path, strerror(errno));
    while (getline(&line, &room, maps) > 0) {
        if (!process->library)
            process->library = path_named(line, "libjvm.so");
        if (!process->agent)
            process->agent = path_named(line, "libtreadle.so");
    }
    free(line);
    fclose(maps);
    if (!process->library)
        return command__fail("process %d is no JVM: it has no libjvm.so", (int)process->pid);
    return 0;
}

int jvm_process__open(struct jvm_process *process, pid_t pid)
{
    int error;

    *process = (struct jvm_process){.pid = pid};
    process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    error = process_status__read(&process->status, pid);
    if (error || process->status.ended)
        error = command__fail("there is no process %d", (int)pid);
    else if (process->status.process != pid)
        error =
            command__fail("%d is a thread of process %d", (int)pid, (int)process->status.process);
    if (!error)
        error = check_owner(pid, &process->status);
    if (!error)
        error = find_libraries(process);
    if (error)
        jvm_process__close(process);
    return error;
}

void jvm_process__close(struct jvm_process *process)
{
    if (process->pidfd >= 0)
        close(process->pidfd);
    free(process->library);
    free(process->agent);
    *process = (struct jvm_process){.pidfd = -1};
}

bool jvm_process__is_gone(const struct jvm_process *process)
{
    struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
    struct process_status status;

    if (process->pidfd >= 0)
        return poll(&ended, 1, 0) == 1;
    return process_status__read(&status, process->pid) != 0 || status.ended;
}

enum jvm_flag jvm_process__flag(const struct jvm_process *process, const char *name)
{
    struct jvm_arguments arguments;
    enum jvm_flag flag = JVM_FLAG_NOT_GIVEN;
    size_t length = strlen(name);

    if (jvm_arguments__read(&arguments, process->pid) != 0)
        return JVM_FLAG_NOT_GIVEN;
    for (size_t i = 0; i < arguments.count; i++) {
        const char *option = arguments.items[i];

        if (strncmp(option, "-XX:", 4) == 0 && strncmp(option + 5, name, length + 1) == 0)
            flag = option[4] == '+' ? JVM_FLAG_ON : JVM_FLAG_OFF;
    }
    jvm_arguments__release(&arguments);
    return flag;
}

/* lib/server/libjvm.so of a JDK or of an image has `release` two folders further up. */
unsigned jvm_process__version(const struct jvm_process *process)
{
    static const char key[] = "JAVA_VERSION=\"";
    char path[PATH_MAX + 64], *line = NULL;
    const char *end = process->library + strlen(process->library);
    size_t room = 0;
    unsigned version = 0;
    FILE *release;

    for (int up = 0; end && up < 3; up++)
        end = memrchr(process->library, '/', (size_t)(end - process->library));
    if (!end)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/root%.*s/release", (int)process->pid,
             (int)(end - process->library), process->library);
    release = fopen(path, "re");
    while (release && getline(&line, &room, release) > 0)
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            version = (unsigned)strtoul(line + sizeof(key) - 1, NULL, 10);
    free(line);
    if (release)
        fclose(release);
    return version;
}

bool jvm_process__sees(const struct jvm_process *process, const char *path, bool any)
{
    char theirs_path[PATH_MAX + 64];
    struct stat theirs, ours;

    snprintf(theirs_path, sizeof(theirs_path), "/proc/%d/root%s", (int)process->pid, path);
    if (stat(theirs_path, &theirs) != 0 || !S_ISREG(theirs.st_mode))
        return false;
    return any ||
           (stat(path, &ours) == 0 && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}
