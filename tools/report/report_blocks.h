/*
 * Waits for locks as the ledger has them (struct ledger_block), with the waits that were under way
 * when the ledger was read: these count until then. Holds of locks are kept the same way: waiter is
 * the thread that held the lock, and the numbers of waits are those of holds.
 */
#ifndef TREADLE_REPORT_BLOCKS_H
#define TREADLE_REPORT_BLOCKS_H

#include "native/ledger/ledger_format.h"
#include "tools/report/text.h"

#include <stdbool.h>
#include <stdint.h>

struct report_model;

/* Methods, the outermost first. */
struct report_path {
    uint32_t methods[BLOCK_FRAMES];
    uint32_t frames;
};

/* Of a wait or a hold: that of the wait; BLOCK_MONITOR where it is none. And as users read it. */
enum ledger_block_kind lock_kind__of(uint32_t kind);
const char *lock_kind__name(enum ledger_block_kind kind);

struct report_block {
    ledger_ref ref;
    uint64_t key;
    struct text class_name; /* length 0: not known */
    uint32_t identity;      /* 0: of any locks of the class */
    enum ledger_block_kind kind;
    struct text waiter;
    struct text holder;
    bool holder_known;
    struct report_path waiter_path;
    struct report_path holder_path;
    uint32_t waiter_priority; /* Java priorities; 0: not known */
    uint32_t holder_priority;
    uint64_t count;
    uint64_t wait_ns;
    uint64_t wait_max_ns;
    uint64_t hold_ns; /* of waits that are over, as is the next */
    uint64_t hold_max_ns;
    uint64_t waits[BLOCK_BUCKETS];
    uint64_t acquisitions; /* of the lock, whoever waited; see struct ledger_block */
    uint32_t depth_max;
};

/* True if the ledger says who waited for whom: waits=on. */
bool report_blocks__are_known(const struct ledger_header *header);

/* NULL if there is none of that ref. */
const struct report_block *report_blocks__find(const struct report_model *model, ledger_ref ref);

/* Takes off what an earlier reading of the same ledger has. The longest and the deepest of all
 * waits stay. */
void report_blocks__subtract(struct report_model *model, const struct report_model *before);

#endif
