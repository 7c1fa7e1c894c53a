#include "native/ledger/ledger_space.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#define RESERVE_STEP_CHUNKS 256u /* 1 MiB */
#define ALLOCATE_ATTEMPTS   1000 /* a profiler's signals may interrupt again and again */
#define RECORDS_PER_CHUNK   (LEDGER_CHUNK_CELLS - 1u)

static const uint32_t record_cells[LEDGER_TABLES] = {
    [LEDGER_METHODS] = sizeof(struct ledger_method) / LEDGER_CELL_BYTES,
    [LEDGER_THREADS] = sizeof(struct ledger_thread) / LEDGER_CELL_BYTES,
    [LEDGER_KERNEL_THREADS] = sizeof(struct ledger_kernel_thread) / LEDGER_CELL_BYTES,
    [LEDGER_NODES] = sizeof(struct ledger_node) / LEDGER_CELL_BYTES,
    [LEDGER_SIDES] = sizeof(struct ledger_side) / LEDGER_CELL_BYTES,
    [LEDGER_RENAMES] = sizeof(struct ledger_rename) / LEDGER_CELL_BYTES,
    [LEDGER_UNPROFILED] = sizeof(struct ledger_unprofiled) / LEDGER_CELL_BYTES,
    [LEDGER_IMAGES] = sizeof(struct ledger_image) / LEDGER_CELL_BYTES,
    [LEDGER_CODE] = sizeof(struct ledger_code) / LEDGER_CELL_BYTES,
    [LEDGER_PLACES] = sizeof(struct ledger_place) / LEDGER_CELL_BYTES,
    [LEDGER_HOOKINGS] = sizeof(struct ledger_hooking) / LEDGER_CELL_BYTES,
    [LEDGER_TALLIES] = sizeof(struct ledger_tally) / LEDGER_CELL_BYTES,
    [LEDGER_CLASSES] = sizeof(struct ledger_class) / LEDGER_CELL_BYTES,
    [LEDGER_NOTES] = sizeof(struct ledger_note) / LEDGER_CELL_BYTES,
    [LEDGER_BLOCKS] = sizeof(struct ledger_block) / LEDGER_CELL_BYTES,
    [LEDGER_LATENCIES] = sizeof(struct ledger_latency) / LEDGER_CELL_BYTES,
    [LEDGER_STUCK] = sizeof(struct ledger_stuck) / LEDGER_CELL_BYTES,
    [LEDGER_ORDERS] = sizeof(struct ledger_order) / LEDGER_CELL_BYTES,
    [LEDGER_PARTS] = sizeof(struct ledger_part) / LEDGER_CELL_BYTES,
};

/* True if so many more bytes leave a part of the file system free: others use it, too. */
static bool leaves_room(int fd, uint64_t bytes)
{
    struct statvfs space;

    if (fstatvfs(fd, &space) != 0 || space.f_blocks == 0)
        return true;
    return space.f_bavail * space.f_frsize >=
           bytes + space.f_blocks * space.f_frsize / LEDGER_FREE_PART;
}

