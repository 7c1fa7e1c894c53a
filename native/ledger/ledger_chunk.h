/* The ledger's format: cells, chunks and tables. See ledger_format.h. */
#ifndef TREADLE_LEDGER_CHUNK_H
#define TREADLE_LEDGER_CHUNK_H

#include <stdint.h>

#define LEDGER_MAGIC          "TREADLE\n"
#define LEDGER_FORMAT_VERSION 14u
#define LEDGER_BYTE_ORDER     0x01020304u
#define LEDGER_CELL_BYTES     64u
#define LEDGER_CHUNK_BYTES    4096u
#define LEDGER_CHUNK_CELLS    (LEDGER_CHUNK_BYTES / LEDGER_CELL_BYTES)
#define LEDGER_CHUNK_MAGIC    0x4b4e4843u /* "CHNK" */

typedef uint32_t ledger_ref;

enum ledger_table {
    LEDGER_UNUSED = 0, /* a chunk that was taken but not filled: skip it */
    LEDGER_STRINGS,
    LEDGER_METHODS,
    LEDGER_THREADS,
    LEDGER_KERNEL_THREADS,
    LEDGER_NODES,
    LEDGER_SIDES,
    LEDGER_RENAMES,
    LEDGER_UNPROFILED,
    LEDGER_IMAGES,
    LEDGER_CODE,
    LEDGER_PLACES,
    LEDGER_HOOKINGS,
    LEDGER_TALLIES,
    LEDGER_CLASSES,
    LEDGER_NOTES,
    LEDGER_BLOCKS,
    LEDGER_LATENCIES,
    LEDGER_STUCK,
    LEDGER_ORDERS,
    LEDGER_PARTS,
    LEDGER_TABLES,
};

struct ledger_chunk {
    uint32_t magic;
    uint32_t table;      /* enum ledger_table */
    uint32_t run;        /* chunks in this run, this one included */
    uint32_t used_cells; /* cells in use, this one included */
    uint32_t reserved[12];
};

_Static_assert(sizeof(struct ledger_chunk) == LEDGER_CELL_BYTES, "one cell");

#endif
