#include "native/ledger_reader.h"

#include "native/kernel_metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A live ledger may have grown while it was copied; how often to go back for the rest. */
#define GROWTH_ROUNDS 8

struct ledger_reader {
    char *bytes; /* the copy: whole chunks, what the file lacks is zero */
    uint32_t chunks;
    uint32_t *run_of_chunk; /* the first chunk of the run that a chunk belongs to; 0: none */
    enum ledger_life life;
    uint64_t present_bytes; /* of those that the header says are in use */
    uint64_t missing_bytes; /* of these */
    uint64_t skipped;
    char skipped_where[160];
};

struct complaint {
    const char *path;
    char *message;
    size_t bytes;
};

/* Always -1, so that a check can end with it. */
__attribute__((format(printf, 2, 3))) static int complain(const struct complaint *to,
                                                          const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(to->message, to->bytes, "%s: %s", to->path, what);
    return -1;
}

__attribute__((format(printf, 2, 3))) static void skip(struct ledger_reader *reader,
                                                       const char *format, ...)
{
    if (reader->skipped++ == 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(reader->skipped_where, sizeof(reader->skipped_where), format, arguments);
        va_end(arguments);
    }
}

/* Reads until `bytes` are there or the file ends. How many were read, or -1 (errno). */
static ssize_t read_at(int fd, void *to, size_t bytes, uint64_t offset)
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

static int check_file(const struct stat *file, const struct complaint *to)
{
    if (S_ISDIR(file->st_mode))
        return complain(to, "is a folder, expected a ledger file");
    if (!S_ISREG(file->st_mode))
        return complain(to, "is not a regular file, expected a ledger file");
    if (file->st_size == 0)
        return complain(to, "byte 0: the file is empty, expected a ledger");
    return 0;
}

static int check_sizes(const struct ledger_header *header, const struct complaint *to)
{
    if (header->cell_bytes != LEDGER_CELL_BYTES)
        return complain(to, "byte %zu: cells of %" PRIu32 " bytes, expected %u",
                        offsetof(struct ledger_header, cell_bytes), header->cell_bytes,
                        LEDGER_CELL_BYTES);
    if (header->chunk_bytes != LEDGER_CHUNK_BYTES)
        return complain(to, "byte %zu: chunks of %" PRIu32 " bytes, expected %u",
                        offsetof(struct ledger_header, chunk_bytes), header->chunk_bytes,
                        LEDGER_CHUNK_BYTES);
    if (header->state != LEDGER_LIVE && header->state != LEDGER_CLOSED)
        return complain(to, "byte %zu: state %" PRIu32 ", expected 1 (live) or 2 (closed)",
                        offsetof(struct ledger_header, state), header->state);
    if (header->chunks_used == 0 || header->chunks_used > UINT32_MAX / LEDGER_CHUNK_CELLS)
        return complain(to, "byte %zu: %" PRIu32 " chunks in use, expected 1 to %u",
                        offsetof(struct ledger_header, chunks_used), header->chunks_used,
                        UINT32_MAX / LEDGER_CHUNK_CELLS);
    return 0;
}

static int check_header(const struct ledger_header *header, size_t present,
                        const struct complaint *to)
{
    size_t magic = present < sizeof(header->magic) ? present : sizeof(header->magic);
    if (memcmp(header->magic, LEDGER_MAGIC, magic) != 0)
        return complain(to, "byte 0: not a ledger, expected it to begin with \"TREADLE\"");
    if (present < sizeof(*header))
        return complain(to, "byte %zu: the file ends inside the header, expected %zu bytes",
                        present, sizeof(*header));
    if (header->byte_order == __builtin_bswap32(LEDGER_BYTE_ORDER))
        return complain(to, "byte %zu: written by a machine of the other byte order",
                        offsetof(struct ledger_header, byte_order));
    if (header->byte_order != LEDGER_BYTE_ORDER)
        return complain(to, "byte %zu: byte order mark 0x%08" PRIx32 ", expected 0x%08x",
                        offsetof(struct ledger_header, byte_order), header->byte_order,
                        LEDGER_BYTE_ORDER);
    if (header->format_version != LEDGER_FORMAT_VERSION)
        return complain(to, "byte %zu: ledger format %" PRIu32 ", this treadle reads format %u",
                        offsetof(struct ledger_header, format_version), header->format_version,
                        LEDGER_FORMAT_VERSION);
    return check_sizes(header, to);
}

