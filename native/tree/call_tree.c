#include "native/tree/call_tree.h"

#include "native/tree/child_index.h"
#include "native/tree/folded_calls.h"
#include "native/tree/tree_pruning.h"

#include <string.h>

#define NEAR_ANCESTORS      16u /* most recursion comes back in fewer steps */
#define RESERVED_NODES_MOST 64u

void call_tree__init(struct call_tree *tree, struct ledger *ledger, call_tree_resolve resolve,
                     void *resolve_context)
{
    memset(tree, 0, sizeof(*tree));
    tree->ledger = ledger;
    tree->base = ledger->base;
    tree->pool.ledger = ledger;
    tree->resolve = resolve;
    tree->resolve_context = resolve_context;
}

static void link_child(struct ledger_node *parent, struct ledger_node *node, ledger_ref ref)
{
    node->next_sibling = parent->first_child;
    __atomic_store_n(&parent->first_child, ref, __ATOMIC_RELEASE);
}

ledger_ref call_tree__add_plain_node(struct call_tree *tree, ledger_ref parent,
                                     enum ledger_node_kind kind)
{
    ledger_ref ref = record_pool__node(&tree->pool);
    struct ledger_node *node;

    if (!ref)
        return 0;
    node = call_tree__node(tree, ref);
    node->parent = parent;
    node->kind_and_level = (uint32_t)kind << 24;
    if (kind == NODE_FOLDED)
        node->key = LEDGER_FOLDED_KEY;
    if (parent)
        link_child(call_tree__node(tree, parent), node, ref);
    if (parent && kind == NODE_FOLDED)
        child_index__add(&tree->pool, parent, ref);
    return ref;
}

void call_tree__begin_epoch(struct call_tree *tree, uint32_t epoch)
{
    tree->token = (uint64_t)epoch << 32;
}

void call_tree__forget_returns(struct call_tree *tree)
{
    return_stack__clear(&tree->pool, &tree->returns);
    left_frames__clear(&tree->left);
    tree->lost_depth &= ~CALL_TREE_FOLDED;
}

struct ledger_returns call_tree__yield_returns(struct call_tree *tree)
{
    struct ledger_returns returns = tree->returns;

    tree->returns = (struct ledger_returns){0};
    call_tree__forget_returns(tree);
    return returns;
}

/* Counts the frames from one node up to another one, both included, as left, so many times. */
static void leave_behind(struct call_tree *tree, const struct ledger_node *from,
                         const struct ledger_node *to, uint64_t times)
{
    for (; from->method; from = call_tree__node(tree, from->parent)) {
        left_frames__add(&tree->left, from->key, times);
        if (from == to)
            return;
    }
}

static const struct ledger_node *parent_of(const struct call_tree *tree,
                                           const struct ledger_node *node, uint32_t steps)
{
    for (; steps && node->method; steps--)
        node = call_tree__node(tree, node->parent);
    return node;
}

/* Works out the left frames. Each return leaves the frames from the node that it goes back to, up
 * to the node at which its folded frame continued. All returns of a run but the newest leave the
 * same frames. */
void call_tree__resume_returns(struct call_tree *tree, const struct ledger_returns *returns)
{
    struct ledger_returns below = *returns;
    bool found_no_room = tree->thread && tree->lost_depth & ~CALL_TREE_FLAGS;
    const struct ledger_node *node =
        found_no_room ? call_tree__node(tree, tree->thread->folded_below) : tree->current;

    tree->returns = *returns;
    tree->lost_depth &= ~CALL_TREE_FOLDED;
    if (!return_stack__is_empty(returns))
        tree->lost_depth |= CALL_TREE_FOLDED;
    while (!return_stack__is_empty(&below)) {
        const struct ledger_node *to = parent_of(tree, node, below.above);
        uint32_t repeats = below.repeats;

        node = call_tree__node(tree, return_stack__look_below(tree->ledger, &below));
        leave_behind(tree, node, to, 1);
        if (repeats > 1) {
            leave_behind(tree, node, parent_of(tree, node, below.above), repeats - 1);
            below.repeats = 0;
        }
    }
}

