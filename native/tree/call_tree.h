/*
 * The calling context tree of the Java thread that a kernel thread runs: where it stands, and how
 * it moves. A node is one method in one calling context [G. Ammons, T. Ball, J. Larus: Exploiting
 * Hardware Performance Counters with Flow and Context Sensitive Profiling, PLDI 1997].
 *
 * Enter and leave take constant time: the child entered last is looked at first, then a small
 * direct-mapped cache, and only then the list of children or, where they are many, their index. A
 * cursor is used by one kernel thread at a time. Nothing here allocates memory but in the ledger,
 * locks or blocks.
 *
 * Events name what they enter and leave in one of two ways. JVMTI's name the method, by its key:
 * enter and leave. Hooks in classes get a token when they enter and give it back when they leave:
 * push and pop. A token says how deep the frame lies, and in which epoch (between a start and a
 * stop of profiling) it was entered. So an exit whose hook could not run (the stack was full) is
 * made good by the next event of any frame below, and frames of an earlier epoch do not count.
 *
 * Frames that stood on the stack when an epoch began have nodes, but no call and no token of the
 * epoch: the floor. Nobody need tell when they return. So while the youngest of them is current,
 * every push takes the slow way, for the host to look whether they still stand; they count in the
 * depth, as if they had tokens. Where events name methods the host asks at each event whether such
 * a frame, a seed, is current.
 *
 * With recursion=N a path has a method N times at most: an entry of it below that continues at the
 * node of its N-th frame, as often as it comes; it is folded. What its caller's node was, which
 * then is no parent of the current one, is in the tree's returns. Depths count frames, not nodes,
 * so tokens say the same as ever. While a frame is folded, nothing takes the fast ways.
 *
 * Three things happen beside plain nodes. A method that include=/exclude= leaves out has no node:
 * entering and leaving it does not move the cursor. When there is no room for a node the call is
 * counted and charged elsewhere, see folded_calls.h, and so is all that is called below it, until
 * it returns. And when an exit names a method that is not the current one (a frame went without an
 * event), the cursor goes up to where that method is.
 */
#ifndef TREADLE_CALL_TREE_H
#define TREADLE_CALL_TREE_H

#include "native/ledger/ledger.h"
#include "native/ledger/record_pool.h"
#include "native/tree/left_frames.h"
#include "native/tree/return_stack.h"

#include <stdbool.h>
#include <stdint.h>

#define CONTEXT_CACHE_SLOTS  256u
#define LEVEL_WALK_ANCESTORS 1024u

struct context_cache_slot {
    uint64_t key;
    ledger_ref parent;
    ledger_ref node; /* CONTEXT_EXCLUDED: the method has none anywhere (parent is 0) */
};

#define CONTEXT_EXCLUDED UINT32_MAX

/* Makes a method of a key that was not seen before: names it and decides whether it is left out.
 * Called on the thread that enters it, once a method as a rule. The ref, CONTEXT_EXCLUDED (left
 * out, whether or not there is room to note it), or none (full, or the method cannot be named). */
typedef ledger_ref (*call_tree_resolve)(void *context, uint64_t key);

#define PRUNING_DEPTH       64u
#define PRUNING_STANDS_BITS 1024u

/* Where pruning stands in a tree; see tree_pruning.h. */
struct pruning_hand {
    const struct ledger_thread *of; /* whose tree, … */
    uint64_t start_ns; /* … and when that began: the record may be another's by now */
    uint64_t moves;    /* of the thread, up to this hand's last: others may have been there since */
    ledger_ref at;
    bool goes_down;     /* its children are to be looked at first */
    uint32_t depth;     /* below the root */
    uint32_t looked;    /* at so many nodes in this round, … */
    uint32_t freed;     /* … of which so many are free */
    uint32_t nodes;     /* that the round before looked at */
    uint64_t most_ns;   /* the limit of what this round folded; 0: nothing yet */
    uint32_t looks;     /* of this call */
    uint32_t rounds;    /* ditto, begun */
    ledger_ref coldest; /* of the leaves that this call met and did not fold */
    uint64_t coldest_ns;
    uint32_t rest;                    /* so many calls are not worth it: the tree is too small */
    ledger_ref before[PRUNING_DEPTH]; /* by depth: the sibling before the hand's, or none known */
    uint64_t stands[PRUNING_STANDS_BITS / 64]; /* by hash: nodes that frames stand at */
};

