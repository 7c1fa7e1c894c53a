/*
 * The ledger's writer: makes the mapped file, grows it, and hands out records.
 *
 * The whole of max-mem is mapped at once, so addresses never move; what lies beyond the reserved
 * part is never touched. Space is reserved with posix_fallocate before use: in a full memory file
 * system a sparse page would be a SIGBUS in the host. Nothing here takes a lock; every function is
 * safe from any thread unless it says otherwise. After ledger__create nothing allocates memory but
 * the ledger itself, and only ledger__reserve_ahead and a hook that finds no reserved chunk make a
 * system call.
 */
#ifndef TREADLE_LEDGER_H
#define TREADLE_LEDGER_H

#include "native/ledger/ledger_format.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ledger leaves this part of its file system to others. */
#define LEDGER_FREE_PART 16u

#define LEDGER_STRING_BUCKETS 16384u
#define LEDGER_METHOD_BUCKETS 16384u
#define LEDGER_RENAMES_MAX    8u
#define LEDGER_STRING_MAX     65535u /* longer ones are cut, at a byte */

/* The run of cells that records are being taken from; one per table and writer. Zero it to begin.
 * One owner at a time, except ledger->shared, which is used by all. */
struct ledger_arena {
    uint32_t next;
    uint32_t end;
    uint32_t chunk; /* the chunk that `next` lies in */
};

#define LEDGER_FREE_KINDS 8u
#define LEDGER_FREE_SLOTS 64u

/* Chains of records of one kind that are free, for all; see record_pool.h. */
struct ledger_free_chains {
    _Atomic uint64_t filled; /* by slot; one that is not may be marked, never the other way round */
    _Atomic(ledger_ref) heads[LEDGER_FREE_SLOTS];
};

/* Threads that are over and whose rows somebody is to look at again, linked; see thread_fold.h. */
struct ledger_ended_threads {
    _Atomic(ledger_ref) kept; /* they have rows of their own until memory is short */
    _Atomic(ledger_ref)
        waiting; /* they are folded when their samples are merged, or there is room */
};

struct ledger {
    char *base;
    struct ledger_header *header; /* == base */
    size_t mapped_bytes;
    int fd;
    char path[4096]; /* "" if it has no name */
    _Atomic uint32_t chunks_reserved;
    _Atomic bool full; /* a reservation failed; ledger__reserve_ahead may clear it */
    _Atomic uint64_t shared[LEDGER_TABLES]; /* arenas shared by all writers: chunk << 32 | cells */
    _Atomic(ledger_ref) *string_buckets;
    _Atomic(ledger_ref) *method_buckets;
    struct ledger_free_chains free_chains[LEDGER_FREE_KINDS];
    struct ledger_ended_threads ended;
    _Atomic uint32_t folding_holders;
    uint8_t *touched; /* an adopted copy's, by chunk; else NULL */
    uint32_t adopted_chunks;
};

/*
 * Makes a ledger. `folder` is where; its name there is unpredictable in part and says the pid:
 * treadle-PID-RANDOM.live. Mode 0600, O_EXCL, O_NOFOLLOW; locked, see orphan_ledgers.h. With folder
 * NULL the file has no name (memfd). max_bytes is rounded down to chunks, at least 64 KiB. 0 or
 * -errno.
 */
int ledger__create(struct ledger *ledger, const char *folder, uint64_t max_bytes);

/* A writer for a finished copy of a ledger, of `bytes` bytes, in `fd`: the tables can be changed
 * and grow by up to room_bytes, in private memory. The file itself is not written, so a full disk
 * cannot hurt; ledger__write_back does that. Does not keep fd. 0 or -errno. */
int ledger__adopt(struct ledger *ledger, int fd, uint64_t bytes, uint64_t room_bytes);

/* Writes what was changed since ledger__adopt to the file in `fd`. 0 or -errno. */
int ledger__write_back(const struct ledger *ledger, int fd);

/* In an adopted copy, a node that is changed in place must be named here, or it is not written
 * back. Everything else is written back anyway. */
static inline void ledger__touch(struct ledger *ledger, const struct ledger_node *node)
{
    if (ledger->touched)
        ledger->touched[(size_t)((const char *)node - ledger->base) / LEDGER_CHUNK_BYTES] = 1;
}

/* Unmaps and closes; the file stays. Nobody may use the ledger or its records any more. */
void ledger__close(struct ledger *ledger);

/* In the child of a fork: what it writes from here on is its own, not the parent's, whose file it
 * no longer names. Async-signal-safe. 0 or -errno. */
