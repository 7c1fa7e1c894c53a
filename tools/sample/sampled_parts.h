/*
 * Parts of chains of a sampled process: taken from the rings of its segments as they end, into its
 * ledger. Their times are the program's own, not samples.
 */
#ifndef TREADLE_SAMPLED_PARTS_H
#define TREADLE_SAMPLED_PARTS_H

#include "native/activity/activity_tree.h"
#include "native/activity/segment_reader.h"
#include "native/ledger/chain_parts.h"

struct sampled_parts {
    struct chain_parts ring; /* in the ledger */
    struct activity_tree *tree;
    /* The name of a thread of the process, a string of the ledger. */
    ledger_ref (*name_of)(void *context, pid_t tid);
    void *context;
};

/* How far a segment's ring was read. */
struct part_feed {
    uint64_t low;                      /* turns before were taken, or are gone */
    uint64_t taken[SEGMENT_PARTS_MAX]; /* by place in the ring: 1 + the turn that was taken */
};

/* Takes the parts that have ended. Under a fault guard. */
void sampled_parts__take(struct sampled_parts *parts, struct segment_reader *segment,
                         struct part_feed *feed);

/* The same, and those that are under way: there will be no other call. */
void sampled_parts__take_open(struct sampled_parts *parts, struct segment_reader *segment,
                              struct part_feed *feed);

#endif
