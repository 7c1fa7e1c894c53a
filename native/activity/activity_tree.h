/*
 * The activity profile: sampled logical stacks, merged from the bottom up into the call tree of
 * their thread.
 *
 * The merge of a stack takes its frames from the oldest to the youngest, beginning at the tree's
 * root: among the children of the current node the one with the frame's identifier and parameter
 * becomes current; if there is none, it is made. The node that is current at the end gets the
 * sample; sums are for reports. [The calling context tree of G. Ammons, T. Ball, J. Larus, PLDI
 * 1997, made from samples.]
 *
 * One thread at a time uses a tree; the memory is the ledger's.
 */
#ifndef TREADLE_ACTIVITY_TREE_H
#define TREADLE_ACTIVITY_TREE_H

#include "native/ledger/ledger.h"
#include "native/ledger/record_pool.h"

#include <stdint.h>

/* A frame as text. Without a parameter: parameter_length 0. */
struct activity_frame {
    const char *identifier;
    size_t identifier_length;
    const char *parameter;
    size_t parameter_length;
};

/* What a thread does when it is not running. */
enum activity_state {
    ACTIVITY_RUNNING, /* or ready to run */
    ACTIVITY_LOCK,
    ACTIVITY_IO,
    ACTIVITY_SLEEP,
    ACTIVITY_UNKNOWN,
    ACTIVITY_STATES,
};

/* What a sample stands for: the time since the thread's sample before. */
struct activity_share {
    uint64_t samples; /* 0: time only */
    uint64_t wall_ns;
    uint64_t cpu_ns;
    uint64_t runnable_ns;
    uint64_t waited_ns; /* of the rest: known to be of `state` */
    enum activity_state state;
};

/* Different parameters in one ledger; the others are "(other)". */
#define ACTIVITY_PARAMETERS_MAX 1000u
#define ACTIVITY_OTHER          "(other)"

struct activity_tree {
    struct ledger *ledger;
    struct record_pool pool;
    uint32_t parameters;     /* different ones so far */
    uint32_t parameters_max; /* ACTIVITY_PARAMETERS_MAX */
};

void activity_tree__init(struct activity_tree *tree, struct ledger *ledger);

/* A root, of a thread; none if the ledger is full. */
ledger_ref activity_tree__add_root(struct activity_tree *tree);

/* The first three steps of the merge: the node that stands for the stack, or for as much of it as
 * the ledger has room for. Frames without an identifier are left out. */
ledger_ref activity_tree__find(struct activity_tree *tree, ledger_ref root,
                               const struct activity_frame *frames, uint32_t count);

/* The method that stands for a frame; none: there is no room. */
ledger_ref activity_tree__method(struct activity_tree *tree, const struct activity_frame *frame);

/* The fourth step: the share goes to the node. */
void activity_tree__charge(struct activity_tree *tree, ledger_ref node,
                           const struct activity_share *share);

/* The metrics (bits) that charge fills in. */
uint64_t activity_tree__metrics(void);

#endif
