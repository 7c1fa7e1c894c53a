#include "native/snapshot.h"

#include "native/ledger.h"
#include "native/settle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COPY_BYTES (256u * 1024u)

/* Rows that the copy gets beyond what the live ledger has: VM threads that were not yet seen. */
#define ROOM_BYTES (16u * 1024u * 1024u)

static int expand(char *out, size_t room, char letter, int pid, unsigned sequence)
{
    struct tm tm;
    time_t now = time(NULL);

    switch (letter) {
    case 'p':
        return snprintf(out, room, "%d", pid);
    case 'n':
        return snprintf(out, room, "%u", sequence);
    case 't':
        localtime_r(&now, &tm);
        return (int)strftime(out, room, "%Y%m%d-%H%M%S", &tm);
    case '%':
        return snprintf(out, room, "%%");
    default:
        return -1;
    }
}

int snapshot__path(char *path, size_t path_bytes, const char *pattern, int pid, unsigned sequence)
{
    size_t used = 0;

    for (const char *from = pattern; *from; from++) {
        char piece[32] = {*from};
        int length = 1;

        if (*from == '%')
            length = expand(piece, sizeof piece, *++from, pid, sequence);
        if (length < 0)
            return -EINVAL;
        if (used + (size_t)length + 1 > path_bytes)
            return -ENAMETOOLONG;
        memcpy(path + used, piece, (size_t)length);
        used += (size_t)length;
    }
    path[used] = '\0';
    return 0;
}

static int write_all(int fd, const char *bytes, size_t left)
{
    while (left) {
        ssize_t wrote = write(fd, bytes, left);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -errno;
        bytes += wrote;
        left -= (size_t)wrote;
    }
    return 0;
}

static int copy_bytes(int source_fd, int target_fd, uint64_t bytes)
{
    char *buffer = malloc(COPY_BYTES);
    uint64_t done = 0;
    int error = buffer ? 0 : -ENOMEM;

    while (done < bytes && !error) {
        size_t want = bytes - done < COPY_BYTES ? (size_t)(bytes - done) : COPY_BYTES;
        ssize_t got = pread(source_fd, buffer, want, (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            error = got < 0 ? -errno : -EINVAL;
        else
            error = write_all(target_fd, buffer, (size_t)got);
        if (!error)
            done += (size_t)got;
    }
    free(buffer);
    return error;
}

static int read_header(int fd, struct ledger_header *header)
{
    if (pread(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header)
        return -EINVAL;
    if (memcmp(header->magic, LEDGER_MAGIC, sizeof header->magic) != 0 ||
        header->format_version != LEDGER_FORMAT_VERSION ||
        header->byte_order != LEDGER_BYTE_ORDER || header->state != LEDGER_LIVE ||
        header->chunks_used == 0)
        return -EINVAL;
    return 0;
}

int snapshot__copy(int source_fd, int target_fd)
{
    struct ledger_header header;
    struct ledger copy;
    uint64_t bytes;
    int error;

    error = read_header(source_fd, &header);
    if (error)
        return error;
    bytes = (uint64_t)header.chunks_used * LEDGER_CHUNK_BYTES;
    error = copy_bytes(source_fd, target_fd, bytes);
    if (error)
        return error;
    error = ledger__adopt(&copy, target_fd, bytes, ROOM_BYTES);
    if (error)
        return error;
    error = ledger__settle(&copy);
    if (!error)
        error = ledger__write_back(&copy, target_fd);
    ledger__close(&copy);
    return error;
}

int snapshot__write(int source_fd, const char *path)
{
    char temporary[PATH_MAX];
    uint64_t random = 0;
    int fd, length, error;

    (void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
    length = snprintf(temporary, sizeof temporary, "%s.%d-%llx.tmp", path, (int)getpid(),
                      (unsigned long long)random);
    if (length < 0 || (size_t)length >= sizeof temporary)
        return -ENAMETOOLONG;
    fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    error = snapshot__copy(source_fd, fd);
    if (!error && rename(temporary, path) != 0)
        error = -errno;
    if (error)
        unlink(temporary);
    if (close(fd) != 0 && !error)
        error = -errno;
    return error;
}
