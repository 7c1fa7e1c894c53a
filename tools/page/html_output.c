#include "tools/page/html_output.h"

#include "tools/command.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_same_file(const char *path, const char *output)
{
    struct stat ledger, page;

    return stat(path, &ledger) == 0 && stat(output, &page) == 0 && ledger.st_dev == page.st_dev &&
           ledger.st_ino == page.st_ino;
}

bool html_output__check(const char *output, const char *ledger, const char *hint)
{
    struct stat is;

    if (is_same_file(ledger, output)) {
        command__fail("%s: is the ledger itself; %s", output, hint);
        return false;
    }
    if (stat(output, &is) == 0 && !S_ISREG(is.st_mode)) {
        command__fail("%s: is no regular file; %s", output, hint);
        return false;
    }
    return true;
}

int html_output__write(const char *output, html_writer *writer, const void *what)
{
    char *partial = NULL;

    if (asprintf(&partial, "%s.XXXXXX", output) < 0)
        return -ENOMEM;
    int fd = mkstemp(partial);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    int error = out ? writer(what, out) : -errno;
    if (out) {
        bool failed = ferror(out) != 0;

        if ((fclose(out) != 0 || failed) && !error)
            error = errno ? -errno : -EIO;
    }
    if (!error && rename(partial, output) != 0)
        error = -errno;
    if (error && fd >= 0)
        unlink(partial);
    free(partial);
    return error;
}
