/*
 * The gate that the bytes of every ledger pass before any code follows a ref in them: live or
 * closed, a file's or a copy's. They may be the work of an enemy.
 *
 * The gate brings the heads of all chunks into bounds: a run ends with the bytes, cells in use lie
 * in their run, and only strings are in runs of more than one chunk. From then on a ref is a record
 * if its table's chunk has one there: aligned, and among the cells in use. So no two records of one
 * ledger overlap, except strings. A string ends in its run and is no longer than writers make them;
 * which cells begin one is only known by the refs to it, so the first ref to any of its cells
 * decides, and one that leads to a string across it is none. So all strings together are no longer
 * than the ledger.
 *
 * What fails is dropped and counted. The bytes are the caller's, private, and changed in place.
 */
#ifndef TREADLE_LEDGER_GATE_H
#define TREADLE_LEDGER_GATE_H

#include "native/ledger/ledger_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define LEDGER_GATE_WHERE_BYTES 160u

struct ledger_gate {
    char *base;
    uint32_t chunks;
    uint32_t *run_of_chunk;  /* the first chunk of the run that a chunk belongs to; 0: none */
    uint64_t *begins_string; /* a bit for each cell: a string that was asked for begins there */
    uint64_t *is_of_string;  /* a bit for each cell: it belongs to such a string */
    uint64_t dropped;
    char where[LEDGER_GATE_WHERE_BYTES]; /* one line about the first dropped record, or "" */
};

/* Brings all chunk heads into bounds; zero the gate first. 0 or -ENOMEM. Close the gate in either
 * case; closing leaves the bytes as they are. */
int ledger_gate__open(struct ledger_gate *gate, char *base, uint32_t chunks);
void ledger_gate__close(struct ledger_gate *gate);

/* For code that reads chunk heads one by one: whether this is a chunk head, and bringing the head's
 * values into bounds when so many chunks are left, its own included. */
bool ledger_chunk__is_head(const struct ledger_chunk *chunk);
void ledger_chunk__bound(struct ledger_chunk *head, uint32_t chunks_left);

/* Counts a record that was dropped. */
__attribute__((format(printf, 2, 3))) void ledger_gate__drop(struct ledger_gate *gate,
                                                             const char *format, ...);

/* Cells of one record of a table. For strings, which have no fixed size: 1, the least. */
uint32_t ledger_gate__record_cells(enum ledger_table table);

/* Returns the record behind a ref, or NULL if the ref is none, out of range or of another table. */
const void *ledger_gate__record(const struct ledger_gate *gate, ledger_ref ref,
                                enum ledger_table table);

/* Returns a string that ends within its run and has its cells for itself, or NULL. One thread at a
 * time may ask. */
const struct ledger_string *ledger_gate__string(const struct ledger_gate *gate, ledger_ref ref);

/* True if a ledger that was written while its copy was made may have such a record. If false, no
 * race with a writer explains the ref. */
bool ledger_gate__may_be_late(const struct ledger_gate *gate, ledger_ref ref,
                              enum ledger_table table);

/* Iterates over the records of a table in the order of their refs: pass 0 first, then the last
 * result; returns 0 at the end. Strings cannot be iterated over. */
ledger_ref ledger_gate__next(const struct ledger_gate *gate, enum ledger_table table,
                             ledger_ref previous);

/* True if so many bytes of the file would take much more memory than the file takes on disk. A
 * ledger's chunks are allocated before they are used; a file system that compresses makes them
 * smaller, but not by this factor. */
#define LEDGER_GATE_SPARSE 16u
bool ledger_gate__is_too_sparse(const struct stat *file, uint64_t bytes);

#endif
