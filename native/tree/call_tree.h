/*
 * The calling context tree of the Java thread that a kernel thread runs, and a cursor: the thread's
 * position in the tree. A node is one method in one calling context [G. Ammons, T. Ball, J. Larus:
 * Exploiting Hardware Performance Counters with Flow and Context Sensitive Profiling, PLDI 1997].
 *
 * Enter and leave take constant time: the lookup tries the child entered last, then a small
 * direct-mapped cache, and only then the list of children or, for nodes with many children, their
 * index. A cursor is used by one kernel thread at a time. Nothing here locks or blocks, or
 * allocates memory outside the ledger.
 *
 * Events name what they enter and leave in one of two ways. JVMTI events name the method by its
 * key: enter and leave. Hooks in classes get a token at entry and return the token at exit: push
 * and pop. A token contains the frame's depth and the epoch (between a start and a stop of
 * profiling) in which the frame was entered. So when an exit hook could not run (the stack was
 * full), the next event of any frame below corrects the position, and frames of an earlier epoch do
 * not count.
 *
 * The floor is the set of frames that were on the stack when an epoch began. These frames have
 * nodes, but no call and no token of the epoch. No event reports their return. So while the
 * youngest of them is current, every push takes the slow path, and the host looks whether the
 * frames are still there. Floor frames count in the depth as if they had tokens. Where events name
 * methods, the host checks at each event whether such a frame, a seed, is current.
 *
 * With recursion=N a path has a method at most N times. A further entry of the method continues at
 * the node of the method's N-th frame: the new frame is folded. The node of the folded frame's
 * caller is then not the parent of the current node; the tree's returns remember the caller's node.
 * Depths count frames, not nodes, so tokens mean the same as without folding. While a frame is
 * folded, no event takes the fast paths.
 *
 * Logical frames (LEDGER_LOGICAL_KEYS) are entered and left as methods are, by their keys or
 * tokens. A frame that catches an exception keeps those that it pushed: they end by pops of their
 * own.
 *
 * Three cases do not follow the plain tree. A method that include=/exclude= leaves out has no node:
 * entering and leaving such a method does not move the cursor. A call for whose node there is no
 * room is counted and charged elsewhere, see folded_calls.h, with all calls below it, until it
 * returns. An exit that names a method other than the current one (a frame ended without an event)
 * moves the cursor up to the node of the named method.
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

/* Makes the record of a method whose key is new: names the method and decides whether the filter
 * leaves it out. Called on the thread that enters the method, as a rule once per method. Returns
 * the ref, CONTEXT_EXCLUDED (the method is left out, whether or not there is room to note that), or
 * none (the ledger is full, or the method has no name). */
typedef ledger_ref (*call_tree_resolve)(void *context, uint64_t key);

#define PRUNING_DEPTH       64u
#define PRUNING_STANDS_BITS 1024u

/* How far pruning has come in a tree; see tree_pruning.h. */
struct pruning_hand {
    const struct ledger_thread *of; /* the thread whose tree the hand goes around */
    uint64_t start_ns; /* when that thread began: tells whether its record was reused since */
    uint64_t moves; /* the thread's pruning_moves after this hand's last move: another hand may have
                       moved nodes since */
    ledger_ref at;  /* the node at which the hand stands */
    bool goes_down; /* the children of `at` come before `at` */
    uint32_t depth; /* of `at` below the root */
    uint32_t looked;    /* nodes looked at in this round */
    uint32_t freed;     /* nodes freed in this round */
    uint32_t nodes;     /* nodes looked at in the round before */
    uint32_t met_apart; /* nodes met in this round that are a (folded) other than the root's, or its
                           children */
    uint32_t apart;     /* such nodes met in the round before, and made since */
    bool has_worked;    /* since the last charge: the time is charged to the root */
    uint64_t most_ns;   /* what this round has added to folded_bound_ns; 0: nothing yet */
    uint32_t looks;     /* what the current call has cost, in looks at a node */
    uint32_t rounds;    /* rounds begun in the current call */
    ledger_ref coldest; /* of the leaves that this call met and did not fold; or none */
    uint64_t coldest_ns;
    uint32_t rest; /* so many of the next calls do nothing, because little can be folded */
    ledger_ref before[PRUNING_DEPTH]; /* by depth: the sibling before the node of the hand; none:
                                         not known */
    uint64_t stands[PRUNING_STANDS_BITS / 64]; /* by hash: nodes at which frames stand */
};