struct call_tree {
    struct ledger *ledger;
    char *base; /* the ledger's, which never moves */
    struct ledger_node *current;
    uint64_t lost_depth; /* calls that run and found no room for a node; and flags, see below */
    uint64_t token;      /* what the next push gives out; the depth is counted in its low half */
    uint64_t floor;      /* frames without a token, the oldest ones: how many; where events name
                            methods, the youngest one's node; 0: none */
    struct ledger_thread *thread; /* whose tree it is; NULL: nobody's */
    bool admits_all;              /* what is left out by include=/exclude= has no events at all */
    bool unsure; /* frames came and went unseen: the next mismatch is no surprise */
    struct record_pool pool;
    struct pruning_hand hand;
    call_tree_resolve resolve;
    void *resolve_context;
    struct ledger_returns returns; /* of the folded frames */
    struct left_frames left;       /* what the returns tell, by method */
    struct context_cache_slot cache[CONTEXT_CACHE_SLOTS];
};

/* The youngest frame of the floor is current. A bit of lost_depth: that is what all fast ways look
 * at. */
#define CALL_TREE_ON_FLOOR (UINT64_C(1) << 63)

/* Ditto: frames may stand there that nobody has looked for yet. The host is to look before the next
 * event; if it cannot, there are none. */
#define CALL_TREE_UNSEEN (UINT64_C(1) << 62)

/* Ditto: a frame is folded. */
#define CALL_TREE_FOLDED (UINT64_C(1) << 61)

#define CALL_TREE_FLAGS (CALL_TREE_ON_FLOOR | CALL_TREE_UNSEEN | CALL_TREE_FOLDED)

void call_tree__init(struct call_tree *tree, struct ledger *ledger, call_tree_resolve resolve,
                     void *resolve_context);

/* A new root or gap node, linked below parent if there is one. None if the ledger is full. */
ledger_ref call_tree__add_plain_node(struct call_tree *tree, ledger_ref parent,
                                     enum ledger_node_kind kind);

/* The child of that method, found or made, with no call counted; none if the ledger is full. */
ledger_ref call_tree__child(struct call_tree *tree, ledger_ref parent, ledger_ref method,
                            uint64_t key);

/* The token of no frame: popping it does nothing. */
#define CALL_TOKEN_NONE UINT64_MAX

/* From here on tokens are of that epoch (not UINT32_MAX), and the current node is at depth 0. */
void call_tree__begin_epoch(struct call_tree *tree, uint32_t epoch);

/* Points the cursor at a node of tree->thread, which is current from now on. There is no floor, and
 * no frame is folded into one further up. With a lost_depth of 0 no call that found no room runs
 * any more. */
void call_tree__go_to(struct call_tree *tree, ledger_ref node, uint64_t lost_depth);

/* The folded frames are over. Async-signal-safe between two events. */
void call_tree__forget_returns(struct call_tree *tree);

/* The tree's returns are somebody else's from here on, and after call_tree__go_to it has others. */
struct ledger_returns call_tree__yield_returns(struct call_tree *tree);
void call_tree__resume_returns(struct call_tree *tree, const struct ledger_returns *returns);

/* The frames of these methods, oldest first, are the floor: below what was laid before, or below
 * the node that the cursor was pointed at last. */
void call_tree__lay_floor(struct call_tree *tree, const uint64_t *keys, uint32_t count);

