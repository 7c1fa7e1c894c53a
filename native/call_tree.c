#include "native/call_tree.h"

#include <string.h>

void call_tree__init(struct call_tree *tree, struct ledger *ledger, call_tree_resolve resolve,
                     void *resolve_context)
{
    memset(tree, 0, sizeof *tree);
    tree->ledger = ledger;
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
    ledger_ref ref = ledger__take(tree->ledger, &tree->nodes, LEDGER_NODES, 1);
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

void call_tree__go_to(struct call_tree *tree, ledger_ref node, uint64_t lost_depth)
{
    tree->current = call_tree__node(tree, node);
    tree->lost_depth = lost_depth;
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

static void link_instance(struct call_tree *tree, struct ledger_node *node, ledger_ref ref)
{
    struct ledger_method *method = ledger__at(tree->ledger, node->method);
    ledger_ref head = __atomic_load_n(&method->first_instance, __ATOMIC_RELAXED);

    do {
        node->next_instance = head;
    } while (!__atomic_compare_exchange_n(&method->first_instance, &head, ref, true,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static ledger_ref add_method_node(struct call_tree *tree, ledger_ref parent, ledger_ref method,
                                  uint64_t key)
{
    ledger_ref ref = ledger__take(tree->ledger, &tree->nodes, LEDGER_NODES, 1);
    struct ledger_node *node;

    if (!ref)
        return 0;
    node = call_tree__node(tree, ref);
    node->key = key;
    node->method = method;
    node->parent = parent;
    node->kind_and_level = (uint32_t)NODE_EXACT << 24 | recursion_level(tree, parent, key);
    link_instance(tree, node, ref);
    link_child(call_tree__node(tree, parent), node, ref);
    return ref;
}

static ledger_ref find_child(struct call_tree *tree, ledger_ref parent, uint64_t key)
{
    ledger_ref ref = call_tree__node(tree, parent)->first_child;

    while (ref) {
        const struct ledger_node *node = call_tree__node(tree, ref);

        if (node->key == key && node->method)
            break;
        ref = node->next_sibling;
    }
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

/* The child for the key, found or made; CONTEXT_EXCLUDED; or none when the ledger is full. */
static ledger_ref child_for(struct call_tree *tree, ledger_ref parent, uint64_t key)
{
    const struct context_cache_slot *slot = cache_slot(tree, parent, key);
    ledger_ref method, child;

    if (slot->key == key && slot->parent == parent && slot->node)
        return slot->node;
    slot = cache_slot(tree, 0, key);
    if (slot->key == key && slot->node == CONTEXT_EXCLUDED)
        return CONTEXT_EXCLUDED;
    child = find_child(tree, parent, key);
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

/* Below a lost call every entry and every exit counts for the depth, whatever the method: whether
 * it is left out may become known in between. */
static void lose_call(struct call_tree *tree, uint64_t key, bool counted)
{
    tree->lost_depth++;
    if (counted && method_for(tree, key) != CONTEXT_EXCLUDED)
        ledger__count(&tree->ledger->header->dropped_enters, 1);
}

void call_tree__enter_slowly(struct call_tree *tree, uint64_t key, bool counted)
{
    ledger_ref parent = ledger__ref(tree->ledger, tree->current);
    struct ledger_node *node;
    ledger_ref child;

    if (tree->lost_depth) {
        lose_call(tree, key, counted);
        return;
    }
    child = child_for(tree, parent, key);
    if (child == CONTEXT_EXCLUDED)
        return;
    if (!child) {
        lose_call(tree, key, counted);
        return;
    }
    node = call_tree__node(tree, child);
    tree->current->last_hit = child;
    if (counted)
        __atomic_store_n(&node->calls, node->calls + 1, __ATOMIC_RELAXED);
    tree->current = node;
}

void call_tree__leave_slowly(struct call_tree *tree, uint64_t key)
{
    struct ledger_node *node = tree->current;

    if (tree->lost_depth) {
        tree->lost_depth--;
        return;
    }
    if (method_for(tree, key) == CONTEXT_EXCLUDED)
        return;
    while (node->method && node->key != key)
        node = call_tree__node(tree, node->parent);
    if (!tree->unsure)
        ledger__count(&tree->ledger->header->resynchronised, 1);
    if (node->method) {
        tree->current = call_tree__node(tree, node->parent);
        tree->unsure = false;
    }
}