struct call_tree {
    struct ledger *ledger;
    char *base; /* the ledger's, which never moves */
    struct ledger_node *current;
    uint64_t lost_depth; /* open calls that found no room for a node, and the flags below */
    uint64_t token;      /* the token that the next push returns; its low half counts the depth */
    uint64_t floor;      /* how many floor frames there are; where events name methods: the youngest
                            one's node. 0: none */
    struct ledger_thread *thread; /* the thread of the tree, or NULL */
    bool admits_all; /* methods that include=/exclude= leave out have no events at all */
    bool unsure; /* frames may have come and gone without events: the next exit that does not match
                    is not counted as resynchronised */
    struct record_pool pool;
    struct pruning_hand hand;
    call_tree_resolve resolve;
    void *resolve_context;
    struct ledger_returns returns; /* of the folded frames */
    struct left_frames left;       /* frames left below the folded ones, as `returns` tell them */
    struct context_cache_slot cache[CONTEXT_CACHE_SLOTS];
};

/* A flag of lost_depth, which all fast paths check: the youngest frame of the floor is current. */
#define CALL_TREE_ON_FLOOR (UINT64_C(1) << 63)

/* A flag of lost_depth: there may be older frames that were not looked for yet. The host looks
 * before the next event; if the host cannot, there are none. */
#define CALL_TREE_UNSEEN (UINT64_C(1) << 62)

/* A flag of lost_depth: a frame is folded. */
#define CALL_TREE_FOLDED (UINT64_C(1) << 61)

#define CALL_TREE_FLAGS (CALL_TREE_ON_FLOOR | CALL_TREE_UNSEEN | CALL_TREE_FOLDED)

void call_tree__init(struct call_tree *tree, struct ledger *ledger, call_tree_resolve resolve,
                     void *resolve_context);

/* Makes a root or gap node, linked below parent if there is one. None if the ledger is full. */
ledger_ref call_tree__add_plain_node(struct call_tree *tree, ledger_ref parent,
                                     enum ledger_node_kind kind);

/* Finds or makes the child of that method, without counting a call; none if the ledger is full. */
ledger_ref call_tree__child(struct call_tree *tree, ledger_ref parent, ledger_ref method,
                            uint64_t key);

/* The token of no frame: popping it does nothing. */
#define CALL_TOKEN_NONE UINT64_MAX

/* Begins an epoch (not UINT32_MAX): new tokens are of that epoch, and the current node is at depth
 * 0. */
void call_tree__begin_epoch(struct call_tree *tree, uint32_t epoch);

/* Moves the cursor to a node of tree->thread. Afterwards there is no floor, and no frame is folded.
 * With a lost_depth of 0, no calls without room for a node are open. */
void call_tree__go_to(struct call_tree *tree, ledger_ref node, uint64_t lost_depth);

/* Forgets the folded frames. Async-signal-safe between two events. */
void call_tree__forget_returns(struct call_tree *tree);

/* yield: returns the tree's returns, which belong to the caller from here on; the tree has none
 * left. resume: gives the tree the returns of its current position, after call_tree__go_to. */
struct ledger_returns call_tree__yield_returns(struct call_tree *tree);
void call_tree__resume_returns(struct call_tree *tree, const struct ledger_returns *returns);

/* Adds the frames of these methods, oldest first, to the floor: below the frames added before, or
 * below the node to which the cursor was last moved. */
void call_tree__lay_floor(struct call_tree *tree, const uint64_t *keys, uint32_t count);

/* Leaves the youngest frame of the floor, which is current. False: that frame is of another method,
 * or calls without a node are open above it. */
