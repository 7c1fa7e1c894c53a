/*
 * How often samples found methods with hooks on threads' stacks, kept apart from the trees. A
 * sample hangs under the node that its thread's exact path says, so the tree alone can never show
 * that the path is wrong. A comparison of the tallies' shares with the exact shares can.
 *
 * What a sample cannot decide is counted as doubtful: whether a method was on the stack if the walk
 * did not reach its end or a hook was interrupted, and what is inlined if compiled code was
 * interrupted.
 *
 * With recursion=N a folded frame takes its callers, up to the node at which it continues, out of
 * the exact path. A method that is on the stack only as such a caller is not counted here either.
 *
 * Bounded: there is a fixed number of records, and further samples are counted as doubtful or lost.
 * For the thread that merges samples.
 */
#ifndef TREADLE_FRAME_TALLY_H
#define TREADLE_FRAME_TALLY_H

#include "agent/sampling/java_methods.h"
#include "native/ledger/ledger.h"

#include <stdbool.h>

struct frame_tally;

struct frame_tallies {
    struct ledger *ledger;
    struct frame_tally *tallies; /* uthash, by thread and method */
    uint64_t samples;            /* number of samples that have records */
    uint64_t java_samples;       /* of all: those with a Java frame on a whole stack */
    uint64_t coarse_samples;     /* of these: coarse ones */
};

/* A sample is coarse if the exact call that it hangs under takes so much CPU time of its own, or
 * if there is none: hooks of a shorter call between the two would tell more. */
#define COARSE_CALL_NS 1000000u

/* Both lists have the innermost method first. */
struct tallied_sample {
    ledger_ref thread;
    uint64_t seen_ns;
    bool is_whole; /* if false the other fields are unused */
    bool is_coarse;
    bool is_compiled; /* compiled code of the method walked[inlined] was interrupted */
    uint32_t inlined; /* number of methods inlined there */
    uint32_t walked_count;
    uint32_t path_count;
    struct java_method **walked; /* on the stack */
    struct java_method **path;   /* on the exact path: all have records */
    struct java_method **room;   /* as large as walked */
};

/* Forgets the records, which stay in the ledger. For tests only. */
void frame_tallies__release(struct frame_tallies *tallies);

void frame_tallies__add(struct frame_tallies *tallies, const struct tallied_sample *sample);

#endif