/* The youngest frame of the floor, which is current, is left. False: that is of another method, or
 * lost. */
bool call_tree__leave_floor(struct call_tree *tree, uint64_t key);

static inline bool call_tree__is_on_floor(const struct call_tree *tree)
{
    return tree->lost_depth & CALL_TREE_ON_FLOOR;
}

static inline bool call_tree__is_unseen(const struct call_tree *tree)
{
    return tree->lost_depth & CALL_TREE_UNSEEN;
}

/* Enter and leave where the common case did not apply. */
void call_tree__enter_slowly(struct call_tree *tree, uint64_t key, bool counted);
void call_tree__leave_slowly(struct call_tree *tree, uint64_t key);

/* While a frame is folded: the current frame is left. */
void call_tree__go_back(struct call_tree *tree);

/* Push while the floor is current. */
uint64_t call_tree__push_from_floor(struct call_tree *tree, uint64_t key);

/* Pop and catch where the common case did not apply: exits were missed, or the call was lost. */
void call_tree__pop_slowly(struct call_tree *tree, uint64_t token);
void call_tree__catch_slowly(struct call_tree *tree, uint64_t token);

static inline struct ledger_node *call_tree__node(const struct call_tree *tree, ledger_ref ref)
{
    return (struct ledger_node *)(void *)(tree->base + (size_t)ref * LEDGER_CELL_BYTES);
}

/* Entry of a method. The charge up to now must be done. */
static inline void call_tree__enter(struct call_tree *tree, uint64_t key)
{
    struct ledger_node *child = call_tree__node(tree, tree->current->last_hit);

    /* With no child entered yet this looks at the ledger's header, whose magic is not a key. */
    if (__builtin_expect(child->key == key && tree->lost_depth == 0, 1)) {
        __atomic_store_n(&child->calls, child->calls + 1, __ATOMIC_RELAXED);
        tree->current = child;
        return;
    }
    call_tree__enter_slowly(tree, key, true);
}

/* A frame that was there before events began: a node, but no call. */
void call_tree__seed(struct call_tree *tree, uint64_t key);

/* The youngest of these is current: it may have returned, and its exit not been told. */
static inline bool call_tree__is_on_seed(const struct call_tree *tree)
{
    return tree->floor && tree->current == call_tree__node(tree, (ledger_ref)tree->floor);
}

/* Has the method no nodes? Events name methods. */
bool call_tree__leaves_out(struct call_tree *tree, uint64_t key);

static inline void call_tree__leave(struct call_tree *tree, uint64_t key)
{
    struct ledger_node *node = tree->current;

    if (__builtin_expect(node->key == key && tree->lost_depth == 0, 1) &&
        __builtin_expect(!call_tree__is_on_seed(tree), 1)) {
        tree->current = call_tree__node(tree, node->parent);
        return;
    }
    call_tree__leave_slowly(tree, key);
}

/* Entry of a method by a hook. The charge up to now must be done. */
static inline uint64_t call_tree__push(struct call_tree *tree, uint64_t key)
{
    uint64_t token = tree->token;

    if (__builtin_expect(call_tree__is_on_floor(tree), 0))
        return call_tree__push_from_floor(tree, key);
    tree->token = token + 1;
    call_tree__enter(tree, key);
    return token;
}

/* The frame that got the token is left. Twice is the same as once. */
static inline void call_tree__pop(struct call_tree *tree, uint64_t token)
{
    if (__builtin_expect(token + 1 == tree->token && tree->lost_depth == 0, 1)) {
        tree->current = call_tree__node(tree, tree->current->parent);
        tree->token = token;
        return;
    }
    call_tree__pop_slowly(tree, token);
}

/* The frame that got the token goes on; those above it are over. */
static inline void call_tree__catch(struct call_tree *tree, uint64_t token)
{
    if (__builtin_expect(token + 1 != tree->token, 0))
        call_tree__catch_slowly(tree, token);
}

#endif
