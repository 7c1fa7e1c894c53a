#include "native/call_tree.h"

#include "native/child_index.h"
#include "native/folded_calls.h"

#include <string.h>

void call_tree__init(struct call_tree *tree, struct ledger *ledger, call_tree_resolve resolve,
                     void *resolve_context)
{
    memset(tree, 0, sizeof *tree);
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
    if (parent)
        link_child(call_tree__node(tree, parent), node, ref);
    return ref;
}

void call_tree__begin_epoch(struct call_tree *tree, uint32_t epoch)
{
    tree->token = (uint64_t)epoch << 32;
}

void call_tree__go_to(struct call_tree *tree, ledger_ref node, uint64_t lost_depth)
{
    if (tree->thread && !(lost_depth & ~CALL_TREE_FLAGS))
        folded_calls__forget(&tree->pool, tree->thread);
    tree->current = call_tree__node(tree, node);
    tree->lost_depth = lost_depth;
    tree->floor = 0;
    tree->token &= ~(uint64_t)UINT32_MAX;
    tree->unsure = false;
}

void call_tree__lay_floor(struct call_tree *tree, const uint64_t *keys, uint32_t count)
{
    tree->lost_depth &= ~(CALL_TREE_ON_FLOOR | CALL_TREE_UNSEEN);
    for (uint32_t i = 0; i < count; i++) {
        const struct ledger_node *before = tree->current;
        uint64_t lost = tree->lost_depth;

        call_tree__enter_slowly(tree, keys[i], false);
        if (tree->current == before && tree->lost_depth == lost)
            continue;
        tree->floor++;
        tree->token++;
    }
    if (tree->floor)
        tree->lost_depth |= CALL_TREE_ON_FLOOR;
}

bool call_tree__leave_floor(struct call_tree *tree, uint64_t key)
{
    if (tree->lost_depth != CALL_TREE_ON_FLOOR || tree->current->key != key)
        return false;
    tree->current = call_tree__node(tree, tree->current->parent);
    tree->token--;
    tree->floor--;
    if (!tree->floor)
        tree->lost_depth = 0;
    return true;
}