/* Beyond the limit the kernel sends SIGXFSZ, which ends a program that does not expect it. */
bool ledger_space__is_allowed(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

int ledger_space__allocate(int fd, uint32_t from, uint32_t to)
{
    off_t offset = (off_t)from * LEDGER_CHUNK_BYTES;
    off_t bytes = (off_t)(to - from) * LEDGER_CHUNK_BYTES;

    if (!ledger_space__is_allowed((uint64_t)(offset + bytes)))
        return -EFBIG;
    if (!leaves_room(fd, (uint64_t)bytes))
        return -ENOSPC;

    for (int attempt = 0; attempt < ALLOCATE_ATTEMPTS; attempt++) {
        if (fallocate(fd, 0, offset, bytes) == 0)
            return 0;
        if (errno == EOPNOTSUPP)
            return -posix_fallocate(fd, offset, bytes);
        if (errno != EINTR)
            break;
    }
    return -errno;
}

static void raise_to(_Atomic uint32_t *value, uint32_t to)
{
    uint32_t seen = atomic_load_explicit(value, memory_order_relaxed);

    while (seen < to && !atomic_compare_exchange_weak(value, &seen, to))
        ;
}

/* Threads may reserve the same range at the same time: fallocate of what is there already is a
 * no-op, so no lock is needed. */
static int reserve_up_to(struct ledger *ledger, uint32_t chunks)
{
    uint32_t reserved = atomic_load(&ledger->chunks_reserved);
    uint32_t generous = reserved + RESERVE_STEP_CHUNKS;
    int error, fd;

    if (chunks > ledger_space__chunks_max(ledger))
        return -ENOMEM;
    if (chunks <= reserved)
        return 0;
    if (generous > ledger_space__chunks_max(ledger))
        generous = ledger_space__chunks_max(ledger);
    fd = ledger__file(ledger);
    if (fd < 0)
        return fd;
    if (generous > chunks && ledger_space__allocate(fd, reserved, generous) == 0) {
        raise_to(&ledger->chunks_reserved, generous);
        return 0;
    }
    error = ledger_space__allocate(fd, reserved, chunks);
    if (error == 0)
        raise_to(&ledger->chunks_reserved, chunks);
    return error;
}

/* A single chunk may fit where a long run does not. So only a single chunk says that the ledger is
 * full. */
static void note_full(struct ledger *ledger, int error, uint32_t run)
{
    __atomic_store_n(&ledger->header->full_error, -error, __ATOMIC_RELAXED);
    if (run == 1)
        atomic_store(&ledger->full, true);
}

int ledger__reserve_ahead(struct ledger *ledger, uint64_t bytes)
{
    uint32_t used = __atomic_load_n(&ledger->header->chunks_used, __ATOMIC_RELAXED);
    uint64_t wanted = used + bytes / LEDGER_CHUNK_BYTES;
    int error;

    if (wanted > ledger_space__chunks_max(ledger))
        wanted = ledger_space__chunks_max(ledger);
    error = reserve_up_to(ledger, (uint32_t)wanted);
    if (error == 0 && used < ledger_space__chunks_max(ledger) &&
        atomic_exchange(&ledger->full, false) && !ledger->header->dropped_enters &&
        !ledger->header->calls_lost && !ledger->header->dropped_threads)
        __atomic_store_n(&ledger->header->full_error, 0, __ATOMIC_RELAXED);
    return error;
}

/* Takes a run of chunks. Returns the first one, or 0 when the ledger is full. */
static uint32_t take_chunks(struct ledger *ledger, enum ledger_table table, uint32_t run)
{
    uint32_t *used = &ledger->header->chunks_used;
    uint32_t first = __atomic_load_n(used, __ATOMIC_RELAXED);
    struct ledger_chunk *chunk;

    if (atomic_load_explicit(&ledger->full, memory_order_relaxed))
        return 0;
    do {
        int error = reserve_up_to(ledger, first + run);

        if (error) {
            note_full(ledger, error, run);
            return 0;
        }
    } while (!__atomic_compare_exchange_n(used, &first, first + run, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    chunk = ledger_space__chunk(ledger, first);
    chunk->table = table;
    chunk->run = run;
    chunk->used_cells = 1;
    __atomic_store_n(&chunk->magic, LEDGER_CHUNK_MAGIC, __ATOMIC_RELEASE);
    return first;
}

ledger_ref ledger__take(struct ledger *ledger, struct ledger_arena *arena, enum ledger_table table,
                        uint32_t cells)
{
    ledger_ref ref;

    if (arena->end - arena->next < cells) {
        uint32_t chunk = take_chunks(ledger, table, 1);

        if (!chunk)
            return 0;
        arena->chunk = chunk;
        arena->next = chunk * LEDGER_CHUNK_CELLS + 1;
        arena->end = (chunk + 1) * LEDGER_CHUNK_CELLS;
    }
    ref = arena->next;
    arena->next += cells;
    __atomic_store_n(&ledger_space__chunk(ledger, arena->chunk)->used_cells,
                     arena->next - arena->chunk * LEDGER_CHUNK_CELLS, __ATOMIC_RELEASE);
    return ref;
}

static ledger_ref take_own_run(struct ledger *ledger, enum ledger_table table, uint32_t cells)
{
    uint32_t run = (cells + LEDGER_CHUNK_CELLS) / LEDGER_CHUNK_CELLS;
    uint32_t chunk = take_chunks(ledger, table, run);

    if (!chunk)
        return 0;
    __atomic_store_n(&ledger_space__chunk(ledger, chunk)->used_cells, cells + 1, __ATOMIC_RELEASE);
    return chunk * LEDGER_CHUNK_CELLS + 1;
}

ledger_ref ledger__take_shared(struct ledger *ledger, enum ledger_table table, uint32_t cells)
{
    _Atomic uint64_t *arena = &ledger->shared[table];
    uint64_t seen = atomic_load(arena);

    if (cells > RECORDS_PER_CHUNK)
        return take_own_run(ledger, table, cells);
    for (;;) {
        uint32_t chunk = (uint32_t)(seen >> 32);
        uint32_t used = (uint32_t)seen;

        if (!chunk || used + cells > LEDGER_CHUNK_CELLS) {
            uint32_t fresh = take_chunks(ledger, table, 1);

            if (!fresh)
                return 0;
            /* Losing this race leaves one empty chunk behind. */
            if (!atomic_compare_exchange_strong(arena, &seen, (uint64_t)fresh << 32 | 1))
                continue;
            seen = (uint64_t)fresh << 32 | 1;
        } else if (atomic_compare_exchange_weak(arena, &seen, seen + cells)) {
            __atomic_fetch_add(&ledger_space__chunk(ledger, chunk)->used_cells, cells,
                               __ATOMIC_RELEASE);
            return chunk * LEDGER_CHUNK_CELLS + used;
        }
    }
}

bool ledger__uses_part(const struct ledger *ledger, uint32_t part)
{
    uint32_t used = __atomic_load_n(&ledger->header->chunks_used, __ATOMIC_RELAXED);

    return used >= ledger_space__chunks_max(ledger) / part ||
           atomic_load_explicit(&ledger->full, memory_order_relaxed);
}

static uint32_t reserved_chunks(uint32_t most)
{
    uint32_t part = most / LEDGER_RESERVED_PART, all = most / LEDGER_RESERVED_MOST_PART;

    if (part < LEDGER_RESERVED_CHUNKS)
        part = LEDGER_RESERVED_CHUNKS;
    return part < all ? part : all;
}

static bool leaves_less_than(const struct ledger *ledger, uint32_t chunks)
{
    uint32_t used = __atomic_load_n(&ledger->header->chunks_used, __ATOMIC_RELAXED);

    return !ledger->touched && used + chunks >= ledger_space__chunks_max(ledger);
}

bool ledger__is_tight(const struct ledger *ledger)
{
    return leaves_less_than(ledger, reserved_chunks(ledger_space__chunks_max(ledger)));
}

bool ledger__is_nearly_full(const struct ledger *ledger)
{
    return leaves_less_than(ledger, reserved_chunks(ledger_space__chunks_max(ledger)) / 2);
}

void ledger__note_tight(struct ledger *ledger)
{
    int32_t *error = &ledger->header->full_error;

    if (!__atomic_load_n(error, __ATOMIC_RELAXED))
        __atomic_store_n(error, ENOMEM, __ATOMIC_RELAXED);
}

ledger_ref ledger__next(const struct ledger *ledger, enum ledger_table table, ledger_ref previous)
{
    uint32_t cells = record_cells[table];
    uint32_t chunk = previous / LEDGER_CHUNK_CELLS;
    uint32_t cell = previous % LEDGER_CHUNK_CELLS + cells;

    if (!previous)
        chunk = cell = 1;
    while (chunk < ledger->header->chunks_used) {
        const struct ledger_chunk *head = ledger_space__chunk(ledger, chunk);

        if (head->table == table && cell + cells <= head->used_cells)
            return chunk * LEDGER_CHUNK_CELLS + cell;
        chunk += head->run && head->run < ledger->header->chunks_used ? head->run : 1;
        cell = 1;
    }
    return 0;
}
