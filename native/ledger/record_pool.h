/*
 * Free records of ended and folded threads, for reuse: nodes, side records, threads and their
 * names. Each kernel thread has one pool. A pool hands surplus records over to other pools a chain
 * at a time, without a lock. A pool that is empty takes a few records from other pools, else from
 * the ledger. A record is reused for its own kind only. A free record is all zero but for its link,
 * so that a reader of a live ledger recognizes it as free. One thread at a time uses a pool.
 */
#ifndef TREADLE_RECORD_POOL_H
#define TREADLE_RECORD_POOL_H

#include "native/ledger/ledger.h"

#include <stdbool.h>

#define RECORD_POOL_CHAIN        256u /* records handed over together */
#define RECORD_POOL_STRING_CELLS 4u   /* longer names are not reused */

enum record_pool_kind {
    POOL_NODES,
    POOL_SIDES,
    POOL_THREADS,
    POOL_NOTES,
    POOL_STRINGS, /* of one cell, of two, … */
    POOL_KINDS = POOL_STRINGS + RECORD_POOL_STRING_CELLS,
};

_Static_assert(POOL_KINDS <= LEDGER_FREE_KINDS, "a chain for each kind");

/* Linked through the records' first words; the tail is the record that was freed first. */
struct record_chain {
    ledger_ref head;
    ledger_ref tail;
    uint32_t count;
};

/* How much of the reserved part may be used for nodes and their side records; see ledger.h. */
enum record_reserve {
    RESERVE_NONE,
    RESERVE_HALF, /* while half of the reserved part is left: for moves that free more later */
    RESERVE_ALL,
};

struct record_pool {
    struct ledger *ledger;
    struct ledger_arena nodes;
    struct ledger_arena reserved_nodes;
    enum record_reserve takes_reserved;
    struct record_chain chains[POOL_KINDS][2]; /* the chain in use, and a full chain or none */
    ledger_ref borrowed[POOL_KINDS]; /* records taken from other pools; they are only taken from */
};

/* True if the next node would come from the reserved part, and fewer than so many freed nodes are
 * at hand. */
bool record_pool__lacks_nodes(const struct record_pool *pool, uint32_t spare);

/* True if nodes that this pool or another handed over are probably available. */
bool record_pool__shares_nodes(const struct record_pool *pool);

/* Returns a zeroed record, or none if the ledger is full. */
ledger_ref record_pool__node(struct record_pool *pool);
ledger_ref record_pool__side(struct record_pool *pool);
ledger_ref record_pool__thread(struct record_pool *pool);
ledger_ref record_pool__note(struct record_pool *pool);
/* Returns a string record that is not shared. */
ledger_ref record_pool__string(struct record_pool *pool, const char *bytes, size_t length);

/* Puts a record back into the pool; none is allowed. No link may lead to the record any more. A
 * side record's child index is put back, too. */
void record_pool__give_node(struct record_pool *pool, ledger_ref ref);
void record_pool__give_side(struct record_pool *pool, ledger_ref ref);
void record_pool__give_thread(struct record_pool *pool, ledger_ref ref);
void record_pool__give_note(struct record_pool *pool, ledger_ref ref);
void record_pool__give_string(struct record_pool *pool, ledger_ref ref);

#endif