/* Leaves a depth out, so that the pop, too, takes the slow way, which finds the floor again. */
uint64_t call_tree__push_from_floor(struct call_tree *tree, uint64_t key)
{
    uint64_t token = tree->token;

    tree->token = token + 2;
    tree->lost_depth &= ~CALL_TREE_ON_FLOOR;
    call_tree__enter(tree, key);
    return token;
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

/* Times the method stands above; the reader counts for itself where the walk would be too long. */
static uint32_t recursion_level(const struct call_tree *tree, ledger_ref parent, uint64_t key)
{
    for (uint32_t steps = 0; parent && steps < LEVEL_WALK_ANCESTORS; steps++) {
        const struct ledger_node *node = call_tree__node(tree, parent);
        uint32_t level = ledger_node__level(node);

        if (node->method && node->key == key)
            return level >= NODE_LEVEL_MAX - 1 ? NODE_LEVEL_MAX : level + 1;
        parent = node->parent;
    }
    return parent ? NODE_LEVEL_MAX : 0;
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
    node->kind_and_level = (uint32_t)NODE_EXACT << 24 | recursion_level(tree, parent, key);
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

/* The method's ref; CONTEXT_EXCLUDED if it is left out; none if it cannot be had. */
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

/* The child for the key, found or made; CONTEXT_EXCLUDED; or none when the ledger is full. */
static ledger_ref child_for(struct call_tree *tree, ledger_ref parent, uint64_t key)
{
    const struct context_cache_slot *slot = cache_slot(tree, parent, key);
    ledger_ref method, child;

    /* What is remembered may have been folded away since, and used again. */
    if (slot->key == key && slot->parent == parent &&
        child_index__is_child(tree->ledger, slot->node, parent, key))
        return slot->node;
    slot = cache_slot(tree, 0, key);
    if (slot->key == key && slot->node == CONTEXT_EXCLUDED)
        return CONTEXT_EXCLUDED;
    child = child_index__find(&tree->pool, parent, key);
    if (!child) {
        method = method_for(tree, key);
        if (!method || method == CONTEXT_EXCLUDED)
            return method;
        child = add_method_node(tree, parent, method, key);
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

/* There is no room for a node of this context, or of one above. There, every entry and every exit
 * counts for the depth, whatever the method: whether it is left out may become known in between. */
static void fold_call(struct call_tree *tree, uint64_t key, bool counted)
{
    uint64_t depth = tree->lost_depth & ~CALL_TREE_FLAGS;
    ledger_ref method = method_for(tree, key), node = 0;
    bool left_out = method == CONTEXT_EXCLUDED;

    if (tree->thread && !left_out)
        node = folded_calls__node(tree, tree->thread, method, key);
    tree->lost_depth++;
    if (!folded_calls__begin(tree, depth, node))
        node = 0;
    if (!counted || (left_out && !tree->admits_all))
        return;
    if (node)
        count_call(call_tree__node(tree, node));
    else
        count_lost(tree);
}

/* The youngest so many of these calls are over. */
static void end_folded(struct call_tree *tree, uint64_t count)
{
    folded_calls__end(tree, tree->lost_depth & ~CALL_TREE_FLAGS, count);
    tree->lost_depth -= count;
}

void call_tree__enter_slowly(struct call_tree *tree, uint64_t key, bool counted)
{
    ledger_ref parent = ledger__ref(tree->ledger, tree->current);
    struct ledger_node *node;
    ledger_ref child;

    if (tree->lost_depth) {
        fold_call(tree, key, counted);
        return;
    }
    child = child_for(tree, parent, key);
    if (child == CONTEXT_EXCLUDED)
        return;
    if (!child) {
        fold_call(tree, key, counted);
        return;
    }
    node = call_tree__node(tree, child);
    tree->current->last_hit = child;
    if (counted)
        count_call(node);
    tree->current = node;
}

void call_tree__seed(struct call_tree *tree, uint64_t key)
{
    const struct ledger_node *before = tree->current;

    call_tree__enter_slowly(tree, key, false);
    if (tree->current != before && !tree->lost_depth)
        tree->floor = ledger__ref(tree->ledger, tree->current);
}

bool call_tree__leaves_out(struct call_tree *tree, uint64_t key)
{
    return method_for(tree, key) == CONTEXT_EXCLUDED;
}

static bool is_seed(const struct call_tree *tree, const struct ledger_node *node)
{
    return tree->floor && node == call_tree__node(tree, (ledger_ref)tree->floor);
}

/* The cursor goes above a node. */
static void leave_node(struct call_tree *tree, const struct ledger_node *node, bool was_seed)
{
    tree->current = call_tree__node(tree, node->parent);
    if (was_seed)
        tree->floor = tree->current->method ? node->parent : 0;
}

void call_tree__leave_slowly(struct call_tree *tree, uint64_t key)
{
    const struct ledger_node *node = tree->current;
    bool was_seed = is_seed(tree, node);

    if (tree->lost_depth) {
        end_folded(tree, 1);
        return;
    }
    if (method_for(tree, key) == CONTEXT_EXCLUDED)
        return;
    while (node->method && node->key != key) {
        node = call_tree__node(tree, node->parent);
        was_seed |= is_seed(tree, node);
    }
    if (!tree->unsure && (node != tree->current || !node->method))
        ledger__count(&tree->ledger->header->resynchronised, 1);
    if (node->method) {
        leave_node(tree, node, was_seed);
        tree->unsure = false;
    }
}

/* Goes up to where `token` is the next one. That exits were missed is no loss: the frames are over,
 * and so are their calls. */
static void unwind(struct call_tree *tree, uint64_t token)
{
    bool has_floor = tree->floor != 0;
    uint64_t depth = (uint32_t)token, frames, lost;

    /* No frame has the depth that push_from_floor leaves out. */
    if (has_floor && depth == tree->floor + 1)
        token++;
    if ((token ^ tree->token) >> 32 || token >= tree->token || depth < tree->floor)
        return;
    frames = tree->token - token - (has_floor && depth <= tree->floor);
    lost = frames < tree->lost_depth ? frames : tree->lost_depth;
    tree->token = token;
    if (lost)
        end_folded(tree, lost);
    for (uint64_t left = frames - lost; left && tree->current->method; left--)
        tree->current = call_tree__node(tree, tree->current->parent);
    if (has_floor && depth == tree->floor)
        tree->lost_depth |= CALL_TREE_ON_FLOOR;
}

void call_tree__pop_slowly(struct call_tree *tree, uint64_t token)
{
    unwind(tree, token);
}

void call_tree__catch_slowly(struct call_tree *tree, uint64_t token)
{
    unwind(tree, token + 1);
}