/* Makes room for `chunks` chunks; what is new is zero. */
static int make_room(struct ledger_reader *reader, uint32_t chunks, const struct complaint *to)
{
    uint64_t bytes = (uint64_t)chunks * LEDGER_CHUNK_BYTES;
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    char *grown = bytes < memory ? realloc(reader->bytes, bytes) : NULL;
    if (!grown)
        return complain(to, "too large for this machine's memory: %" PRIu64 " bytes", bytes);
    uint64_t old = (uint64_t)reader->chunks * LEDGER_CHUNK_BYTES;
    memset(grown + old, 0, bytes - old);
    reader->bytes = grown;
    reader->chunks = chunks;
    return 0;
}

/* Copies chunks from `first` on, as many as the file has of `wanted`. */
static int copy_chunks(struct ledger_reader *reader, int fd, uint32_t first, uint32_t wanted,
                       const struct complaint *to)
{
    struct stat file;
    if (fstat(fd, &file) != 0)
        return complain(to, "cannot be read: %s", strerror(errno));
    uint64_t file_chunks = ((uint64_t)file.st_size + LEDGER_CHUNK_BYTES - 1) / LEDGER_CHUNK_BYTES;
    uint32_t chunks = wanted < file_chunks ? wanted : (uint32_t)file_chunks;
    if (chunks > first) {
        if (make_room(reader, chunks, to))
            return -1;
        uint64_t offset = (uint64_t)first * LEDGER_CHUNK_BYTES;
        uint64_t bytes = (uint64_t)chunks * LEDGER_CHUNK_BYTES - offset;
        if (read_at(fd, reader->bytes + offset, bytes, offset) < 0)
            return complain(to, "byte %" PRIu64 ": cannot be read: %s", offset, strerror(errno));
    }
    uint64_t wanted_bytes = (uint64_t)wanted * LEDGER_CHUNK_BYTES;
    bool whole = wanted_bytes <= (uint64_t)file.st_size;
    reader->present_bytes = whole ? wanted_bytes : (uint64_t)file.st_size;
    reader->missing_bytes = wanted_bytes - reader->present_bytes;
    if (!whole)
        skip(reader, "byte %jd: the file ends, expected %" PRIu64 " bytes", (intmax_t)file.st_size,
             wanted_bytes);
    return 0;
}

static int copy_file(struct ledger_reader *reader, int fd, const struct complaint *to)
{
    struct ledger_header header = {0};
    ssize_t got = read_at(fd, &header, sizeof(header), 0);
    if (got < 0)
        return complain(to, "byte 0: cannot be read: %s", strerror(errno));
    if (check_header(&header, (size_t)got, to) ||
        copy_chunks(reader, fd, 0, header.chunks_used, to))
        return -1;
    if (reader->chunks == 0)
        return complain(to, "byte 0: the file was emptied while it was read");
    for (int round = 0; header.state == LEDGER_LIVE && round < GROWTH_ROUNDS; round++) {
        struct ledger_header later;
        if (read_at(fd, &later, sizeof(later), 0) != (ssize_t)sizeof(later) ||
            later.chunks_used <= header.chunks_used || check_sizes(&later, to))
            break;
        if (copy_chunks(reader, fd, reader->chunks, later.chunks_used, to))
            return -1;
        header.chunks_used = later.chunks_used;
    }
    return 0;
}

static struct ledger_chunk *chunk_at(const struct ledger_reader *reader, uint32_t chunk)
{
    return (struct ledger_chunk *)(void *)(reader->bytes + (size_t)chunk * LEDGER_CHUNK_BYTES);
}

static bool is_blank(const struct ledger_chunk *chunk)
{
    static const struct ledger_chunk blank;
    return memcmp(chunk, &blank, sizeof(blank)) == 0;
}

/* Brings a run's head into bounds, so that what is in the copy can be believed from here on. How
 * many chunks it takes. */
