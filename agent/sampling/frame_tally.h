/*
 * How often samples found methods with hooks on threads' stacks, kept apart from the trees: a
 * sample hangs under the node that its thread's exact path says, so that alone can never tell that
 * the path is wrong. Shares by tallies against exact ones can.
 *
 * What a sample cannot say is told as doubtful: whether a method was there where the walk did not
 * come to its end or a hook was interrupted, and what is inlined where compiled code was.
 *
 * With recursion=N a frame that is folded leaves its callers, up to the node where it continues,
 * out of the exact path: a method that is on the stack as one of these only is not counted there
 * either.
 *
 * Bounded: so many records, and samples beyond are counted as doubtful, or lost. By the thread that
 * merges samples.
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
    uint64_t samples;            /* that were added */
};

/* Innermost methods first, in both. */
struct tallied_sample {
    ledger_ref thread;
    uint64_t seen_ns;
    bool is_whole;    /* else the rest does not matter */
    bool is_compiled; /* compiled code was interrupted, of the method walked[inlined]; … */
    uint32_t inlined; /* … and so many were inlined there */
    uint32_t walked_count;
    uint32_t path_count;
    struct java_method **walked; /* on the stack */
    struct java_method **path;   /* on the exact path: all have records */
    struct java_method **room;   /* as much as walked has */
};

/* Forgets the records, which stay in the ledger. Tests alone do that. */
void frame_tallies__release(struct frame_tallies *tallies);

void frame_tallies__add(struct frame_tallies *tallies, const struct tallied_sample *sample);

#endif
