#include "native/tree/tree_pruning.h"

#include "native/tree/child_index.h"
#include "native/tree/folded_calls.h"
#include "native/tree/node_move.h"

#include <string.h>

#define LOOKS_MOST     128u  /* nodes that one call looks at, … */
#define LOOKS_IN_NEED  4096u /* … and one try of a call where no node is free */
#define TRIES_IN_NEED  3u
#define FREED_ENOUGH   16u   /* nodes after which a call ends */
#define COLD_FIRST_NS  1000u /* the limit of the first round */
#define COLD_MOST_NS   (UINT64_C(1) << 56)
#define SMALL_TREE     256u /* a tree of fewer nodes loses none that is not cold */
#define SPARE_PART     256u /* a tree's writer keeps one free node for so many nodes of the tree, … */
#define SPARE_LEAST    64u   /* … but at least so many, … */
#define SPARE_MOST     384u  /* … and at most so many: what a pool keeps to itself */
#define SHARED_FROM    1024u /* a tree of so many nodes frees some for other threads, too */
#define ANCESTORS_MOST 256u  /* walked to find one that is not cold */
#define RETURNS_MOST   4096u /* runs of returns; with more of them nothing is folded */
#define APART_PART     32u /* at most this part of the nodes is in a (folded) other than the root's */
#define FREED_LEAST    8u /* a round that frees less than this part of its nodes raises the limit */
#define ROUNDS_MOST    2u /* begun by one call that frees nothing */
#define ROUND_LOOKS    16u /* a round of fewer nodes does not raise the limit; if it freed none, … */
#define REST_CALLS     64u /* … so many calls do nothing */
#define REST_IN_NEED   8u /* so many calls do nothing after one that needed a node and freed none */

static struct ledger_node *node_at(const struct call_tree *tree, ledger_ref ref)
{
    return call_tree__node(tree, ref);
}

static bool is_folded(const struct ledger_node *node)
{
    return ledger_node__kind(node) == NODE_FOLDED;
}