static uint32_t check_run(struct ledger_reader *reader, uint32_t first)
{
    struct ledger_chunk *head = chunk_at(reader, first);
    uint64_t byte = (uint64_t)first * LEDGER_CHUNK_BYTES;
    if (is_blank(head))
        return 1;
    if (head->magic != LEDGER_CHUNK_MAGIC || head->table >= LEDGER_TABLES || head->run == 0) {
        skip(reader, "byte %" PRIu64 ": expected the head of a chunk", byte);
        return 1;
    }
    if (head->run > reader->chunks - first) {
        skip(reader, "byte %" PRIu64 ": a run of %" PRIu32 " chunks, expected at most %" PRIu32,
             byte, head->run, reader->chunks - first);
        head->run = reader->chunks - first;
    }
    if (head->used_cells == 0 || head->used_cells > head->run * LEDGER_CHUNK_CELLS) {
        skip(reader, "byte %" PRIu64 ": %" PRIu32 " cells in use, expected 1 to %" PRIu32, byte,
             head->used_cells, head->run * LEDGER_CHUNK_CELLS);
        head->used_cells = head->run * LEDGER_CHUNK_CELLS;
    }
    if (head->table != LEDGER_UNUSED)
        for (uint32_t i = 0; i < head->run; i++)
            reader->run_of_chunk[first + i] = first;
    return head->run;
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

struct ledger_reader *ledger_reader__open_fd(int fd, const char *path, char *message,
                                             size_t message_bytes)
{
    struct complaint to = {path, message, message_bytes};
    struct ledger_reader *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        complain(&to, "%s", strerror(ENOMEM));
        return NULL;
    }
    struct stat file;
    if (fstat(fd, &file) != 0) {
        complain(&to, "cannot be read: %s", strerror(errno));
        goto fail;
    }
    if (check_file(&file, &to) || copy_file(reader, fd, &to))
        goto fail;
    reader->run_of_chunk = calloc((size_t)reader->chunks + 1, sizeof(*reader->run_of_chunk));
    if (!reader->run_of_chunk) {
        complain(&to, "%s", strerror(ENOMEM));
        goto fail;
    }
    for (uint32_t chunk = 1; chunk < reader->chunks;)
        chunk += check_run(reader, chunk);
    reader->life = ledger_header__life(ledger_reader__header(reader));
    return reader;
fail:
    ledger_reader__close(reader);
    return NULL;
}

struct ledger_reader *ledger_reader__open(const char *path, char *message, size_t message_bytes)
{
    /* O_NONBLOCK: a FIFO of that name must not hang us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        struct complaint to = {path, message, message_bytes};
        complain(&to, "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    struct ledger_reader *reader = ledger_reader__open_fd(fd, path, message, message_bytes);
    close(fd);
    return reader;
}

void ledger_reader__close(struct ledger_reader *reader)
{
    if (!reader)
        return;
    free(reader->run_of_chunk);
    free(reader->bytes);
    free(reader);
}

const struct ledger_header *ledger_reader__header(const struct ledger_reader *reader)
{
    return (const struct ledger_header *)(const void *)reader->bytes;
}

enum ledger_life ledger_reader__life(const struct ledger_reader *reader)
{
    return reader->life;
}

uint64_t ledger_reader__present_bytes(const struct ledger_reader *reader)
{
    return reader->present_bytes;
}

uint64_t ledger_reader__missing_bytes(const struct ledger_reader *reader)
{
    return reader->missing_bytes + ledger_reader__header(reader)->missing_bytes;
}

uint64_t ledger_reader__skipped(const struct ledger_reader *reader)
{
    return reader->skipped;
}

const char *ledger_reader__skipped_where(const struct ledger_reader *reader)
{
    return reader->skipped_where;
}

/* Cells of one record of a table; strings have no fixed size, and at least one. */
static uint32_t record_cells(enum ledger_table table)
{
    static const size_t bytes[LEDGER_TABLES] = {
        [LEDGER_STRINGS] = sizeof(struct ledger_string),
        [LEDGER_METHODS] = sizeof(struct ledger_method),
        [LEDGER_THREADS] = sizeof(struct ledger_thread),
        [LEDGER_KERNEL_THREADS] = sizeof(struct ledger_kernel_thread),
        [LEDGER_NODES] = sizeof(struct ledger_node),
        [LEDGER_SIDES] = sizeof(struct ledger_side),
        [LEDGER_RENAMES] = sizeof(struct ledger_rename),
        [LEDGER_UNPROFILED] = sizeof(struct ledger_unprofiled),
        [LEDGER_IMAGES] = sizeof(struct ledger_image),
        [LEDGER_CODE] = sizeof(struct ledger_code),
        [LEDGER_PLACES] = sizeof(struct ledger_place),
        [LEDGER_HOOKINGS] = sizeof(struct ledger_hooking),
        [LEDGER_TALLIES] = sizeof(struct ledger_tally),
        [LEDGER_CLASSES] = sizeof(struct ledger_class),
        [LEDGER_NOTES] = sizeof(struct ledger_note),
    };
    return (uint32_t)(bytes[table] / LEDGER_CELL_BYTES);
}

/* Where the run that a chunk belongs to ends: the cell after the last one in use. */
static uint64_t run_end(const struct ledger_reader *reader, uint32_t run)
{
    return (uint64_t)run * LEDGER_CHUNK_CELLS + chunk_at(reader, run)->used_cells;
}

static const void *record(const struct ledger_reader *reader, ledger_ref ref,
                          enum ledger_table table)
{
    uint32_t chunk = ref / LEDGER_CHUNK_CELLS;
    if (chunk >= reader->chunks)
        return NULL;
    uint32_t run = reader->run_of_chunk[chunk];
    if (run == 0 || chunk_at(reader, run)->table != (uint32_t)table)
        return NULL;
    uint32_t cells = record_cells(table);
    uint32_t first = run * LEDGER_CHUNK_CELLS + 1;
    if (ref < first || (ref - first) % cells != 0 || (uint64_t)ref + cells > run_end(reader, run))
        return NULL;
    return reader->bytes + (size_t)ref * LEDGER_CELL_BYTES;
}

const char *ledger_reader__string(const struct ledger_reader *reader, ledger_ref ref,
                                  size_t *length)
{
    const struct ledger_string *string = record(reader, ref, LEDGER_STRINGS);
    if (!string)
        return NULL;
    uint32_t run = reader->run_of_chunk[ref / LEDGER_CHUNK_CELLS];
    uint64_t room =
        (run_end(reader, run) - ref) * LEDGER_CELL_BYTES - offsetof(struct ledger_string, bytes);
    if (string->length > room)
        return NULL;
    *length = string->length;
    return (const char *)string + offsetof(struct ledger_string, bytes);
}

const struct ledger_method *ledger_reader__method(const struct ledger_reader *reader,
                                                  ledger_ref ref)
{
    return record(reader, ref, LEDGER_METHODS);
}

const struct ledger_thread *ledger_reader__thread(const struct ledger_reader *reader,
                                                  ledger_ref ref)
{
    return record(reader, ref, LEDGER_THREADS);
}

const struct ledger_node *ledger_reader__node(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_NODES);
}

