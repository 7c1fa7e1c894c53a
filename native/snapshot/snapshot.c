#include "native/snapshot/snapshot.h"

#include "native/full_write.h"
#include "native/ledger/ledger.h"
#include "native/ledger/ledger_gate.h"
#include "native/ledger/ledger_space.h"
#include "native/proc/process_stat.h"
#include "native/snapshot/late_nodes.h"
#include "native/snapshot/settle.h"
#include "native/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COPY_BYTES    (256u * 1024u)
#define GROWTH_ROUNDS 3
#define COPIES_UNHELD 2 /* copies made while numbers may move */
#define COPY_ATTEMPTS 8 /* copies made at most; the last one is taken as it is */
#define HOLD_NS       UINT64_C(2000000000)
#define AWAIT_STEP_US 200u
#define AWAIT_MOST_NS UINT64_C(1000000000) /* for moves that are under way, in all */

/* Room for rows that only the copy gets: VM threads that were not seen yet. */
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
            length = expand(piece, sizeof(piece), *++from, pid, sequence);
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

static int copy_bytes(int source_fd, int target_fd, uint64_t from, uint64_t to)
{
    char *buffer = malloc(COPY_BYTES);
    uint64_t done = from;
    int error = buffer ? 0 : -ENOMEM;

    while (done < to && !error) {
        size_t want = to - done < COPY_BYTES ? (size_t)(to - done) : COPY_BYTES;
        ssize_t got = pread(source_fd, buffer, want, (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            error = got < 0 ? -errno : -EINVAL;
        else
            error = full_write__run(target_fd, buffer, (size_t)got);
        if (!error)
            done += (size_t)got;
    }
    free(buffer);
    return error;
}

static int read_header(int fd, struct ledger_header *header)
{
    if (pread(fd, header, sizeof(*header), 0) != (ssize_t)sizeof(*header))
        return -EINVAL;
    if (memcmp(header->magic, LEDGER_MAGIC, sizeof(header->magic)) != 0 ||
        header->format_version != LEDGER_FORMAT_VERSION ||
        header->byte_order != LEDGER_BYTE_ORDER || header->state != LEDGER_LIVE ||
        header->chunks_used == 0 || header->chunks_used > UINT32_MAX / LEDGER_CHUNK_CELLS)
        return -EINVAL;
    return 0;
}

/* 0 if so many bytes can be copied: the file has them, and not only nominally. */
static int check_file(int fd, uint64_t bytes)
{
    struct stat file;

    if (fstat(fd, &file) != 0)
        return -errno;
    return S_ISREG(file.st_mode) && (uint64_t)file.st_size >= bytes &&
                   !ledger_gate__is_too_sparse(&file, bytes)
               ? 0
               : -EINVAL;
}

/* 0 if the ledger's process runs. The pid may now be another process's, or be that of another boot.
 */
static int check_process(const struct ledger_header *header)
{
    char boot_id[sizeof(header->boot_id)] = "";
    uint64_t start_ticks;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!read(fd, boot_id, sizeof(boot_id) - 1);
        close(fd);
    }
    boot_id[strcspn(boot_id, "\n")] = '\0';
    if (fd >= 0 && strncmp(boot_id, header->boot_id, sizeof(boot_id)) != 0)
        return -ESRCH;
    if (process_start__read(header->pid, &start_ticks) != 0 || start_ticks != header->start_ticks)
        return -ESRCH;
    return 0;
}

/* Copies a ledger that grows while it is copied. What is copied late may name chunks that were not
 * there at first, so the growth is copied, too. *bytes: the size that no ref in the copy goes
 * beyond. */
static int copy_growing(int source_fd, int target_fd, uint64_t *bytes)
{
    struct ledger_header header;
    uint64_t done = 0;
    int error = read_header(source_fd, &header);

    for (int round = 0; round < GROWTH_ROUNDS && !error; round++) {
        uint64_t used = (uint64_t)header.chunks_used * LEDGER_CHUNK_BYTES;

        if (round && used <= done)
            break;
        error = check_file(source_fd, used);
        if (!error)
            error = copy_bytes(source_fd, target_fd, done, used);
        done = used;
        if (!error)
            error = read_header(source_fd, &header);
    }
    *bytes = (uint64_t)header.chunks_used * LEDGER_CHUNK_BYTES;
    if (!error)
        error = check_file(source_fd, *bytes);
    if (!error && !ledger_space__is_allowed(*bytes))
        error = -EFBIG;
    if (!error && ftruncate(target_fd, (off_t)*bytes) != 0)
        error = -errno;
    return error;
}

static int read_count(int fd, size_t offset, uint64_t *count)
{
    return pread(fd, count, sizeof(*count), (off_t)offset) == (ssize_t)sizeof(*count) ? 0 : -EINVAL;
}

/* Reads how many moves of numbers were done, and how many were begun. */
static int read_moves(int fd, uint64_t *done, uint64_t *begun)
{
    int error = read_count(fd, offsetof(struct ledger_header, folds_done), done);

    return error ? error : read_count(fd, offsetof(struct ledger_header, folds_begun), begun);
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Holds off moves of numbers for for_ns from now on; 0 allows them again. Does nothing without the
 * right to write the file. */
static void hold_moves(int source_fd, uint64_t for_ns)
{
    char path[64];
    uint64_t until_ns = for_ns ? monotonic_ns() + for_ns : 0;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", source_fd);
    fd = standard_files__avoid(open(path, O_WRONLY | O_CLOEXEC));
    if (fd < 0)
        return;
    (void)!pwrite(fd, &until_ns, sizeof(until_ns),
                  (off_t)offsetof(struct ledger_header, folds_held_until_ns));
    close(fd);
}

/* Waits for moves that are under way, until *patience_ns are used up. A move takes microseconds,
 * but its thread may not run just then. */
static void await_moves(int source_fd, uint64_t *patience_ns)
{
    uint64_t began_ns = monotonic_ns(), done, begun, waited_ns = 0;

    while (waited_ns < *patience_ns && read_moves(source_fd, &done, &begun) == 0 && done != begun) {
        usleep(AWAIT_STEP_US);
        waited_ns = monotonic_ns() - began_ns;
    }
    *patience_ns -= waited_ns < *patience_ns ? waited_ns : *patience_ns;
}

/* Copies and adopts the ledger. Even if numbers moved meanwhile, the lists of the copy are whole.
 */
static int copy_and_adopt(int source_fd, int target_fd, struct ledger *copy)
{
    uint64_t bytes;
    int error = lseek(target_fd, 0, SEEK_SET) == 0 ? 0 : -errno;

    if (!error)
        error = copy_growing(source_fd, target_fd, &bytes);
    if (!error)
        error = ledger__adopt(copy, target_fd, bytes, ROOM_BYTES);
    if (error)
        return error;
    if (copy->header->folds_begun)
        error = late_nodes__read(copy, source_fd);
    if (error)
        ledger__close(copy);
    return error;
}

/* Makes one copy. *whole: no numbers moved meanwhile. */
static int copy_once(int source_fd, int target_fd, struct ledger *copy, bool *whole)
{
    uint64_t done, begun;
    int error = read_count(source_fd, offsetof(struct ledger_header, folds_done), &done);

    if (!error)
        error = copy_and_adopt(source_fd, target_fd, copy);
    if (error)
        return error;
    error = read_count(source_fd, offsetof(struct ledger_header, folds_begun), &begun);
    *whole = done == begun;
    if (error)
        ledger__close(copy);
    return error;
}

/* Makes a copy in which each number stands once. If numbers move during every copy, moves are held
 * off. */
static int copy_between_moves(int source_fd, int target_fd, struct ledger *copy)
{
    uint64_t patience_ns = AWAIT_MOST_NS;
    bool whole = false;

    for (unsigned attempt = 1;; attempt++) {
        bool holds = attempt > COPIES_UNHELD;
        int error;

        if (holds) {
            hold_moves(source_fd, HOLD_NS);
            await_moves(source_fd, &patience_ns);
        }
        error = copy_once(source_fd, target_fd, copy, &whole);
        if (holds)
            hold_moves(source_fd, 0);
        if (error || whole || attempt == COPY_ATTEMPTS)
            return error;
        ledger__close(copy);
    }
}

int snapshot__copy(int source_fd, int target_fd)
{
    struct ledger_header header;
    struct ledger copy;
    int error = read_header(source_fd, &header);

    if (!error)
        error = check_process(&header);
    if (!error)
        error = copy_between_moves(source_fd, target_fd, &copy);
    if (error)
        return error;
    error = ledger__settle(&copy);
    if (!error)
        error = ledger__write_back(&copy, target_fd);
    ledger__close(&copy);
    return error;
}

int snapshot__mark_counts(int fd)
{
    const uint64_t whole = LEDGER_COUNTS_WHOLE;
    ssize_t written =
        pwrite(fd, &whole, sizeof(whole), (off_t)offsetof(struct ledger_header, counts_at_ns));

    return written == (ssize_t)sizeof(whole) ? 0 : written < 0 ? -errno : -EIO;
}

/* A path in the folder of `path`, with a short name of its own: the name in `path` may be as long
 * as names can be. */
static int temporary_path(char *temporary, size_t bytes, const char *path)
{
    const char *slash = strrchr(path, '/');
    uint64_t random = 0;
    int length;

    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
    length =
        snprintf(temporary, bytes, "%.*s.treadle-%d-%llx.tmp", slash ? (int)(slash - path + 1) : 0,
                 path, (int)getpid(), (unsigned long long)random);
    return length < 0 || (size_t)length >= bytes ? -ENAMETOOLONG : 0;
}

int snapshot__write(int source_fd, const char *path)
{
    return snapshot__write_with(snapshot__copy, source_fd, path);
}

int snapshot__write_with(snapshot_copy *copy, int source_fd, const char *path)
{
    char temporary[PATH_MAX + 64];
    int error = temporary_path(temporary, sizeof(temporary), path);
    int fd;

    if (error)
        return error;
    fd = standard_files__avoid(
        open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd < 0)
        return -errno;
    error = copy(source_fd, fd);
    if (!error)
        error = full_write__put(temporary, path);
    if (error)
        unlink(temporary);
    if (close(fd) != 0 && !error)
        error = -errno;
    return error;
}