void call_tree__go_to(struct call_tree *tree, ledger_ref node, uint64_t lost_depth)
{
    if (tree->thread && !(lost_depth & ~CALL_TREE_FLAGS))
        folded_calls__forget(&tree->pool, tree->thread);
    call_tree__forget_returns(tree);
    tree->current = call_tree__node(tree, node);
    tree->lost_depth = lost_depth;
    tree->floor = 0;
    tree->token &= ~(uint64_t)UINT32_MAX;
    tree->unsure = false;
}

static struct context_cache_slot *cache_slot(struct call_tree *tree, ledger_ref parent,
                                             uint64_t key)
{
    uint64_t mixed = (key ^ (uint64_t)parent << 17) * 0x9e3779b97f4a7c15u;

    return &tree->cache[mixed >> 56];
}

_Static_assert(CONTEXT_CACHE_SLOTS == 256, "cache_slot takes eight bits");

static void remember(struct call_tree *tree, ledger_ref parent, uint64_t key, ledger_ref node)
{
    struct context_cache_slot *slot = cache_slot(tree, parent, key);

    slot->key = key;
    slot->parent = parent;
    slot->node = node;
}

/* The nearest node of the method on the path that ends at `parent`. None: the path has none, or it
 * is not found in so many steps; *far then is where the walk ended, or none at the root. */
static ledger_ref find_above(const struct call_tree *tree, ledger_ref parent, uint64_t key,
                             uint32_t steps, ledger_ref *far)
{
    for (; parent && steps; steps--) {
        const struct ledger_node *node = call_tree__node(tree, parent);

        if (node->key == key && node->method)
            return parent;
        parent = node->parent;
    }
    *far = parent;
    return 0;
}

/* A new node's recursion levels as kind_and_level has them: that of its path, and that of its first
 * frame. Where the walk would be too long, the reader works the level out. */
static uint32_t levels_of(const struct call_tree *tree, ledger_ref parent, uint64_t key)
{
    ledger_ref far = 0;
    ledger_ref above = find_above(tree, parent, key, LEVEL_WALK_ANCESTORS, &far);
    const struct ledger_node *node = call_tree__node(tree, above);
    uint32_t level = above ? ledger_node__path_level(node) + 1 : 0;
    uint32_t on_path = level < NODE_PATH_LEVEL_MAX ? level : NODE_PATH_LEVEL_MAX;

    if (tree->ledger->header->recursion)
        level = on_path;
    else if (level > NODE_PATH_LEVEL_MAX)
        level = ledger_node__level(node) + 1;
    else if (far)
        level = NODE_LEVEL_MAX;
    return on_path << NODE_PATH_SHIFT | (level < NODE_LEVEL_MAX ? level : NODE_LEVEL_MAX);
}

static uint32_t timed_bit(const struct call_tree *tree, ledger_ref method)
{
    const struct ledger_method *record = ledger__at(tree->ledger, method);

    return record->flags & METHOD_LATENCY ? NODE_TIMED : 0;
}

static ledger_ref add_method_node(struct call_tree *tree, ledger_ref parent, ledger_ref method,
                                  uint64_t key)
{
    ledger_ref ref = record_pool__node(&tree->pool);
    struct ledger_node *node;

    if (!ref)
        return 0;
    node = call_tree__node(tree, ref);
    node->key = key;
    node->method = method;
    node->parent = parent;
    node->kind_and_level =
        (uint32_t)NODE_EXACT << 24 | timed_bit(tree, method) | levels_of(tree, parent, key);
    link_child(call_tree__node(tree, parent), node, ref);
    child_index__add(&tree->pool, parent, ref);
    return ref;
}

static bool is_left_out(const struct call_tree *tree, ledger_ref method)
{
    if (!method || method == CONTEXT_EXCLUDED)
        return method == CONTEXT_EXCLUDED;
    return ((const struct ledger_method *)ledger__at(tree->ledger, method))->flags &
           METHOD_EXCLUDED;
}

/* The method's ref; CONTEXT_EXCLUDED if it is left out; none if there is no room or it has no name.
 */
