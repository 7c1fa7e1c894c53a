#include "native/ledger/ledger_file.h"

#include "native/ledger/ledger_gate.h"
#include "native/proc/process_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ledger_complaint__say(const struct ledger_complaint *to, const char *format, ...)
{
    char what[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(to->message, to->bytes, "%s: %s", to->path, what);
    return -1;
}

ssize_t ledger_file__read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t got = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static int check_file(const struct stat *file, const struct ledger_complaint *to)
{
    if (S_ISDIR(file->st_mode))
        return ledger_complaint__say(to, "is a folder, expected a ledger file");
    if (!S_ISREG(file->st_mode))
        return ledger_complaint__say(to, "is not a regular file, expected a ledger file");
    if (file->st_size == 0)
        return ledger_complaint__say(to, "byte 0: the file is empty, expected a ledger");
    return 0;
}

int ledger_file__check_sizes(const struct ledger_header *header, const struct ledger_complaint *to)
{
    if (header->cell_bytes != LEDGER_CELL_BYTES)
        return ledger_complaint__say(to, "byte %zu: cells of %" PRIu32 " bytes, expected %u",
                                     offsetof(struct ledger_header, cell_bytes), header->cell_bytes,
                                     LEDGER_CELL_BYTES);
    if (header->chunk_bytes != LEDGER_CHUNK_BYTES)
        return ledger_complaint__say(to, "byte %zu: chunks of %" PRIu32 " bytes, expected %u",
                                     offsetof(struct ledger_header, chunk_bytes),
                                     header->chunk_bytes, LEDGER_CHUNK_BYTES);
    if (header->state != LEDGER_LIVE && header->state != LEDGER_CLOSED)
        return ledger_complaint__say(to,
                                     "byte %zu: state %" PRIu32 ", expected 1 (live) or 2 (closed)",
                                     offsetof(struct ledger_header, state), header->state);
    if (header->chunks_used == 0 || header->chunks_used > UINT32_MAX / LEDGER_CHUNK_CELLS)
        return ledger_complaint__say(to, "byte %zu: %" PRIu32 " chunks in use, expected 1 to %u",
                                     offsetof(struct ledger_header, chunks_used),
                                     header->chunks_used, UINT32_MAX / LEDGER_CHUNK_CELLS);
    return 0;
}

static int check_header(const struct ledger_header *header, size_t present,
                        const struct ledger_complaint *to)
{
    size_t magic = present < sizeof(header->magic) ? present : sizeof(header->magic);

    if (memcmp(header->magic, LEDGER_MAGIC, magic) != 0)
        return ledger_complaint__say(to,
                                     "byte 0: not a ledger, expected it to begin with \"TREADLE\"");
    if (present < sizeof(*header))
        return ledger_complaint__say(
            to, "byte %zu: the file ends inside the header, expected %zu bytes", present,
            sizeof(*header));
    if (header->byte_order == __builtin_bswap32(LEDGER_BYTE_ORDER))
        return ledger_complaint__say(to, "byte %zu: written by a machine of the other byte order",
                                     offsetof(struct ledger_header, byte_order));
    if (header->byte_order != LEDGER_BYTE_ORDER)
        return ledger_complaint__say(
            to, "byte %zu: byte order mark 0x%08" PRIx32 ", expected 0x%08x",
            offsetof(struct ledger_header, byte_order), header->byte_order, LEDGER_BYTE_ORDER);
    if (header->format_version != LEDGER_FORMAT_VERSION)
        return ledger_complaint__say(
            to, "byte %zu: ledger format %" PRIu32 ", this treadle reads format %u",
            offsetof(struct ledger_header, format_version), header->format_version,
            LEDGER_FORMAT_VERSION);
    return ledger_file__check_sizes(header, to);
}

static int check_open(int fd, const struct ledger_complaint *to)
{
    struct stat file;

    if (fstat(fd, &file) != 0)
        return ledger_complaint__say(to, "cannot be read: %s", strerror(errno));
    return check_file(&file, to);
}

/* As the kernel has it in folders that anybody may write to (protected_symlinks): a link that
 * another user made, root excepted, leads to that user's files only. */
static int check_link(const char *path, const struct stat *file, const struct ledger_complaint *to)
{
    struct stat link;

    if (lstat(path, &link) != 0 || !S_ISLNK(link.st_mode) || link.st_uid == geteuid() ||
        link.st_uid == 0 || link.st_uid == file->st_uid)
        return 0;
    return ledger_complaint__say(to,
                                 "is a link that user %u made to a file of user %u, expected a "
                                 "ledger file",
                                 (unsigned)link.st_uid, (unsigned)file->st_uid);
}

int ledger_file__open(const char *path, const struct ledger_complaint *to)
{
    struct stat file;

    /* Looked at before it is opened, since opening a device may have effects, and again after,
     * since a FIFO may stand in its place by then. */
    if (stat(path, &file) != 0)
        return ledger_complaint__say(to, "cannot be opened: %s", strerror(errno));
    if (check_file(&file, to) || check_link(path, &file, to))
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return ledger_complaint__say(to, "cannot be opened: %s", strerror(errno));
    if (check_open(fd, to)) {
        close(fd);
        return -1;
    }
    return fd;
}

int ledger_file__read_header(int fd, struct ledger_header *header,
                             const struct ledger_complaint *to)
{
    *header = (struct ledger_header){0};
    if (check_open(fd, to))
        return -1;
    ssize_t got = ledger_file__read_at(fd, header, sizeof(*header), 0);
    if (got < 0)
        return ledger_complaint__say(to, "byte 0: cannot be read: %s", strerror(errno));
    return check_header(header, (size_t)got, to);
}

int ledger_file__measure(int fd, uint32_t wanted, struct ledger_extent *extent,
                         const struct ledger_complaint *to)
{
    struct stat file;

    if (fstat(fd, &file) != 0)
        return ledger_complaint__say(to, "cannot be read: %s", strerror(errno));
    uint64_t wanted_bytes = (uint64_t)wanted * LEDGER_CHUNK_BYTES;
    bool whole = wanted_bytes <= (uint64_t)file.st_size;
    extent->present_bytes = whole ? wanted_bytes : (uint64_t)file.st_size;
    extent->missing_bytes = wanted_bytes - extent->present_bytes;
    extent->chunks =
        (uint32_t)((extent->present_bytes + LEDGER_CHUNK_BYTES - 1) / LEDGER_CHUNK_BYTES);
    if (ledger_gate__is_too_sparse(&file, extent->present_bytes))
        return ledger_complaint__say(to, "%" PRIu64 " bytes in use, in a file that takes %" PRIu64,
                                     extent->present_bytes, (uint64_t)file.st_blocks * 512);
    return 0;
}

/* A zombie still has a start time; its memory, and so the link to its program, is gone. */
static bool is_zombie(pid_t pid)
{
    char link[64];
    char target[8];

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    return readlink(link, target, sizeof(target)) < 0 && errno == ENOENT;
}

static bool same_boot(const struct ledger_header *header)
{
    char id[sizeof(header->boot_id)] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return true;
    ssize_t got = read(fd, id, sizeof(id) - 1);
    close(fd);
    id[got < 0 ? 0 : got] = '\0';
    id[strcspn(id, "\n")] = '\0';
    return strncmp(id, header->boot_id, sizeof(header->boot_id)) == 0;
}

enum ledger_life ledger_header__life(const struct ledger_header *header)
{
    if (header->state == LEDGER_CLOSED)
        return LEDGER_IS_CLOSED;
    uint64_t ticks;
    if (header->pid <= 0 || !same_boot(header) || process_start__read(header->pid, &ticks) != 0)
        return LEDGER_IS_ORPHAN;
    return ticks == header->start_ticks && !is_zombie(header->pid) ? LEDGER_IS_LIVE
                                                                   : LEDGER_IS_ORPHAN;
}
