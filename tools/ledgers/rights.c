#include "tools/ledgers/rights.h"

#include "tools/command.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool gave_up;

/* Takes the ids for good, supplementary groups included, if this process is root and the user is
 * not; else does nothing. 0 or -errno. */
static int become(uid_t uid, gid_t gid)
{
    if (geteuid() != 0 || uid == 0)
        return 0;
    if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
        return -errno;
    gave_up = true;
    /* If root's rights could be had back, nothing would be gained. */
    return setresuid((uid_t)-1, 0, (uid_t)-1) == 0 ? -EPERM : 0;
}

int rights__become_owner(int fd)
{
    struct stat file;

    if (fstat(fd, &file) != 0)
        return -errno;
    return become(file.st_uid, file.st_gid);
}

/* 0 or -errno. */
static int wait_for(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

int rights__work_as_owner(int fd, int (*work)(void *context), void *context)
{
    struct stat file;
    pid_t child;

    if (fstat(fd, &file) != 0)
        return -errno;
    if (geteuid() != 0 || file.st_uid == 0)
        return work(context);
    child = fork();
    if (child == 0) {
        int error = become(file.st_uid, file.st_gid);

        _exit(error ? -error : -work(context));
    }
    return child < 0 ? -errno : wait_for(child);
}

void *rights__shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void rights__release_shared(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

const char *rights__loss(void)
{
    return gave_up ? "; root's rights were given up, since another user's file was read before: "
                     "files of several users are read together as copies that are root's own"
                   : "";
}

int rights__refuse_output(const char *output, int error)
{
    return command__fail("%s: cannot be written: %s%s", output, strerror(-error),
                         gave_up ? "; what a JVM of another user writes is read with that user's "
                                   "rights, so write to standard output, or take a snapshot "
                                   "first: treadle dump"
                                 : "");
}