static ledger_ref method_for(struct call_tree *tree, uint64_t key)
{
    const struct context_cache_slot *slot = cache_slot(tree, 0, key);
    ledger_ref method;

    if (slot->key == key && slot->node == CONTEXT_EXCLUDED)
        return CONTEXT_EXCLUDED;
    method = ledger__find_method(tree->ledger, key);
    if (!method)
        method = tree->resolve(tree->resolve_context, key);
    if (!is_left_out(tree, method))
        return method;
    remember(tree, 0, key, CONTEXT_EXCLUDED);
    return CONTEXT_EXCLUDED;
}

ledger_ref call_tree__child(struct call_tree *tree, ledger_ref parent, ledger_ref method,
                            uint64_t key)
{
    ledger_ref child = child_index__find(&tree->pool, parent, key);

    return child ? child : add_method_node(tree, parent, method, key);
}

/* The node at which an entry of the method continues, if the path has the method as often as
 * recursion=N allows; else none. */
static ledger_ref fold_target(const struct call_tree *tree, ledger_ref parent, uint64_t key,
                              uint32_t steps)
{
    uint32_t levels = tree->ledger->header->recursion;
    ledger_ref far, above = levels ? find_above(tree, parent, key, steps, &far) : 0;

    if (!above || ledger_node__path_level(call_tree__node(tree, above)) + 1 < levels)
        return 0;
    return above;
}

/* Each thread gets a few nodes of the reserved part, so that a thread that begins late has a tree,
 * too. */
static ledger_ref add_reserved_node(struct call_tree *tree, ledger_ref parent, ledger_ref method,
                                    uint64_t key)
{
    struct ledger_thread *thread = tree->thread;
    ledger_ref ref;

    if (!thread || thread->reserved_nodes >= RESERVED_NODES_MOST)
        return 0;
    tree->pool.takes_reserved = RESERVE_HALF;
    ref = add_method_node(tree, parent, method, key);
    tree->pool.takes_reserved = RESERVE_NONE;
    thread->reserved_nodes += ref != 0;
    return ref;
}

static ledger_ref add_where_tight(struct call_tree *tree, ledger_ref parent, ledger_ref method,
                                  uint64_t key)
{
    ledger_ref ref;

    if (tree_pruning__is_wanted(tree))
        (void)tree_pruning__make_room(tree);
    ref = add_method_node(tree, parent, method, key);
    return ref ? ref : add_reserved_node(tree, parent, method, key);
}

/* The child for the key, found or made, or the node above at which a folded frame continues;
 * CONTEXT_EXCLUDED; or none when the ledger is full. */
static ledger_ref node_for(struct call_tree *tree, ledger_ref parent, uint64_t key)
{
    const struct context_cache_slot *slot = cache_slot(tree, parent, key);
    ledger_ref method, child = call_tree__node(tree, parent)->last_hit;

    if (child_index__is_child(tree->ledger, child, parent, key))
        return child;
    if (fold_target(tree, parent, key, 1))
        return parent;
    /* The remembered node may have been folded since, and its record reused. */
    if (slot->key == key && slot->parent == parent &&
        child_index__is_child(tree->ledger, slot->node, parent, key))
        return slot->node;
    slot = cache_slot(tree, 0, key);
    if (slot->key == key && slot->node == CONTEXT_EXCLUDED)
        return CONTEXT_EXCLUDED;
    child = fold_target(tree, parent, key, NEAR_ANCESTORS);
    if (child)
        return child;
    child = child_index__find(&tree->pool, parent, key);
    if (!child) {
        method = method_for(tree, key);
        if (!method || method == CONTEXT_EXCLUDED)
            return method;
        child = fold_target(tree, parent, key, LEVEL_WALK_ANCESTORS);
        if (child)
            return child;
        child = add_where_tight(tree, parent, method, key);
        if (!child)
            return 0;
    }
    remember(tree, parent, key, child);
    return child;
}

static void count_lost(struct call_tree *tree)
{
    struct ledger_header *header = tree->ledger->header;
    struct ledger_thread *thread = tree->thread;

    if (!thread) {
        ledger__count(&header->dropped_enters, 1);
        return;
    }
    __atomic_store_n(&thread->lost_enters, thread->lost_enters + 1, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&header->calls_lost, __ATOMIC_RELAXED))
        __atomic_store_n(&header->calls_lost, 1, __ATOMIC_RELAXED);
}

static void count_call(struct ledger_node *node)
{
    __atomic_store_n(&node->calls, node->calls + 1, __ATOMIC_RELAXED);
}

