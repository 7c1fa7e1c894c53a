/*
 * Parts of chains in the ledger (struct ledger_part): a ring of so many records, made one by one as
 * they are needed.
 *
 * Lock-free, any thread may begin a part; its own thread ends it, once. Nothing here allocates but
 * in the ledger.
 */
#ifndef TREADLE_CHAIN_PARTS_H
#define TREADLE_CHAIN_PARTS_H

#include "native/ledger/ledger.h"

#include <stdbool.h>
#include <stdint.h>

#define CHAIN_PARTS_MAX 8192u

struct chain_parts {
    struct ledger *ledger;
    uint32_t most;         /* CHAIN_PARTS_MAX; a test has fewer */
    _Atomic uint64_t next; /* turn of the next part */
    _Atomic(ledger_ref) records[CHAIN_PARTS_MAX];
};

/* The struct is large; one a ledger. */
void chain_parts__init(struct chain_parts *parts, struct ledger *ledger);

/* Begins a part with these contents, but for its state and check. Returns the record; none: there
 * is no room, or all parts are under way, which is counted. */
ledger_ref chain_parts__begin(struct chain_parts *parts, const struct ledger_part *contents);

/* end: the part is over. give_up: its end was not seen. */
void chain_part__end(struct ledger *ledger, ledger_ref ref, uint64_t elapsed_ns, uint64_t cpu_ns);
void chain_part__give_up(struct ledger *ledger, ledger_ref ref);

#endif
