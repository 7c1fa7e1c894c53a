/*
 * Records of threads that are over and were folded, to be used again: nodes, side records, threads
 * and their names. One pool a kernel thread; what it has too much of it hands over to others a
 * chain at a time, without a lock, and what it has not it takes from them, else from the ledger. A
 * record is used again for its own kind only, and is all zero in between but for the link: a reader
 * of a live ledger may meet one and must see that it is nothing.
 */
#ifndef TREADLE_RECORD_POOL_H
#define TREADLE_RECORD_POOL_H

#include "native/ledger/ledger.h"

#include <stdbool.h>

#define RECORD_POOL_CHAIN        256u /* records that are handed over together */
#define RECORD_POOL_STRING_CELLS 4u   /* longer names are not used again */

enum record_pool_kind {
    POOL_NODES,
    POOL_SIDES,
    POOL_THREADS,
    POOL_NOTES,
    POOL_STRINGS, /* of one cell, of two, … */
    POOL_KINDS = POOL_STRINGS + RECORD_POOL_STRING_CELLS,
};

_Static_assert(POOL_KINDS <= LEDGER_FREE_KINDS, "a chain for each kind");

/* Linked by their heads; the tail is the first that came. */
struct record_chain {
    ledger_ref head;
    ledger_ref tail;
    uint32_t count;
};

/* What of the reserved part may be taken for nodes and what is theirs; see ledger.h. */
enum record_reserve {
    RESERVE_NONE,
    RESERVE_HALF, /* while half of it is left: for what frees more later */
    RESERVE_ALL,
};

struct record_pool {
    struct ledger *ledger;
    struct ledger_arena nodes;
    struct ledger_arena reserved_nodes;
    enum record_reserve takes_reserved;
    struct record_chain chains[POOL_KINDS][2]; /* the one in use, and a whole one or none */
    ledger_ref borrowed[POOL_KINDS];           /* taken from others: of any length, only used up */
};

/* Would a node be taken from what is reserved, and are there fewer than so many that were given
 * back? */
bool record_pool__lacks_nodes(const struct record_pool *pool, uint32_t spare);

/* Are there any that this pool or another handed over, as far as is known? */
bool record_pool__shares_nodes(const struct record_pool *pool);

/* A zeroed record, or none: the ledger is full. */
ledger_ref record_pool__node(struct record_pool *pool);
ledger_ref record_pool__side(struct record_pool *pool);
ledger_ref record_pool__thread(struct record_pool *pool);
ledger_ref record_pool__note(struct record_pool *pool);
/* A string of its own. */
ledger_ref record_pool__string(struct record_pool *pool, const char *bytes, size_t length);

/* Back into the pool; none is fine. Nothing may lead to the record any more. With a side record
 * goes the index that it has. */
void record_pool__give_node(struct record_pool *pool, ledger_ref ref);
void record_pool__give_side(struct record_pool *pool, ledger_ref ref);
void record_pool__give_thread(struct record_pool *pool, ledger_ref ref);
void record_pool__give_note(struct record_pool *pool, ledger_ref ref);
void record_pool__give_string(struct record_pool *pool, ledger_ref ref);

#endif