bool call_tree__leave_floor(struct call_tree *tree, uint64_t key);

static inline bool call_tree__is_on_floor(const struct call_tree *tree)
{
    return tree->lost_depth & CALL_TREE_ON_FLOOR;
}

static inline bool call_tree__is_unseen(const struct call_tree *tree)
{
    return tree->lost_depth & CALL_TREE_UNSEEN;
}

/* Enter and leave outside the common case. */
void call_tree__enter_slowly(struct call_tree *tree, uint64_t key, bool counted);
void call_tree__leave_slowly(struct call_tree *tree, uint64_t key);

/* Leaves the current frame, whether or not a frame is folded. */
void call_tree__go_back(struct call_tree *tree);

/* Push while the floor is current. */
uint64_t call_tree__push_from_floor(struct call_tree *tree, uint64_t key);

/* Pop and catch outside the common case: exits were missed, or the call found no room for a node.
 */
void call_tree__pop_slowly(struct call_tree *tree, uint64_t token);
void call_tree__catch_slowly(struct call_tree *tree, uint64_t token);

static inline struct ledger_node *call_tree__node(const struct call_tree *tree, ledger_ref ref)
{
    return (struct ledger_node *)(void *)(tree->base + (size_t)ref * LEDGER_CELL_BYTES);
}

/* Entry of a method. Everything up to now must have been charged. */
static inline void call_tree__enter(struct call_tree *tree, uint64_t key)
{
    struct ledger_node *child = call_tree__node(tree, tree->current->last_hit);

    /* If no child was entered yet, this looks at the ledger's header, whose magic is not a key. */
    if (__builtin_expect(child->key == key && tree->lost_depth == 0, 1)) {
        __atomic_store_n(&child->calls, child->calls + 1, __ATOMIC_RELAXED);
        tree->current = child;
        return;
    }
    call_tree__enter_slowly(tree, key, true);
}

/* Enters the method of a frame that existed before events began: the frame has a node, but no call.
 * For events that name methods. */
void call_tree__seed(struct call_tree *tree, uint64_t key);

/* True if the youngest seed is current: it may have returned without an event. */
static inline bool call_tree__is_on_seed(const struct call_tree *tree)
{
    return tree->floor && tree->current == call_tree__node(tree, (ledger_ref)tree->floor);
}

/* Leaves the youngest frame that stands at that node, with the frames above it; none: a call
 * without room for a node. False: there is no such frame. Where events name methods. */
bool call_tree__leave_node(struct call_tree *tree, ledger_ref node);

/* True if the frame with that token is still open, of which `node` was the current one right after
 * its push. Frames that recursion has folded away from the path are found, and those with younger
 * calls without room for a node. False also where more than `most` frames are above it. */
bool call_tree__stands(const struct call_tree *tree, uint64_t token, const struct ledger_node *node,
                       uint64_t most);

/* True if the filter leaves the method out. For events that name methods. */
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

/* Entry of a method, from a hook. Everything up to now must have been charged. */
static inline uint64_t call_tree__push(struct call_tree *tree, uint64_t key)
{
    uint64_t token = tree->token;

    if (__builtin_expect(call_tree__is_on_floor(tree), 0))
        return call_tree__push_from_floor(tree, key);
    tree->token = token + 1;
    call_tree__enter(tree, key);
    return token;
}

/* Leaves the frame with this token. A second call with the token does nothing. */
static inline void call_tree__pop(struct call_tree *tree, uint64_t token)
{
    if (__builtin_expect(token + 1 == tree->token && tree->lost_depth == 0, 1)) {
        tree->current = call_tree__node(tree, tree->current->parent);
        tree->token = token;
        return;
    }
    call_tree__pop_slowly(tree, token);
}

/* The frame with this token continues; the frames above it have ended, except logical frames that
 * it pushed itself. */
static inline void call_tree__catch(struct call_tree *tree, uint64_t token)
{
    if (__builtin_expect(token + 1 != tree->token, 0))
        call_tree__catch_slowly(tree, token);
}

#endif