/* A call for whose node there is no room, or that is made in such a call. While such calls are
 * open, every entry and every exit changes the depth, whatever the method: whether a method is left
 * out may become known between its entry and its exit. */
static void fold_call(struct call_tree *tree, uint64_t key, bool counted)
{
    uint64_t depth = tree->lost_depth & ~CALL_TREE_FLAGS;
    ledger_ref method = method_for(tree, key), node = 0;
    bool left_out = method == CONTEXT_EXCLUDED;

    if (tree->thread && !left_out)
        node = folded_calls__node(tree, tree->thread, method, key);
    if (!node && tree->thread && method && !left_out && tree_pruning__make_room(tree))
        node = folded_calls__node(tree, tree->thread, method, key);
    tree->lost_depth++;
    if (!folded_calls__begin(tree, depth, node))
        node = 0;
    if (!counted || (left_out && !tree->admits_all))
        return;
    if (node) {
        count_call(call_tree__node(tree, node));
        tree->thread->unplaced_calls++;
    } else {
        count_lost(tree);
    }
}

/* The current frame calls a folded frame, which continues at `node`. False: the ledger is full. */
static bool continue_at(struct call_tree *tree, struct ledger_node *node)
{
    if (!return_stack__push(&tree->pool, &tree->returns, ledger__ref(tree->ledger, tree->current)))
        return false;
    leave_behind(tree, tree->current, node, 1);
    tree->lost_depth |= CALL_TREE_FOLDED;
    return true;
}

/* Raises the node's level to that of a frame whose recursion is deeper than its path tells. */
static void note_level(const struct call_tree *tree, struct ledger_node *node)
{
    uint64_t left = left_frames__of(&tree->left, node->key);

    if (left)
        ledger_node__raise_level(node, ledger_node__path_level(node) + left);
}

/* False: the method is left out and has no nodes. */
static bool enter(struct call_tree *tree, uint64_t key, bool counted)
{
    ledger_ref parent = ledger__ref(tree->ledger, tree->current), ref;
    struct ledger_node *node;

    ref = tree->lost_depth & ~CALL_TREE_FLAGS ? 0 : node_for(tree, parent, key);
    if (ref == CONTEXT_EXCLUDED)
        return false;
    node = call_tree__node(tree, ref);
    if (!ref || (node->parent != parent && !continue_at(tree, node))) {
        fold_call(tree, key, counted);
        return true;
    }
    if (node->parent == parent) {
        tree->current->last_hit = ref;
        tree->returns.above += (tree->lost_depth & CALL_TREE_FOLDED) != 0;
    }
    if (tree->lost_depth & CALL_TREE_FOLDED)
        note_level(tree, node);
    if (counted)
        count_call(node);
    tree->current = node;
    return true;
}

void call_tree__enter_slowly(struct call_tree *tree, uint64_t key, bool counted)
{
    (void)enter(tree, key, counted);
}

void call_tree__lay_floor(struct call_tree *tree, const uint64_t *keys, uint32_t count)
{
    tree->lost_depth &= ~(CALL_TREE_ON_FLOOR | CALL_TREE_UNSEEN);
    for (uint32_t i = 0; i < count; i++) {
        if (!enter(tree, keys[i], false))
            continue;
        tree->floor++;
        tree->token++;
    }
    if (tree->floor)
        tree->lost_depth |= CALL_TREE_ON_FLOOR;
}

/* Leaves a depth out, so that the pop takes the slow path, too, which sets the flag of the floor
 * again. */
uint64_t call_tree__push_from_floor(struct call_tree *tree, uint64_t key)
{
    uint64_t token = tree->token;

    tree->token = token + 2;
    tree->lost_depth &= ~CALL_TREE_ON_FLOOR;
    call_tree__enter(tree, key);
    return token;
}

void call_tree__seed(struct call_tree *tree, uint64_t key)
{
    if (enter(tree, key, false) && !(tree->lost_depth & ~CALL_TREE_FLAGS))
        tree->floor = ledger__ref(tree->ledger, tree->current);
}

bool call_tree__leaves_out(struct call_tree *tree, uint64_t key)
{
    return method_for(tree, key) == CONTEXT_EXCLUDED;
}
