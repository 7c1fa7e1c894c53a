#include "native/ledger/ledger_gate.h"

#include "native/ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LEDGER_CHUNK_CELLS == 64, "a word has a bit for each cell of a chunk");

/* A file of no more bytes is never too sparse. */
#define SMALL_BYTES (UINT64_C(1) << 20)

void ledger_gate__drop(struct ledger_gate *gate, const char *format, ...)
{
    va_list arguments;

    if (gate->dropped++ > 0)
        return;
    va_start(arguments, format);
    vsnprintf(gate->where, sizeof(gate->where), format, arguments);
    va_end(arguments);
}

static struct ledger_chunk *chunk_at(const struct ledger_gate *gate, uint32_t chunk)
{
    return (struct ledger_chunk *)(void *)(gate->base + (size_t)chunk * LEDGER_CHUNK_BYTES);
}

/* True for a chunk that was taken, but whose head was not filled in yet when it was copied. */
static bool is_unfilled(const struct ledger_chunk *head)
{
    static const uint32_t none[sizeof(head->reserved) / sizeof(head->reserved[0])];

    return head->magic == 0 && head->table < LEDGER_TABLES &&
           memcmp(head->reserved, none, sizeof(none)) == 0;
}

/* Makes a chunk one of no table. Returns the number of its chunks. */
static uint32_t close_chunk(struct ledger_chunk *head)
{
    memset(head, 0, sizeof(*head));
    return 1;
}

bool ledger_chunk__is_head(const struct ledger_chunk *chunk)
{
    return chunk->magic == LEDGER_CHUNK_MAGIC && chunk->table < LEDGER_TABLES && chunk->run != 0;
}

void ledger_chunk__bound(struct ledger_chunk *head, uint32_t chunks_left)
{
    uint32_t most = head->table == LEDGER_STRINGS ? chunks_left : 1;

    if (head->run > most)
        head->run = most;
    most = head->run * LEDGER_CHUNK_CELLS;
    if (head->used_cells == 0 || head->used_cells > most)
        head->used_cells = most;
}

static void bound_run(struct ledger_gate *gate, struct ledger_chunk *head, uint32_t first)
{
    uint64_t byte = (uint64_t)first * LEDGER_CHUNK_BYTES;
    struct ledger_chunk was = *head;

    ledger_chunk__bound(head, gate->chunks - first);
    if (was.run != head->run)
        ledger_gate__drop(
            gate, "byte %" PRIu64 ": a run of %" PRIu32 " chunks, expected at most %" PRIu32, byte,
            was.run, head->run);
    else if (was.used_cells != head->used_cells)
        ledger_gate__drop(gate,
                          "byte %" PRIu64 ": %" PRIu32 " cells in use, expected 1 to %" PRIu32,
                          byte, was.used_cells, head->used_cells);
}

/* Checks the run that begins with a chunk. Returns how many chunks it takes. */
static uint32_t check_run(struct ledger_gate *gate, uint32_t first)
{
    struct ledger_chunk *head = chunk_at(gate, first);

    if (is_unfilled(head))
        return close_chunk(head);
    if (!ledger_chunk__is_head(head)) {
        ledger_gate__drop(gate, "byte %" PRIu64 ": expected the head of a chunk",
                          (uint64_t)first * LEDGER_CHUNK_BYTES);
        return close_chunk(head);
    }
    bound_run(gate, head, first);
    if (head->table == LEDGER_UNUSED)
        return close_chunk(head);
    for (uint32_t i = 0; i < head->run; i++)
        gate->run_of_chunk[first + i] = first;
    return head->run;
}

int ledger_gate__open(struct ledger_gate *gate, char *base, uint32_t chunks)
{
    gate->base = base;
    gate->chunks = chunks;
    gate->run_of_chunk = calloc((size_t)chunks + 1, sizeof(*gate->run_of_chunk));
    gate->begins_string = calloc((size_t)chunks + 1, sizeof(*gate->begins_string));
    gate->is_of_string = calloc((size_t)chunks + 1, sizeof(*gate->is_of_string));
    if (!gate->run_of_chunk || !gate->begins_string || !gate->is_of_string)
        return -ENOMEM;
    for (uint32_t chunk = 1; chunk < chunks;)
        chunk += check_run(gate, chunk);
    return 0;
}

void ledger_gate__close(struct ledger_gate *gate)
{
    free(gate->run_of_chunk);
    free(gate->begins_string);
    free(gate->is_of_string);
    gate->run_of_chunk = NULL;
    gate->begins_string = gate->is_of_string = NULL;
}

