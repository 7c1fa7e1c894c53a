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

/* The ledger leaves one part in so many of its file system to others. */
#define LEDGER_FREE_PART 16u

#define LEDGER_STRING_BUCKETS 16384u
#define LEDGER_METHOD_BUCKETS 16384u
#define LEDGER_RENAMES_MAX    8u
#define LEDGER_STRING_MAX     65535u /* longer strings are cut, if need be within a character */

/* The run of cells from which records are being allocated; one per table and writer. Zero the
 * struct to begin. An arena has one owner at a time, except ledger->shared, which all writers use.
 */
struct ledger_arena {
    uint32_t next;
    uint32_t end;
    uint32_t chunk; /* the chunk that `next` lies in */
};

#define LEDGER_FREE_KINDS 8u
#define LEDGER_FREE_SLOTS 64u

/* Chains of free records of one kind, shared by all kernel threads; see record_pool.h. */
struct ledger_free_chains {
    _Atomic uint64_t filled; /* bit n: slot n may hold a chain. An empty slot may be marked; a
                                filled slot always is */
    _Atomic(ledger_ref) heads[LEDGER_FREE_SLOTS];
};

/* Ended threads whose rows may still be folded, in linked lists; see thread_fold.h. */
struct ledger_ended_threads {
    _Atomic(ledger_ref) kept;    /* have rows of their own until memory is short */
    _Atomic(ledger_ref) waiting; /* to be folded once their samples are merged or there is room */
};

struct ledger {
    char *base;
    struct ledger_header *header; /* == base */
    size_t mapped_bytes;
    int fd;                 /* see ledger__file */
    uint64_t device, inode; /* of the file */
    char path[4096];        /* "" if it has no name */
    _Atomic uint32_t chunks_reserved;
    _Atomic bool full; /* a reservation failed; ledger__reserve_ahead may clear it */
    _Atomic uint64_t shared[LEDGER_TABLES]; /* arenas shared by all writers: chunk << 32 | cells */
    _Atomic(ledger_ref) *string_buckets;
    _Atomic(ledger_ref) *method_buckets;
    struct ledger_free_chains free_chains[LEDGER_FREE_KINDS];
    struct ledger_ended_threads ended;
    _Atomic uint32_t folding_holders; /* threads that hold moves off; see ledger__hold_folding */
    uint8_t *touched;        /* of an adopted copy: by chunk, 1 if a node was changed; or NULL */
    uint32_t adopted_chunks; /* chunks that an adopted copy had at first */
};

/*
 * Makes a ledger. `folder` is where; its name there is unpredictable in part and says the pid:
 * treadle-PID-RANDOM.live. Mode 0600, O_EXCL, O_NOFOLLOW; locked, see orphan_ledgers.h. With folder
 * NULL the file has no name (memfd). max_bytes is rounded down to chunks, at least 64 KiB. 0 or
 * -errno.
 */
int ledger__create(struct ledger *ledger, const char *folder, uint64_t max_bytes);

/* Makes a writer for a finished copy of a ledger, of `bytes` bytes, in `fd`. The tables can be
 * changed and can grow by up to room_bytes, in private memory. The file itself is written by
 * ledger__write_back only, so a full disk cannot cause a SIGBUS. Does not keep fd. 0 or -errno. */
int ledger__adopt(struct ledger *ledger, int fd, uint64_t bytes, uint64_t room_bytes);

/* Writes the changes since ledger__adopt to the file in `fd`. 0 or -errno. */
int ledger__write_back(const struct ledger *ledger, int fd);

/* Marks a node of an adopted copy as changed in place: without the mark ledger__write_back does not
 * write the change. Every other kind of change is always written. */
static inline void ledger__touch(struct ledger *ledger, const struct ledger_node *node)
{
    if (ledger->touched)
        ledger->touched[(size_t)((const char *)node - ledger->base) / LEDGER_CHUNK_BYTES] = 1;
}

/* The descriptor of the ledger's file; -EBADF: there is none. A host that closes descriptors which
 * it did not open may by now have another file under the number: the ledger's own is then opened
 * again. Async-signal-safe; any thread. */
int ledger__file(struct ledger *ledger);

/* Unmaps and closes the ledger; the file stays. No thread may use the ledger or its records
 * afterwards. */
void ledger__close(struct ledger *ledger);

/* To be called in the child of a fork. What the child writes from here on goes to private memory,
 * not to the parent's file, whose name the child forgets. Async-signal-safe. 0 or -errno. */