int ledger__make_private(struct ledger *ledger);

/* Removes the file's name, if it still has the one that it was made with. */
void ledger__unlink(struct ledger *ledger);

/* Reserves so that at least `bytes` beyond what is used can be taken without a system call. Called
 * by a housekeeping thread. 0, or -errno (the ledger then is as large as it was). */
int ledger__reserve_ahead(struct ledger *ledger, uint64_t bytes);

static inline void *ledger__at(const struct ledger *ledger, ledger_ref ref)
{
    return ledger->base + (size_t)ref * LEDGER_CELL_BYTES;
}

static inline ledger_ref ledger__ref(const struct ledger *ledger, const void *record)
{
    return (ledger_ref)((size_t)((const char *)record - ledger->base) / LEDGER_CELL_BYTES);
}

/* A zeroed record of `cells` cells, or none when the ledger is full (which is noted in the header:
 * full_error). From the caller's own arena, or from the one all share. */
ledger_ref ledger__take(struct ledger *ledger, struct ledger_arena *arena, enum ledger_table table,
                        uint32_t cells);
ledger_ref ledger__take_shared(struct ledger *ledger, enum ledger_table table, uint32_t cells);

/* So much of max-mem is not for calling contexts: with them full, there is room for threads that
 * begin, for methods, and for calls that find no room for a context. */
#define LEDGER_RESERVED_PART      16u
#define LEDGER_RESERVED_CHUNKS    1024u /* at least, … */
#define LEDGER_RESERVED_MOST_PART 4u    /* … but never more than this part */

/* Is no more left than that, or than half of that? */
bool ledger__is_tight(const struct ledger *ledger);
bool ledger__is_nearly_full(const struct ledger *ledger);

/* … which is noted in the header, as full_error. */
void ledger__note_tight(struct ledger *ledger);

/*
 * Around what moves numbers from one record to another, so that copies have them once: a copy is
 * whole if as many moves had been done when it began as had begun when it was over. If moves never
 * pause, whoever copies holds them off for a while. False: they are held off. Neither waits.
 *
 * Within the process whoever cannot have them for a moment holds them off, too; this waits for
 * those that are being done. 0 or -EBUSY: it takes too long, and they are not held off.
 */
bool ledger__begin_folding(struct ledger *ledger);
void ledger__end_folding(struct ledger *ledger);
int ledger__hold_folding(struct ledger *ledger);
void ledger__let_go_folding(struct ledger *ledger);

/* Is a part of max-mem in use, or more? So is all of it where the file cannot grow. */
bool ledger__uses_part(const struct ledger *ledger, uint32_t part);

/* The string's record; equal strings share one (best effort when two threads race). None if the
 * ledger is full. */
ledger_ref ledger__string(struct ledger *ledger, const char *bytes, size_t length);

/* For strings that are shared with nobody: how many cells one of so many bytes takes, and its
 * content (its length is at most LEDGER_STRING_MAX). */
uint32_t ledger__string_cells(size_t length);
void ledger__fill_string(struct ledger_string *string, const char *bytes, size_t length);

/* The method with that key, or none. */
ledger_ref ledger__find_method(const struct ledger *ledger, uint64_t key);

/* What a new method's record is filled with. */
struct ledger_method_names {
    const char *class_name; /* with dots: "java.util.HashMap$Node" */
    const char *name;
    const char *signature;
    const char *source; /* NULL if unknown */
};

/* The method with that key, made if need be; the first of racing threads wins. None if full. */
ledger_ref ledger__add_method(struct ledger *ledger, uint64_t key,
                              const struct ledger_method_names *names, uint32_t flags);

/* The records of a table of fixed-size records, in the file's order: 0 first, then the last result;
 * 0 at the end. For a ledger of our own making: it is not checked. */
ledger_ref ledger__next(const struct ledger *ledger, enum ledger_table table, ledger_ref previous);

/* Is that the ref of a record of the table? In a copy that was made while the ledger was written, a
 * ref may lead to where nothing is yet. Tables of fixed-size records. */
bool ledger__holds(const struct ledger *ledger, ledger_ref ref, enum ledger_table table);

/* Appends to the thread's renames unless the name is its latest already (by its hash). Pools rename
 * a thread for each request: after LEDGER_RENAMES_MAX of them they are only counted. One caller at
 * a time for the same thread. */
void ledger__rename_thread(struct ledger *ledger, struct ledger_thread *thread, const char *bytes,
                           size_t length, uint64_t when_ns);

/* Adds to a counter of the header that any thread may add to. */
static inline void ledger__count(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

#endif