const struct ledger_side *ledger_reader__side(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_SIDES);
}

const struct ledger_kernel_thread *ledger_reader__kernel_thread(const struct ledger_reader *reader,
                                                                ledger_ref ref)
{
    return record(reader, ref, LEDGER_KERNEL_THREADS);
}

const struct ledger_image *ledger_reader__image(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_IMAGES);
}

const struct ledger_code *ledger_reader__code(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_CODE);
}

const struct ledger_class *ledger_reader__class(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_CLASSES);
}

const struct ledger_hooking *ledger_reader__hooking(const struct ledger_reader *reader,
                                                    ledger_ref ref)
{
    return record(reader, ref, LEDGER_HOOKINGS);
}

const struct ledger_place *ledger_reader__place(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_PLACES);
}

const struct ledger_tally *ledger_reader__tally(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_TALLIES);
}

const struct ledger_rename *ledger_reader__rename(const struct ledger_reader *reader,
                                                  ledger_ref ref)
{
    return record(reader, ref, LEDGER_RENAMES);
}

ledger_ref ledger_reader__next(const struct ledger_reader *reader, enum ledger_table table,
                               ledger_ref previous)
{
    if (table == LEDGER_UNUSED || table == LEDGER_STRINGS || table >= LEDGER_TABLES)
        return 0;
    uint32_t chunk = 1;
    if (record(reader, previous, table)) {
        ledger_ref next = previous + record_cells(table);
        if (record(reader, next, table))
            return next;
        uint32_t run = reader->run_of_chunk[previous / LEDGER_CHUNK_CELLS];
        chunk = run + chunk_at(reader, run)->run;
    } else if (previous != 0) {
        return 0;
    }
    while (chunk < reader->chunks) {
        uint32_t run = reader->run_of_chunk[chunk];
        ledger_ref first = chunk * LEDGER_CHUNK_CELLS + 1;
        if (run == chunk && record(reader, first, table))
            return first;
        chunk += run == chunk ? chunk_at(reader, run)->run : 1;
    }
    return 0;
}
