#include "tools/ledgers/rights.h"

#include "tools/command.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
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

int rights__refuse_output(const char *output, int error)
{
    return command__fail("%s: cannot be written: %s%s", output, strerror(-error),
                         gave_up ? "; what a JVM of another user writes is read with that user's "
                                   "rights, so write to standard output, or take a snapshot "
                                   "first: treadle dump"
                                 : "");
}