int ledger__make_private(struct ledger *ledger);

/* Removes the file's name, if the file still has the name under which it was made. */
void ledger__unlink(struct ledger *ledger);

/* Reserves space so that at least `bytes` more can be allocated without a system call. Called by a
 * housekeeping thread. 0, or -errno: the ledger is as large as before. */
int ledger__reserve_ahead(struct ledger *ledger, uint64_t bytes);

static inline void *ledger__at(const struct ledger *ledger, ledger_ref ref)
{
    return ledger->base + (size_t)ref * LEDGER_CELL_BYTES;
}

static inline ledger_ref ledger__ref(const struct ledger *ledger, const void *record)
{
    return (ledger_ref)((size_t)((const char *)record - ledger->base) / LEDGER_CELL_BYTES);
}

/* Returns a zeroed record of `cells` cells, or none when the ledger is full (noted in the header's
 * full_error). One function takes the cells from the caller's own arena, the other from the shared
 * arena. */
ledger_ref ledger__take(struct ledger *ledger, struct ledger_arena *arena, enum ledger_table table,
                        uint32_t cells);
ledger_ref ledger__take_shared(struct ledger *ledger, enum ledger_table table, uint32_t cells);

/* The part of max-mem that is reserved: calling contexts may not use it. When contexts have used up
 * the rest, there is still room for new threads, for methods, and for the nodes that stand for
 * calls without a context of their own. */
#define LEDGER_RESERVED_PART      16u
#define LEDGER_RESERVED_CHUNKS    1024u /* at least, … */
#define LEDGER_RESERVED_MOST_PART 4u    /* … but never more than this part */

/* is_tight: no more than the reserved part is left. is_nearly_full: no more than half of the
 * reserved part is left. */
bool ledger__is_tight(const struct ledger *ledger);
bool ledger__is_nearly_full(const struct ledger *ledger);

/* Notes in the header's full_error that the ledger is tight. */
void ledger__note_tight(struct ledger *ledger);

/*
 * Moves of numbers from one record to another are bracketed by begin and end, so that a copy of the
 * ledger has each number once. A copy is consistent if the number of moves done when the copy began
 * equals the number of moves begun when the copy ended. If moves never pause, the process that
 * copies holds moves off for a while. begin returns false while moves are held off. begin and end
 * do not wait.
 *
 * Threads of the profiled process hold moves off with hold_folding, which waits for the moves that
 * are under way. 0 or -EBUSY: the wait took too long, and moves are not held off.
 */
bool ledger__begin_folding(struct ledger *ledger);
void ledger__end_folding(struct ledger *ledger);
int ledger__hold_folding(struct ledger *ledger);
void ledger__let_go_folding(struct ledger *ledger);

/* True if at least 1/part of max-mem is in use. Always true when the file cannot grow. */
bool ledger__uses_part(const struct ledger *ledger, uint32_t part);

/* Returns the string's record; equal strings share one record (best effort: two racing threads may
 * make two). None if the ledger is full. */
ledger_ref ledger__string(struct ledger *ledger, const char *bytes, size_t length);

/* The same without making it; none: there is no such string. */
ledger_ref ledger__find_string(const struct ledger *ledger, const char *bytes, size_t length);

/* For strings whose record is not shared: the number of cells for a string of so many bytes, and
 * filling the record (length at most LEDGER_STRING_MAX). */
uint32_t ledger__string_cells(size_t length);
void ledger__fill_string(struct ledger_string *string, const char *bytes, size_t length);

/* Returns the method with that key, or none. */
ledger_ref ledger__find_method(const struct ledger *ledger, uint64_t key);

/* The contents of a new method record. */
struct ledger_method_names {
    const char *class_name; /* with dots: "java.util.HashMap$Node" */
    const char *name;
    const char *signature;
    const char *source; /* NULL if unknown */
};

/* Returns the method with that key and makes the record if there is none; the first of racing
 * threads wins. None if the ledger is full. */
ledger_ref ledger__add_method(struct ledger *ledger, uint64_t key,
                              const struct ledger_method_names *names, uint32_t flags);

/* Iterates over the records of a table of fixed-size records in the file's order: pass 0 first,
 * then the last result; returns 0 at the end. For a ledger that this process made: nothing is
 * checked. */
ledger_ref ledger__next(const struct ledger *ledger, enum ledger_table table, ledger_ref previous);

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