uint32_t ledger_gate__record_cells(enum ledger_table table)
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
        [LEDGER_BLOCKS] = sizeof(struct ledger_block),
        [LEDGER_LATENCIES] = sizeof(struct ledger_latency),
        [LEDGER_STUCK] = sizeof(struct ledger_stuck),
        [LEDGER_ORDERS] = sizeof(struct ledger_order),
        [LEDGER_PARTS] = sizeof(struct ledger_part),
    };

    return (uint32_t)(bytes[table] / LEDGER_CELL_BYTES);
}

/* Where the run that a chunk belongs to ends: the cell after the last one in use. */
static uint64_t run_end(const struct ledger_gate *gate, uint32_t run)
{
    return (uint64_t)run * LEDGER_CHUNK_CELLS + chunk_at(gate, run)->used_cells;
}

const void *ledger_gate__record(const struct ledger_gate *gate, ledger_ref ref,
                                enum ledger_table table)
{
    uint32_t chunk = ref / LEDGER_CHUNK_CELLS;
    uint32_t run = chunk < gate->chunks ? gate->run_of_chunk[chunk] : 0;
    uint32_t cells = ledger_gate__record_cells(table);
    uint32_t first = run * LEDGER_CHUNK_CELLS + 1;

    if (run == 0 || chunk_at(gate, run)->table != (uint32_t)table)
        return NULL;
    if (ref < first || (ref - first) % cells != 0 || (uint64_t)ref + cells > run_end(gate, run))
        return NULL;
    return gate->base + (size_t)ref * LEDGER_CELL_BYTES;
}

bool ledger_gate__may_be_late(const struct ledger_gate *gate, ledger_ref ref,
                              enum ledger_table table)
{
    uint32_t chunk = ref / LEDGER_CHUNK_CELLS;
    uint32_t run = chunk < gate->chunks ? gate->run_of_chunk[chunk] : 0;
    uint32_t first = run * LEDGER_CHUNK_CELLS + 1;

    if (run == 0)
        return true;
    return chunk_at(gate, run)->table == (uint32_t)table && ref >= first &&
           (ref - first) % ledger_gate__record_cells(table) == 0;
}

static bool has_bit(const uint64_t *bits, ledger_ref cell)
{
    return bits[cell / LEDGER_CHUNK_CELLS] >> cell % LEDGER_CHUNK_CELLS & 1;
}

static void set_bit(uint64_t *bits, ledger_ref cell)
{
    bits[cell / LEDGER_CHUNK_CELLS] |= UINT64_C(1) << cell % LEDGER_CHUNK_CELLS;
}

/* Gives a string its cells. False: another string has one of them. */
static bool take_cells(const struct ledger_gate *gate, ledger_ref ref, size_t length)
{
    uint32_t cells = ledger__string_cells(length);

    if (has_bit(gate->begins_string, ref))
        return true;
    for (uint32_t i = 0; i < cells; i++)
        if (has_bit(gate->is_of_string, ref + i))
            return false;
    for (uint32_t i = 0; i < cells; i++)
        set_bit(gate->is_of_string, ref + i);
    set_bit(gate->begins_string, ref);
    return true;
}

const struct ledger_string *ledger_gate__string(const struct ledger_gate *gate, ledger_ref ref)
{
    const struct ledger_string *string = ledger_gate__record(gate, ref, LEDGER_STRINGS);
    uint64_t room;

    if (!string)
        return NULL;
    room = (run_end(gate, gate->run_of_chunk[ref / LEDGER_CHUNK_CELLS]) - ref) * LEDGER_CELL_BYTES -
           offsetof(struct ledger_string, bytes);
    if (string->length > room || string->length > LEDGER_STRING_MAX)
        return NULL;
    return take_cells(gate, ref, string->length) ? string : NULL;
}

ledger_ref ledger_gate__next(const struct ledger_gate *gate, enum ledger_table table,
                             ledger_ref previous)
{
    uint32_t chunk = 1;

    if (table == LEDGER_UNUSED || table == LEDGER_STRINGS || table >= LEDGER_TABLES)
        return 0;
    if (ledger_gate__record(gate, previous, table)) {
        ledger_ref next = previous + ledger_gate__record_cells(table);

        if (ledger_gate__record(gate, next, table))
            return next;
        chunk = previous / LEDGER_CHUNK_CELLS + 1;
    } else if (previous != 0) {
        return 0;
    }
    while (chunk < gate->chunks) {
        uint32_t run = gate->run_of_chunk[chunk];
        ledger_ref first = chunk * LEDGER_CHUNK_CELLS + 1;

        if (run == chunk && ledger_gate__record(gate, first, table))
            return first;
        chunk += run == chunk ? chunk_at(gate, run)->run : 1;
    }
    return 0;
}

bool ledger_gate__is_too_sparse(const struct stat *file, uint64_t bytes)
{
    uint64_t occupied = (uint64_t)file->st_blocks * 512;

    return bytes > SMALL_BYTES && bytes / LEDGER_GATE_SPARSE > occupied;
}