static void store(uint64_t *counter, uint64_t value)
{
    __atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

/* ---- where frames stand ---- */

static uint64_t *stands_word(struct call_tree *tree, ledger_ref ref, uint64_t *bit)
{
    uint32_t slot = ref * 2654435761u >> 22;

    _Static_assert(PRUNING_STANDS_BITS == 1u << 10, "a slot has ten bits");

    *bit = UINT64_C(1) << slot % 64;
    return &tree->hand.stands[slot / 64];
}

static void mark(struct call_tree *tree, ledger_ref ref)
{
    uint64_t bit, *word = stands_word(tree, ref, &bit);

    *word |= bit;
}

/* True if a frame stands at the node, or at another node of the same hash. Ancestors of such nodes
 * need no mark: they are no leaves. */
static bool may_stand(struct call_tree *tree, ledger_ref ref)
{
    uint64_t bit;

    return *stands_word(tree, ref, &bit) & bit;
}

/* Marks the current node and the nodes to which folded frames and calls without room go back.
 * False: there are too many. */
static bool mark_standing(struct call_tree *tree)
{
    struct ledger_returns below = tree->returns;
    uint32_t runs = 0;

    memset(tree->hand.stands, 0, sizeof(tree->hand.stands));
    mark(tree, ledger__ref(tree->ledger, tree->current));
    if (tree->thread->folded_depth)
        mark(tree, tree->thread->folded_below);
    for (; !return_stack__is_empty(&below) && runs < RETURNS_MOST; runs++) {
        below.repeats = 0;
        mark(tree, return_stack__look_below(tree->ledger, &below));
    }
    return runs < RETURNS_MOST;
}

/* ---- what may be folded ---- */

/* What the node has consumed, in ns: the largest of CPU time, a part of wall time, and a price of
 * its calls. */
static uint64_t warmth_ns(const struct ledger_node *node)
{
    uint64_t warmth_ns = node->cpu_ns, wall_ns = ledger_node__wall_ns(node) / PRUNING_WALL_FACTOR;

    if (warmth_ns < wall_ns)
        warmth_ns = wall_ns;
    if (warmth_ns / PRUNING_CALL_NS < node->calls)
        warmth_ns = node->calls * PRUNING_CALL_NS;
    return warmth_ns;
}

/* True if the node has consumed less than the thread's limit. A root is never cold. */
static bool is_cold(const struct call_tree *tree, const struct ledger_node *node)
{
    return node->parent && warmth_ns(node) < tree->thread->cold_ns;
}

/* True for the warmest of the cold nodes: a few of them together are no longer cold. */
static bool is_tepid(const struct call_tree *tree, const struct ledger_node *node)
{
    return warmth_ns(node) >= tree->thread->cold_ns / 4;
}

/* True for a context without exact nodes below it, and at which no frame stands. */
static bool is_free_leaf(struct call_tree *tree, ledger_ref ref, const struct ledger_node *node)
{
    return node->method && !node->first_child && !may_stand(tree, ref);
}

/* True if a leaf may go to a (folded) other than the root's. Nodes there tell where the time went,
 * but each stands for no single context, so they are few. */
static bool may_stay_apart(const struct call_tree *tree, const struct ledger_node *leaf)
{
    return is_tepid(tree, leaf) && tree->hand.apart < tree->hand.nodes / APART_PART;
}

/* The nearest ancestor that is not cold, or at which a frame stands. */
static ledger_ref staying_above(struct call_tree *tree, const struct ledger_node *leaf)
{
    ledger_ref ref = leaf->parent;

    for (uint32_t steps = 0;
         steps < ANCESTORS_MOST && is_cold(tree, node_at(tree, ref)) && !may_stand(tree, ref);
         steps++)
        ref = node_at(tree, ref)->parent;
    return ref;
}

/* Makes a (folded) of a freed node only: the reserved part is for threads that begin. */
static ledger_ref make_folded(struct call_tree *tree, ledger_ref above)
{
    enum record_reserve before = tree->pool.takes_reserved;
    ledger_ref ref;

    tree->pool.takes_reserved = RESERVE_NONE;
    ref = call_tree__add_plain_node(tree, above, NODE_FOLDED);
    tree->pool.takes_reserved = before;
    tree->hand.apart += ref != 0;
    return ref;
}

/* The (folded) to which a leaf goes. A leaf that is nearly warm goes below its nearest ancestor
 * that stays, and so does a leaf whose method has a node there. All others go below the root, where
 * each method has one node for all. */
static ledger_ref target_of(struct call_tree *tree, const struct ledger_node *leaf)
{
    ledger_ref above = leaf->parent, folded;
    bool stays_apart;

    if (is_folded(node_at(tree, above)))
        return folded_calls__top(tree, tree->thread);
    above = staying_above(tree, leaf);
    if (above == tree->thread->root)
        return folded_calls__top(tree, tree->thread);
    stays_apart = may_stay_apart(tree, leaf);
    folded = child_index__find(&tree->pool, above, LEDGER_FOLDED_KEY);
    if (folded && (stays_apart || child_index__find(&tree->pool, folded, leaf->key)))
        return folded;
    folded = stays_apart ? make_folded(tree, above) : 0;
    return folded ? folded : folded_calls__top(tree, tree->thread);
}

static void count_contexts(struct ledger_node *folded, uint32_t more)
{
    uint32_t sum = folded->contexts + more;

    __atomic_store_n(&folded->contexts, sum < more ? UINT32_MAX : sum, __ATOMIC_RELAXED);
}

static void count_move(struct call_tree *tree, bool frees)
{
    tree->hand.moves = ++tree->thread->pruning_moves;
    tree->hand.freed += frees;
}

/* Adds to the bound of what a context without a node can have consumed. A round folds a context
 * only once, and no more of it than its limit, or than the warmest leaf that it folded in need. */
static void count_folding(struct call_tree *tree, struct ledger_node *folded, uint64_t cpu_ns)
{
    struct ledger_thread *thread = tree->thread;
    uint64_t most_ns = cpu_ns > thread->cold_ns ? cpu_ns : thread->cold_ns;

    if (most_ns > tree->hand.most_ns) {
        store(&thread->folded_bound_ns, thread->folded_bound_ns + most_ns - tree->hand.most_ns);
        tree->hand.most_ns = most_ns;
    }
    store(&thread->foldings, thread->foldings + 1);
    count_contexts(folded, 1);
}

/* Frees a (folded) that has no children any more. False: it stays. */
static bool drop_folded(struct call_tree *tree, ledger_ref ref, ledger_ref before)
{
    ledger_ref top = folded_calls__top(tree, tree->thread);
    uint32_t contexts = node_at(tree, ref)->contexts;

    if (node_at(tree, ref)->first_child || !top || !node_move__drop(tree, ref, before))
        return false;
    count_contexts(node_at(tree, top), contexts);
    count_move(tree, true);
    return true;
}

/* True: the leaf has left its place. */
static bool fold_leaf(struct call_tree *tree, ledger_ref ref, ledger_ref before)
{
    const struct ledger_node *node = node_at(tree, ref);
    bool was_folded = is_folded(node_at(tree, node->parent));
    uint64_t cpu_ns = node->cpu_ns;
    ledger_ref folded, to;

    folded = target_of(tree, node);
    to = folded ? child_index__find(&tree->pool, folded, node->key) : 0;
    if (!folded || (to && !node_move__samples(tree, ref, to)) ||
        !(to ? node_move__join(tree, ref, to, before)
             : node_move__relink(tree, ref, folded, before)))
        return false;
    count_move(tree, to != 0);
    tree->hand.apart += folded != tree->thread->folded && !to;
    if (!was_folded)
        count_folding(tree, node_at(tree, folded), cpu_ns);
    return true;
}

static void note_leaf(struct call_tree *tree, ledger_ref ref, uint64_t warmth_ns)
{
    struct pruning_hand *hand = &tree->hand;

    if (hand->coldest && warmth_ns >= hand->coldest_ns)
        return;
    hand->coldest = ref;
    hand->coldest_ns = warmth_ns;
}

/* True: the node has left its place. */
static bool fold(struct call_tree *tree, ledger_ref ref, ledger_ref before)
{
    const struct ledger_node *node = node_at(tree, ref);

    if (is_folded(node))
        return drop_folded(tree, ref, before);
    if (!is_free_leaf(tree, ref, node))
        return false;
    if (is_cold(tree, node))
        return fold_leaf(tree, ref, before);
    if (!is_folded(node_at(tree, node->parent)))
        note_leaf(tree, ref, warmth_ns(node));
    return false;
}

/* ---- the hand ---- */

/* Skips the root's (folded): the nodes below it stay where they are. */
static ledger_ref skip_top(const struct call_tree *tree, ledger_ref ref, ledger_ref *before)
{
    if (!ref || ref != tree->thread->folded)
        return ref;
    *before = ref;
    return node_at(tree, ref)->next_sibling;
}

static void set_before(struct pruning_hand *hand, ledger_ref before)
{
    if (hand->depth < PRUNING_DEPTH)
        hand->before[hand->depth] = before;
}

static ledger_ref before_of(const struct pruning_hand *hand)
{
    return hand->depth < PRUNING_DEPTH ? hand->before[hand->depth] : 0;
}

static void begin_round(struct call_tree *tree)
{
    struct pruning_hand *hand = &tree->hand;
    struct ledger_thread *thread = tree->thread;

    if (!thread->cold_ns)
        thread->cold_ns = COLD_FIRST_NS;
    else if (hand->looked >= ROUND_LOOKS && hand->freed < hand->looked / FREED_LEAST &&
             thread->cold_ns < COLD_MOST_NS)
        thread->cold_ns += thread->cold_ns / 2;
    if (hand->of && !hand->freed && hand->looked < ROUND_LOOKS)
        hand->rest = REST_CALLS;
    hand->of = thread;
    hand->start_ns = thread->start_ns;
    hand->moves = thread->pruning_moves;
    hand->at = thread->root;
    hand->goes_down = true;
    hand->nodes = hand->looked;
    hand->apart = hand->met_apart;
    hand->met_apart = 0;
    hand->rounds++;
    hand->depth = hand->looked = hand->freed = 0;
    hand->most_ns = 0;
    hand->coldest = 0;
    memset(hand->before, 0, sizeof(hand->before));
}

/* Moves the hand to the next node, children before their parents. */
static void go_on(struct call_tree *tree, ledger_ref next_sibling, ledger_ref parent,
                  ledger_ref before)
{
    struct pruning_hand *hand = &tree->hand;
    ledger_ref next = skip_top(tree, next_sibling, &before);

    if (next) {
        set_before(hand, before);
        hand->at = next;
        hand->goes_down = true;
        return;
    }
    hand->at = parent;
    hand->goes_down = false;
    hand->depth--;
}

static void look(struct call_tree *tree)
{
    struct pruning_hand *hand = &tree->hand;
    const struct ledger_node *node = node_at(tree, hand->at);
    ledger_ref before = 0, child, next, parent, ref = hand->at;
    bool gone;

    hand->looks++;
    if (hand->goes_down) {
        child = skip_top(tree, node->first_child, &before);
        hand->goes_down = child != 0;
        if (child) {
            hand->at = child;
            hand->depth++;
            set_before(hand, before);
        }
        return;
    }
    if (ref == tree->thread->root) {
        begin_round(tree);
        return;
    }
    next = node->next_sibling;
    parent = node->parent;
    before = before_of(hand);
    hand->looked++;
    hand->met_apart += is_folded(node) || is_folded(node_at(tree, parent));
    gone = fold(tree, ref, before);
    go_on(tree, next, parent, gone ? before : ref);
}

static bool is_of_thread(const struct call_tree *tree)
{
    return tree->thread && tree->hand.of == tree->thread &&
           tree->hand.start_ns == tree->thread->start_ns &&
           tree->hand.moves == tree->thread->pruning_moves && tree->hand.at;
}

/* How many nodes became free in so many looks. */
static uint32_t fold_cold(struct call_tree *tree, uint32_t looks_most)
{
    struct pruning_hand *hand = &tree->hand;
    uint32_t freed = 0;

    hand->looks = hand->rounds = hand->coldest = 0;
    while (hand->looks < looks_most && freed < FREED_ENOUGH && !hand->rest &&
           (freed || hand->rounds < ROUNDS_MOST)) {
        uint32_t before = hand->freed;

        look(tree);
        freed += hand->freed > before;
    }
    return freed;
}

/* Folds the coldest leaf that the hand met, where it met nothing cold. A small tree would lose one
 * of its few contexts, so nothing is folded there. False: the leaf stays. */
static bool fold_coldest(struct call_tree *tree)
{
    const struct pruning_hand *hand = &tree->hand;
    bool is_small = hand->nodes < SMALL_TREE && hand->looked < SMALL_TREE;

    return !is_small && hand->coldest && hand->coldest != hand->at &&
           fold_leaf(tree, hand->coldest, 0);
}

/* Frees a node where none is free. The first context of a method that is folded frees none: its
 * node becomes the method's. */
static uint32_t fold_in_need(struct call_tree *tree)
{
    struct pruning_hand *hand = &tree->hand;
    uint32_t freed = 0;

    for (unsigned tries = 0; !freed && tries < TRIES_IN_NEED; tries++) {
        uint32_t before;

        freed = fold_cold(tree, LOOKS_IN_NEED);
        before = hand->freed;
        if (!freed && !fold_coldest(tree))
            break;
        freed += hand->freed - before;
    }
    if (!freed && !hand->rest)
        hand->rest = REST_IN_NEED;
    return freed;
}

static bool fold_some(struct call_tree *tree)
{
    struct pruning_hand *hand = &tree->hand;
    uint32_t freed;

    if (!is_of_thread(tree)) {
        hand->of = NULL;
        hand->looked = hand->freed = hand->met_apart = 0;
        begin_round(tree);
    }
    if (!mark_standing(tree)) {
        hand->rest = REST_CALLS;
        return false;
    }
    tree->pool.takes_reserved = RESERVE_HALF;
    freed =
        record_pool__lacks_nodes(&tree->pool, 1) ? fold_in_need(tree) : fold_cold(tree, LOOKS_MOST);
    tree->pool.takes_reserved = RESERVE_NONE;
    return freed != 0;
}

bool tree_pruning__is_wanted(const struct call_tree *tree)
{
    uint32_t nodes = is_of_thread(tree) ? tree->hand.nodes : 0, spare = nodes / SPARE_PART;

    if (nodes >= SHARED_FROM && !record_pool__shares_nodes(&tree->pool))
        return record_pool__lacks_nodes(&tree->pool, 2 * RECORD_POOL_CHAIN);
    if (spare < SPARE_LEAST)
        spare = SPARE_LEAST;
    return record_pool__lacks_nodes(&tree->pool, spare < SPARE_MOST ? spare : SPARE_MOST);
}

bool tree_pruning__make_room(struct call_tree *tree)
{
    bool folded;

    if (!tree->thread)
        return false;
    if (tree->hand.rest && is_of_thread(tree)) {
        tree->hand.rest--;
        return false;
    }
    tree->hand.rest = 0;
    if (!ledger__begin_folding(tree->ledger))
        return false;
    tree->hand.has_worked = true;
    folded = fold_some(tree);
    ledger__end_folding(tree->ledger);
    return folded;
}
