#include "tools/export/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mode_t usual_mode(void)
{
    mode_t mask = umask(0);

    umask(mask);
    return 0666 & ~mask;
}

/* A pipe or a device cannot be replaced by a file. */
static int open_in_place(struct output_file *file, const char *path)
{
    file->stream = fopen(path, "we");
    return file->stream ? 0 : -errno;
}

static int open_partial(struct output_file *file, const char *path, mode_t mode)
{
    /* Through a link, so that the link stays; what is not there yet is as it was named. */
    file->target = realpath(path, NULL);
    if (!file->target)
        file->target = strdup(path);
    if (!file->target || asprintf(&file->partial, "%s.XXXXXX", file->target) < 0) {
        file->partial = NULL;
        return -ENOMEM;
    }
    int fd = mkostemp(file->partial, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    file->stream = fchmod(fd, mode) == 0 ? fdopen(fd, "w") : NULL;
    if (file->stream)
        return 0;
    int error = -errno;
    close(fd);
    unlink(file->partial);
    return error;
}

static void release(struct output_file *file)
{
    free(file->target);
    free(file->partial);
    *file = (struct output_file){0};
}

int output_file__open(struct output_file *file, const char *path)
{
    struct stat there;

    *file = (struct output_file){0};
    if (!path || strcmp(path, "-") == 0) {
        file->stream = stdout;
        return 0;
    }
    bool exists = stat(path, &there) == 0;
    int error = 0;
    if (exists && S_ISDIR(there.st_mode))
        error = -EISDIR;
    else if (exists && !S_ISREG(there.st_mode))
        error = open_in_place(file, path);
    else
        error = open_partial(file, path, exists ? there.st_mode & 0777 : usual_mode());
    if (error)
        release(file);
    return error;
}

int output_file__check(const char *path)
{
    struct output_file file;
    struct stat there;
    int error;

    if (!path || strcmp(path, "-") == 0 ||
        (stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)))
        return 0;
    error = output_file__open(&file, path);
    if (!error)
        (void)output_file__finish(&file, -ECANCELED);
    return error;
}

bool output_file__would_be_regular(const char *path)
{
    struct stat there;

    return stat(path, &there) != 0 || S_ISREG(there.st_mode) || S_ISDIR(there.st_mode);
}

/* A full disk shows only when the last of the buffer is written. */
static int flush(FILE *stream)
{
    errno = 0;
    if (fflush(stream) == 0 && !ferror(stream))
        return 0;
    return errno ? -errno : -EIO;
}

int output_file__finish(struct output_file *file, int status)
{
    int flushed = flush(file->stream);
    int error = status ? status : flushed;

    if (file->stream == stdout) {
        clearerr(stdout);
        return error == -EPIPE ? 0 : error;
    }
    if (!error && file->target && fsync(fileno(file->stream)) != 0)
        error = -errno;
    if (fclose(file->stream) != 0 && !error)
        error = -errno;
    if (!error && file->target && rename(file->partial, file->target) != 0)
        error = -errno;
    if (error && file->target)
        unlink(file->partial);
    release(file);
    return error;
}
