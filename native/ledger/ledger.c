#include "native/ledger/ledger.h"

#include "native/ledger/orphan_ledgers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define RESERVE_STEP_CHUNKS  256u /* 1 MiB */
#define RESERVE_FIRST_CHUNKS 64u
#define CHUNKS_MIN           16u
#define ALLOCATE_ATTEMPTS    1000 /* a profiler's signals may interrupt again and again */
#define RECORDS_PER_CHUNK    (LEDGER_CHUNK_CELLS - 1u)

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
};

static struct ledger_chunk *chunk_at(const struct ledger *ledger, uint32_t chunk)
{
    return (struct ledger_chunk *)(ledger->base + (size_t)chunk * LEDGER_CHUNK_BYTES);
}

static uint32_t chunks_max(const struct ledger *ledger)
{
    return (uint32_t)(ledger->mapped_bytes / LEDGER_CHUNK_BYTES);
}

/* Others live in that file system too: a part of it stays free. */
static bool leaves_room(int fd, uint64_t bytes)
{
    struct statvfs space;

    if (fstatvfs(fd, &space) != 0 || space.f_blocks == 0)
        return true;
    return space.f_bavail * space.f_frsize >=
           bytes + space.f_blocks * space.f_frsize / LEDGER_FREE_PART;
}

static int allocate_file(int fd, uint32_t from, uint32_t to)
{
    off_t offset = (off_t)from * LEDGER_CHUNK_BYTES;
    off_t bytes = (off_t)(to - from) * LEDGER_CHUNK_BYTES;

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
    int error;

    if (chunks > chunks_max(ledger))
        return -ENOMEM;
    if (chunks <= reserved)
        return 0;
    if (generous > chunks_max(ledger))
        generous = chunks_max(ledger);
    if (generous > chunks && allocate_file(ledger->fd, reserved, generous) == 0) {
        raise_to(&ledger->chunks_reserved, generous);
        return 0;
    }
    error = allocate_file(ledger->fd, reserved, chunks);
    if (error == 0)
        raise_to(&ledger->chunks_reserved, chunks);
    return error;
}

/* Where a long run does not fit, single chunks may: only they say that the ledger is full. */
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

    if (wanted > chunks_max(ledger))
        wanted = chunks_max(ledger);
    error = reserve_up_to(ledger, (uint32_t)wanted);
    if (error == 0 && used < chunks_max(ledger) && atomic_exchange(&ledger->full, false) &&
        !ledger->header->dropped_enters && !ledger->header->calls_lost &&
        !ledger->header->dropped_threads)
        __atomic_store_n(&ledger->header->full_error, 0, __ATOMIC_RELAXED);
    return error;
}

/* First chunk of a run, or 0 when the ledger is full. */
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
    chunk = chunk_at(ledger, first);
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
    __atomic_store_n(&chunk_at(ledger, arena->chunk)->used_cells,
                     arena->next - arena->chunk * LEDGER_CHUNK_CELLS, __ATOMIC_RELEASE);
    return ref;
}

static ledger_ref take_own_run(struct ledger *ledger, enum ledger_table table, uint32_t cells)
{
    uint32_t run = (cells + LEDGER_CHUNK_CELLS) / LEDGER_CHUNK_CELLS;
    uint32_t chunk = take_chunks(ledger, table, run);

    if (!chunk)
        return 0;
    __atomic_store_n(&chunk_at(ledger, chunk)->used_cells, cells + 1, __ATOMIC_RELEASE);
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
            __atomic_fetch_add(&chunk_at(ledger, chunk)->used_cells, cells, __ATOMIC_RELEASE);
            return chunk * LEDGER_CHUNK_CELLS + used;
        }
    }
}

bool ledger__uses_part(const struct ledger *ledger, uint32_t part)
{
    uint32_t used = __atomic_load_n(&ledger->header->chunks_used, __ATOMIC_RELAXED);

    return used >= chunks_max(ledger) / part ||
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

    return !ledger->touched && used + chunks >= chunks_max(ledger);
}

bool ledger__is_tight(const struct ledger *ledger)
{
    return leaves_less_than(ledger, reserved_chunks(chunks_max(ledger)));
}

bool ledger__is_nearly_full(const struct ledger *ledger)
{
    return leaves_less_than(ledger, reserved_chunks(chunks_max(ledger)) / 2);
}

