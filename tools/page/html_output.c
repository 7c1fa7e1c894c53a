#include "tools/page/html_output.h"

#include "tools/command.h"
#include "tools/output/output_place.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool html_output__check(const char *output, const char *ledger, const char *hint)
{
    struct stat is;

    if (!output_place__is_no_ledger(output, ledger, hint))
        return false;
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
