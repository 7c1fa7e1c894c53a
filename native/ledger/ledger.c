#include "native/ledger/ledger.h"

#include "native/ledger/ledger_space.h"
#include "native/ledger/orphan_ledgers.h"
#include "native/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVE_FIRST_CHUNKS 64u
#define CHUNKS_MIN           16u

static int open_named(struct ledger *ledger, const char *folder)
{
    uint64_t random = 0;
    int length;

    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = (uint64_t)(uintptr_t)&random; /* O_EXCL and O_NOFOLLOW guard it all the same */
    length = snprintf(ledger->path, sizeof(ledger->path), "%s/treadle-%d-%016llx.live", folder,
                      (int)getpid(), (unsigned long long)random);
    if (length < 0 || (size_t)length >= sizeof(ledger->path))
        return -ENAMETOOLONG;
    ledger->fd = standard_files__avoid(
        open(ledger->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (ledger->fd < 0 || fchmod(ledger->fd, 0600) != 0)
        return -errno;
    return 0;
}

static int make_buckets(struct ledger *ledger)
{
    size_t bytes = (LEDGER_STRING_BUCKETS + LEDGER_METHOD_BUCKETS) * sizeof(ledger_ref);
    void *buckets = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (buckets == MAP_FAILED)
        return -errno;
    ledger->string_buckets = buckets;
    ledger->method_buckets = ledger->string_buckets + LEDGER_STRING_BUCKETS;
    return 0;
}

/* Takes over the mapping and makes the buckets; on failure neither is left. */
static int finish_map(struct ledger *ledger, char *base, size_t bytes)
{
    int error;

    ledger->base = base;
    ledger->mapped_bytes = bytes;
    ledger->header = (struct ledger_header *)base;
    madvise(base, bytes, MADV_DONTDUMP);
    error = make_buckets(ledger);
    if (error)
        munmap(base, bytes);
    return error;
}

static int map(struct ledger *ledger, size_t bytes)
{
    char *base =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, ledger->fd, 0);

    return base == MAP_FAILED ? -errno : finish_map(ledger, base, bytes);
}

static void fill_header(struct ledger_header *header, uint64_t max_bytes)
{
    memcpy(header->magic, LEDGER_MAGIC, sizeof(header->magic));
    header->format_version = LEDGER_FORMAT_VERSION;
    header->byte_order = LEDGER_BYTE_ORDER;
    header->cell_bytes = LEDGER_CELL_BYTES;
    header->chunk_bytes = LEDGER_CHUNK_BYTES;
    header->state = LEDGER_LIVE;
    header->chunks_used = 1;
    header->max_bytes = max_bytes;
    header->pid = getpid();
    header->uid = getuid();
    header->profiling = 1;
    header->starts = 1;
}

static bool is_own(const struct ledger *ledger, int fd)
{
    struct stat file;

    return fd >= 0 && fstat(fd, &file) == 0 && (uint64_t)file.st_dev == ledger->device &&
           (uint64_t)file.st_ino == ledger->inode;
}

/* The lowest numbers may be those that the host counts on: the file gets no lower one than it had.
 */
static int open_again(const struct ledger *ledger, int had)
{
    int fd = standard_files__avoid(open(ledger->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    int moved = fd >= 0 && fd < had ? fcntl(fd, F_DUPFD_CLOEXEC, had) : -1;

    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

int ledger__file(struct ledger *ledger)
{
    int error = errno;
    int fd = __atomic_load_n(&ledger->fd, __ATOMIC_RELAXED);

    if (!is_own(ledger, fd)) {
        fd = ledger->path[0] ? open_again(ledger, fd) : -1;
        if (fd >= 0 && !is_own(ledger, fd)) {
            close(fd);
            fd = -1;
        }
        if (fd >= 0) {
            orphan_ledger__lock(fd);
            __atomic_store_n(&ledger->fd, fd, __ATOMIC_RELAXED);
        }
    }
    errno = error;
    return fd >= 0 ? fd : -EBADF;
}

static int note_file(struct ledger *ledger)
{
    struct stat file;

    if (fstat(ledger->fd, &file) != 0)
        return -errno;
    ledger->device = (uint64_t)file.st_dev;
    ledger->inode = (uint64_t)file.st_ino;
    return 0;
}

int ledger__create(struct ledger *ledger, const char *folder, uint64_t max_bytes)
{
    uint64_t chunks = max_bytes / LEDGER_CHUNK_BYTES;
    int error;

    memset(ledger, 0, sizeof(*ledger));
    ledger->fd = -1;
    if (chunks > UINT32_MAX / LEDGER_CHUNK_CELLS)
        chunks = UINT32_MAX / LEDGER_CHUNK_CELLS;
    if (chunks < CHUNKS_MIN)
        chunks = CHUNKS_MIN;
    if (folder) {
        error = open_named(ledger, folder);
        if (!error)
            orphan_ledger__lock(ledger->fd);
    } else {
        ledger->fd = standard_files__avoid(memfd_create("treadle", MFD_CLOEXEC));
        error = ledger->fd < 0 ? -errno : 0;
    }
    if (!error)
        error = note_file(ledger);
    if (error)
        goto fail_open;
    error = ledger_space__allocate(
        ledger->fd, 0, chunks < RESERVE_FIRST_CHUNKS ? (uint32_t)chunks : RESERVE_FIRST_CHUNKS);
    if (error)
        goto fail_open;
    error = map(ledger, chunks * LEDGER_CHUNK_BYTES);
    if (error)
        goto fail_open;
    ledger->chunks_reserved =
        chunks < RESERVE_FIRST_CHUNKS ? (uint32_t)chunks : RESERVE_FIRST_CHUNKS;
    fill_header(ledger->header, chunks * LEDGER_CHUNK_BYTES);
    return 0;

fail_open:
    ledger__unlink(ledger);
    if (ledger->fd >= 0)
        close(ledger->fd);
    ledger->fd = -1;
    return error;
}

int ledger__adopt(struct ledger *ledger, int fd, uint64_t bytes, uint64_t room_bytes)
{
    uint32_t chunks = (uint32_t)(bytes / LEDGER_CHUNK_BYTES);
    uint32_t chunks_with_room = chunks + (uint32_t)(room_bytes / LEDGER_CHUNK_BYTES);
    size_t mapped = (size_t)chunks_with_room * LEDGER_CHUNK_BYTES;
    char *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int error;

    memset(ledger, 0, sizeof(*ledger));
    ledger->fd = -1;
    if (base == MAP_FAILED)
        return -errno;
    if (mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0) ==
        MAP_FAILED) {
        error = -errno;
        munmap(base, mapped);
        return error;
    }
    error = finish_map(ledger, base, mapped);
    if (error)
        return error;
    ledger->touched = calloc(chunks_with_room, 1);
    if (!ledger->touched) {
        ledger__close(ledger);
        return -ENOMEM;
    }
    ledger->chunks_reserved = chunks_with_room;
    ledger->header->chunks_used = chunks;
    ledger->adopted_chunks = chunks;
    return 0;
}

static bool is_changed(const struct ledger *ledger, uint32_t chunk)
{
    return chunk == 0 || chunk >= ledger->adopted_chunks || ledger->touched[chunk] ||
           (ledger_space__chunk(ledger, chunk)->table != LEDGER_NODES &&
            ledger_space__chunk(ledger, chunk)->table != LEDGER_UNUSED);
}

static int write_chunks(const struct ledger *ledger, int fd, uint32_t chunk, uint32_t count)
{
    const char *bytes = (const char *)ledger_space__chunk(ledger, chunk);
    size_t left = (size_t)count * LEDGER_CHUNK_BYTES;
    off_t offset = (off_t)chunk * LEDGER_CHUNK_BYTES;

    while (left) {
        ssize_t wrote = pwrite(fd, bytes, left, offset);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -errno;
        bytes += wrote;
        offset += wrote;
        left -= (size_t)wrote;
    }
    return 0;
}

int ledger__write_back(const struct ledger *ledger, int fd)
{
    uint32_t chunk = 0;
    int error = 0;

    while (chunk < ledger->header->chunks_used && !error) {
        uint32_t run = chunk ? ledger_space__chunk(ledger, chunk)->run : 1;

        if (run == 0 || run > ledger->header->chunks_used - chunk)
            run = 1;
        if (is_changed(ledger, chunk))
            error = write_chunks(ledger, fd, chunk, run);
        chunk += run;
    }
    return error;
}

void ledger__close(struct ledger *ledger)
{
    int fd = ledger__file(ledger);

    munmap(ledger->base, ledger->mapped_bytes);
    munmap((void *)ledger->string_buckets,
           (LEDGER_STRING_BUCKETS + LEDGER_METHOD_BUCKETS) * sizeof(ledger_ref));
    free(ledger->touched);
    if (fd >= 0)
        close(fd);
    memset(ledger, 0, sizeof(*ledger));
    ledger->fd = -1;
}

int ledger__make_private(struct ledger *ledger)
{
    int fd = ledger__file(ledger);
    int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);

    ledger->path[0] = '\0';
    if (mmap(ledger->base, ledger->mapped_bytes, PROT_READ | PROT_WRITE, flags, fd < 0 ? -1 : fd,
             0) == MAP_FAILED)
        return -errno;
    return 0;
}

/* Removes only the file that was made: another file may have the name by now. */
void ledger__unlink(struct ledger *ledger)
{
    struct stat named;

    if (!ledger->path[0] || !ledger->inode)
        return;
    if (lstat(ledger->path, &named) == 0 && (uint64_t)named.st_ino == ledger->inode &&
        (uint64_t)named.st_dev == ledger->device)
        unlink(ledger->path);
}
