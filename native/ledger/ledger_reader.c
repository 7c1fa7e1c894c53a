#include "native/ledger/ledger_reader.h"

#include "native/ledger/ledger_file.h"
#include "native/ledger/ledger_gate.h"
#include "native/ledger/unfinished_moves.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A live ledger may have grown while it was copied; how often to go back for the rest. */
#define GROWTH_ROUNDS 8

struct ledger_reader {
    char *bytes; /* the copy: whole chunks, what the file lacks is zero */
    uint32_t chunks;
    struct ledger_gate gate;
    enum ledger_life life;
    uint64_t present_bytes; /* in the file, of the bytes that the header says are in use */
    uint64_t missing_bytes; /* not in the file, of the same bytes */
};

/* Zero behind the bytes that there are. calloc need not write what the kernel gives as zero. */
static char *grown_to(char *bytes, uint64_t old, uint64_t size)
{
    char *grown = bytes ? realloc(bytes, size) : calloc(1, size);

    if (grown && bytes)
        memset(grown + old, 0, size - old);
    return grown;
}

/* Makes room for `chunks` chunks; what is new is zero. */
static int make_room(struct ledger_reader *reader, uint32_t chunks,
                     const struct ledger_complaint *to)
{
    uint64_t bytes = (uint64_t)chunks * LEDGER_CHUNK_BYTES;
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t old = (uint64_t)reader->chunks * LEDGER_CHUNK_BYTES;
    char *grown = bytes < memory ? grown_to(reader->bytes, old, bytes) : NULL;

    if (!grown)
        return ledger_complaint__say(to, "too large for this machine's memory: %" PRIu64 " bytes",
                                     bytes);
    reader->bytes = grown;
    reader->chunks = chunks;
    return 0;
}

/* Copies chunks from `first` on, up to `wanted`, as far as the file has them. */
static int copy_chunks(struct ledger_reader *reader, int fd, uint32_t first, uint32_t wanted,
                       const struct ledger_complaint *to)
{
    struct ledger_extent extent;
    uint64_t cut_bytes = 0;

    if (ledger_file__measure(fd, wanted, &extent, to))
        return -1;
    if (extent.chunks > first) {
        if (make_room(reader, extent.chunks, to))
            return -1;
        uint64_t offset = (uint64_t)first * LEDGER_CHUNK_BYTES;
        uint64_t bytes = (uint64_t)extent.chunks * LEDGER_CHUNK_BYTES - offset;
        ssize_t copied = ledger_file__read_at(fd, reader->bytes + offset, bytes, offset);
        if (copied < 0)
            return ledger_complaint__say(to, "byte %" PRIu64 ": cannot be read: %s", offset,
                                         strerror(errno));
        /* The file has become shorter since; it need not end with a whole chunk. */
        if (offset + (uint64_t)copied < extent.present_bytes)
            cut_bytes = extent.present_bytes - offset - (uint64_t)copied;
    }
    reader->present_bytes = extent.present_bytes - cut_bytes;
    reader->missing_bytes = extent.missing_bytes + cut_bytes;
    return 0;
}

static int copy_file(struct ledger_reader *reader, int fd, const struct ledger_complaint *to)
{
    struct ledger_header header;

    if (ledger_file__read_header(fd, &header, to) ||
        copy_chunks(reader, fd, 0, header.chunks_used, to))
        return -1;
    if (reader->chunks == 0)
        return ledger_complaint__say(to, "byte 0: the file was emptied while it was read");
    for (int round = 0; header.state == LEDGER_LIVE && round < GROWTH_ROUNDS; round++) {
        struct ledger_header later;

        if (ledger_file__read_at(fd, &later, sizeof(later), 0) != (ssize_t)sizeof(later) ||
            later.chunks_used <= header.chunks_used || ledger_file__check_sizes(&later, to))
            break;
        if (copy_chunks(reader, fd, reader->chunks, later.chunks_used, to))
            return -1;
        header.chunks_used = later.chunks_used;
    }
    /* The writer may have changed the file since the check. */
    memcpy(reader->bytes, &header, offsetof(struct ledger_header, max_bytes));
    return 0;
}