void ledger__note_tight(struct ledger *ledger)
{
    int32_t *error = &ledger->header->full_error;

    if (!__atomic_load_n(error, __ATOMIC_RELAXED))
        __atomic_store_n(error, ENOMEM, __ATOMIC_RELAXED);
}

/* FNV-1a, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint32_t hash_bytes(const char *bytes, size_t length)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash;
}

static ledger_ref find_string(const struct ledger *ledger, const char *bytes, size_t length,
                              uint32_t hash)
{
    ledger_ref ref = atomic_load(&ledger->string_buckets[hash % LEDGER_STRING_BUCKETS]);

    while (ref) {
        const struct ledger_string *string = ledger__at(ledger, ref);

        if (string->hash == hash && string->length == length &&
            memcmp(string->bytes, bytes, length) == 0)
            break;
        ref = string->next_in_bucket;
    }
    return ref;
}

static void push(_Atomic(ledger_ref) *bucket, ledger_ref ref, ledger_ref *next)
{
    ledger_ref head = atomic_load(bucket);

    do {
        __atomic_store_n(next, head, __ATOMIC_RELAXED);
    } while (!atomic_compare_exchange_weak(bucket, &head, ref));
}

uint32_t ledger__string_cells(size_t length)
{
    return (uint32_t)((offsetof(struct ledger_string, bytes) + length + LEDGER_CELL_BYTES - 1) /
                      LEDGER_CELL_BYTES);
}

void ledger__fill_string(struct ledger_string *string, const char *bytes, size_t length)
{
    memcpy((char *)string + offsetof(struct ledger_string, bytes), bytes, length);
    string->hash = hash_bytes(bytes, length);
    string->length = (uint32_t)length;
}

ledger_ref ledger__string(struct ledger *ledger, const char *bytes, size_t length)
{
    uint32_t hash, cells;
    struct ledger_string *string;
    ledger_ref ref;

    if (length > LEDGER_STRING_MAX)
        length = LEDGER_STRING_MAX;
    hash = hash_bytes(bytes, length);
    ref = find_string(ledger, bytes, length, hash);
    if (ref)
        return ref;
    cells = ledger__string_cells(length);
    ref = ledger__take_shared(ledger, LEDGER_STRINGS, cells);
    if (!ref)
        return 0;
    string = ledger__at(ledger, ref);
    ledger__fill_string(string, bytes, length);
    push(&ledger->string_buckets[hash % LEDGER_STRING_BUCKETS], ref, &string->next_in_bucket);
    return ref;
}

static _Atomic(ledger_ref) *method_bucket(const struct ledger *ledger, uint64_t key)
{
    return &ledger->method_buckets[(key * 0x9e3779b97f4a7c15u) >> 50];
}

static ledger_ref find_method_from(const struct ledger *ledger, ledger_ref ref, uint64_t key)
{
    while (ref) {
        const struct ledger_method *method = ledger__at(ledger, ref);

        if (method->key == key)
            break;
        ref = method->next_in_bucket;
    }
    return ref;
}

ledger_ref ledger__find_method(const struct ledger *ledger, uint64_t key)
{
    return find_method_from(ledger, atomic_load(method_bucket(ledger, key)), key);
}

/* False: there is no room for what names it. */
static bool name_method(struct ledger *ledger, const struct ledger_method_names *names,
                        struct ledger_method *named)
{
    named->class_name = ledger__string(ledger, names->class_name, strlen(names->class_name));
    named->name = ledger__string(ledger, names->name, strlen(names->name));
    named->signature = ledger__string(ledger, names->signature, strlen(names->signature));
    if (names->source)
        named->source = ledger__string(ledger, names->source, strlen(names->source));
    return named->class_name && named->name && named->signature;
}

/* Names first: a record without would be one of nothing, and so would all nodes of the method. */
ledger_ref ledger__add_method(struct ledger *ledger, uint64_t key,
                              const struct ledger_method_names *names, uint32_t flags)
{
    _Atomic(ledger_ref) *bucket = method_bucket(ledger, key);
    ledger_ref head = atomic_load(bucket);
    ledger_ref found = find_method_from(ledger, head, key);
    struct ledger_method named = {.key = key, .flags = flags}, *method;
    ledger_ref ref;

    if (found || !name_method(ledger, names, &named))
        return found;
    ref = ledger__take_shared(ledger, LEDGER_METHODS, 1);
    if (!ref)
        return 0;
    method = ledger__at(ledger, ref);
    *method = named;
    do {
        found = find_method_from(ledger, head, key);
        if (found) {
            method->flags = METHOD_DEAD;
            return found;
        }
        method->next_in_bucket = head;
    } while (!atomic_compare_exchange_weak(bucket, &head, ref));
    return ref;
}

