/*
 * Chains: what one activity cost in every thread and process that took part in it. The parts of a
 * chain have one id; they may stand in several ledgers.
 *
 * What explains a part's wait: the time in which other parts of its chain ran that began later,
 * while it lasted. So a part explains the wait of its caller, and never that of a part it was
 * called by; parts that run side by side count once. It is at most the wait.
 */
#ifndef TREADLE_REPORT_CHAINS_H
#define TREADLE_REPORT_CHAINS_H

#include "native/ledger/ledger_format.h"
#include "tools/report/text.h"

#include <stdbool.h>
#include <stdint.h>

struct report_model;

#define CHAIN_ID_BYTES 33u /* as text */

struct report_part {
    uint64_t turn; /* which part of its ledger */
    uint64_t id[2];
    uint64_t begin_ns; /* see struct ledger_part */
    uint64_t elapsed_ns;
    uint64_t
        open_ns; /* in a merge, of an open one: until its own ledger was written; 0: not known */
    uint64_t cpu_ns;
    uint64_t java_id;
    int32_t tid;
    int32_t pid;
    uint32_t process; /* in a merge: the number of its input */
    uint32_t depth;   /* logical frames; more than `frames`: the outermost are not known */
    struct text thread;
    bool is_open;    /* under way when the ledger was written */
    bool is_unended; /* its times are not known */
    bool is_otel;
    bool is_virtual;
    uint32_t frames;
    uint32_t methods[PART_FRAMES]; /* the outermost first */
};

/* Counts of both are ledgers' sums. */
struct chain_losses {
    uint64_t other_parts; /* parts that gave way to later ones */
    uint64_t other_unended;
    uint64_t other_cpu_ns;
    uint64_t other_ns;
    uint64_t lost_parts;
    uint64_t torn_parts;
};

struct chain_part {
    const struct report_part *part;
    const struct report_model *model;
    uint32_t ledger;   /* index of the first model that is of the same ledger */
    uint64_t begin_ns; /* since the epoch */
    uint64_t end_ns;   /* of one that is open: when its ledger was written; unended: its begin */
    uint64_t wait_ns;  /* elapsed less CPU time; open or unended: 0 */
    uint64_t explained_ns;
};

/* One chain, or the parts of one process with one path in all chains. */
struct chain_sum {
    uint32_t first; /* index of its parts */
    uint32_t count;
    uint64_t begin_ns; /* since the epoch */
    uint64_t end_ns;
    uint64_t elapsed_ns; /* sum of the parts' */
    uint64_t cpu_ns;
    uint64_t wait_ns;
    uint64_t explained_ns;
    uint64_t key; /* what it is sorted by, the highest first */
};

struct report_chains {
    struct chain_part *parts; /* by chain, then by begin, the caller first */
    uint32_t part_count;
    struct chain_sum *chains; /* the longest first */
    uint32_t chain_count;
    const struct chain_part **by_row; /* by process and path */
    struct chain_sum *rows;           /* `first` is of by_row; the most time first */
    uint32_t row_count;
    struct chain_losses losses;
};

/* Of all these ledgers together; a part that stands in several snapshots of one ledger counts once.
 * thread: a glob, of chains that have a part in such a thread; or
 * NULL. */
struct report_chains *report_chains__new(const struct report_model *const *models, uint32_t count,
                                         const char *thread);
void report_chains__free(struct report_chains *chains);

enum chain_order {
    CHAINS_BY_ELAPSED, /* from the first begin to the last end; as after report_chains__new */
    CHAINS_BY_CPU,
    CHAINS_BY_WAIT,
    CHAINS_BY_COUNT,
    CHAINS_BY_BEGIN, /* the earliest first */
};

void report_chains__sort(struct report_chains *chains, enum chain_order order);

/* Leaves out the parts that were over in an earlier snapshot of the ledger. */
void report_chains__subtract(struct report_model *model, const struct report_model *before);

/* The id in hex. */
void report_chains__id_text(const uint64_t id[2], char text[CHAIN_ID_BYTES]);

#endif