struct ledger_reader *ledger_reader__open_fd(int fd, const char *path, char *message,
                                             size_t message_bytes)
{
    struct ledger_complaint to = {path, message, message_bytes};
    struct ledger_reader *reader = calloc(1, sizeof(*reader));

    if (!reader) {
        ledger_complaint__say(&to, "%s", strerror(ENOMEM));
        return NULL;
    }
    if (copy_file(reader, fd, &to))
        goto fail;
    if (reader->missing_bytes)
        ledger_gate__drop(&reader->gate,
                          "byte %" PRIu64 ": the file ends, expected %" PRIu64 " bytes",
                          reader->present_bytes, reader->present_bytes + reader->missing_bytes);
    if (ledger_gate__open(&reader->gate, reader->bytes, reader->chunks) != 0) {
        ledger_complaint__say(&to, "%s", strerror(ENOMEM));
        goto fail;
    }
    (void)unfinished_moves__finish(&reader->gate);
    reader->life = ledger_header__life(ledger_reader__header(reader));
    return reader;
fail:
    ledger_reader__close(reader);
    return NULL;
}

struct ledger_reader *ledger_reader__open(const char *path, char *message, size_t message_bytes)
{
    struct ledger_complaint to = {path, message, message_bytes};
    int fd = ledger_file__open(path, &to);

    if (fd < 0)
        return NULL;
    struct ledger_reader *reader = ledger_reader__open_fd(fd, path, message, message_bytes);
    close(fd);
    return reader;
}

void ledger_reader__close(struct ledger_reader *reader)
{
    if (!reader)
        return;
    ledger_gate__close(&reader->gate);
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
    return reader->gate.dropped + ledger_reader__header(reader)->senseless_records;
}

const char *ledger_reader__skipped_where(const struct ledger_reader *reader)
{
    if (!reader->gate.dropped && ledger_reader__header(reader)->senseless_records)
        return "when the snapshot was made";
    return reader->gate.where;
}

static const void *record(const struct ledger_reader *reader, ledger_ref ref,
                          enum ledger_table table)
{
    return ledger_gate__record(&reader->gate, ref, table);
}

const char *ledger_reader__string(const struct ledger_reader *reader, ledger_ref ref,
                                  size_t *length)
{
    const struct ledger_string *string = ledger_gate__string(&reader->gate, ref);

    if (!string)
        return NULL;
    *length = string->length;
    return ledger_string__bytes(string);
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

const struct ledger_block *ledger_reader__block(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_BLOCKS);
}

const struct ledger_latency *ledger_reader__latency(const struct ledger_reader *reader,
                                                    ledger_ref ref)
{
    return record(reader, ref, LEDGER_LATENCIES);
}

const struct ledger_stuck *ledger_reader__stuck(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_STUCK);
}

const struct ledger_order *ledger_reader__order(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_ORDERS);
}

const struct ledger_part *ledger_reader__part(const struct ledger_reader *reader, ledger_ref ref)
{
    return record(reader, ref, LEDGER_PARTS);
}

const struct ledger_rename *ledger_reader__rename(const struct ledger_reader *reader,
                                                  ledger_ref ref)
{
    return record(reader, ref, LEDGER_RENAMES);
}

ledger_ref ledger_reader__refs(const struct ledger_reader *reader)
{
    return reader->chunks * LEDGER_CHUNK_CELLS;
}

ledger_ref ledger_reader__next(const struct ledger_reader *reader, enum ledger_table table,
                               ledger_ref previous)
{
    return ledger_gate__next(&reader->gate, table, previous);
}

/* While profiling is stopped, what was counted is known; and so it is of a merged process. */
static bool has_all_counts(const struct ledger_header *header, const struct ledger_hooking *record)
{
    return header->counts_at_ns == LEDGER_COUNTS_WHOLE || record->excluded_at || record->end_ns;
}

struct ledger_hooking ledger_reader__known_hooking(const struct ledger_reader *reader,
                                                   const struct ledger_hooking *record)
{
    const struct ledger_header *header = ledger_reader__header(reader);
    struct ledger_hooking known = *record;

    if (has_all_counts(header, record))
        return known;
    known.counts = 0;
    if (record->since_ns >= header->counts_at_ns)
        known.counted_ns = 0;
    return known;
}

uint64_t ledger_header__profiled_life_ns(const struct ledger_header *header, uint64_t start_ns,
                                         uint64_t end_ns, uint64_t asof_ns)
{
    bool stopped = ledger_header__is_stopped(header);
    bool after_pauses = !stopped && start_ns >= header->since_ns;
    uint64_t pauses_ns = after_pauses ? 0 : header->unprofiled_wall_ns;
    uint64_t life_ns;

    if (!end_ns || (stopped && end_ns > asof_ns))
        end_ns = asof_ns;
    life_ns = end_ns > start_ns ? end_ns - start_ns : 0;
    return life_ns > pauses_ns ? life_ns - pauses_ns : 0;
}