ledger_ref ledger__next(const struct ledger *ledger, enum ledger_table table, ledger_ref previous)
{
    uint32_t cells = record_cells[table];
    uint32_t chunk = previous / LEDGER_CHUNK_CELLS;
    uint32_t cell = previous % LEDGER_CHUNK_CELLS + cells;

    if (!previous)
        chunk = cell = 1;
    while (chunk < ledger->header->chunks_used) {
        const struct ledger_chunk *head = chunk_at(ledger, chunk);

        if (head->table == table && cell + cells <= head->used_cells)
            return chunk * LEDGER_CHUNK_CELLS + cell;
        chunk += head->run && head->run < ledger->header->chunks_used ? head->run : 1;
        cell = 1;
    }
    return 0;
}

static uint32_t latest_name_hash(const struct ledger *ledger, const struct ledger_thread *thread)
{
    const struct ledger_string *name = ledger__at(ledger, thread->name);

    return thread->rename_count ? thread->latest_name_hash : thread->name ? name->hash : 0;
}

void ledger__rename_thread(struct ledger *ledger, struct ledger_thread *thread, const char *bytes,
                           size_t length, uint64_t when_ns)
{
    struct ledger_rename *rename;
    uint32_t hash;
    ledger_ref ref;

    if (length > LEDGER_STRING_MAX)
        length = LEDGER_STRING_MAX;
    hash = hash_bytes(bytes, length);
    if (hash == latest_name_hash(ledger, thread))
        return;
    thread->latest_name_hash = hash;
    thread->rename_count++;
    if (thread->rename_count > LEDGER_RENAMES_MAX)
        return;
    ref = ledger__take_shared(ledger, LEDGER_RENAMES, 1);
    if (!ref)
        return;
    rename = ledger__at(ledger, ref);
    rename->name = ledger__string(ledger, bytes, length);
    rename->when_ns = when_ns;
    rename->older = thread->renames;
    __atomic_store_n(&thread->renames, ref, __ATOMIC_RELEASE);
}

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
    ledger->fd = open(ledger->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
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

/* Ledger and buckets; on failure neither is left. */
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
        ledger->fd = memfd_create("treadle", MFD_CLOEXEC);
        error = ledger->fd < 0 ? -errno : 0;
    }
    if (error)
        goto fail_open;
    error = allocate_file(ledger->fd, 0,
                          chunks < RESERVE_FIRST_CHUNKS ? (uint32_t)chunks : RESERVE_FIRST_CHUNKS);
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
           (chunk_at(ledger, chunk)->table != LEDGER_NODES &&
            chunk_at(ledger, chunk)->table != LEDGER_UNUSED);
}

static int write_chunks(const struct ledger *ledger, int fd, uint32_t chunk, uint32_t count)
{
    const char *bytes = (const char *)chunk_at(ledger, chunk);
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
        uint32_t run = chunk ? chunk_at(ledger, chunk)->run : 1;

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
    munmap(ledger->base, ledger->mapped_bytes);
    munmap((void *)ledger->string_buckets,
           (LEDGER_STRING_BUCKETS + LEDGER_METHOD_BUCKETS) * sizeof(ledger_ref));
    free(ledger->touched);
    if (ledger->fd >= 0)
        close(ledger->fd);
    memset(ledger, 0, sizeof(*ledger));
    ledger->fd = -1;
}

int ledger__make_private(struct ledger *ledger)
{
    ledger->path[0] = '\0';
    if (mmap(ledger->base, ledger->mapped_bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, ledger->fd, 0) == MAP_FAILED)
        return -errno;
    return 0;
}

/* Removes only the file that was made: another file may have the name by now. */
void ledger__unlink(struct ledger *ledger)
{
    struct stat ours, named;

    if (!ledger->path[0] || ledger->fd < 0)
        return;
    if (fstat(ledger->fd, &ours) == 0 && lstat(ledger->path, &named) == 0 &&
        ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
        unlink(ledger->path);
}
