#include "native/thread/side_metrics.h"

#include "native/tree/folded_calls.h"

/* A node's side record, made if need be. NULL: there is no room. */
static struct ledger_side *side_of(struct call_tree *tree, struct ledger_node *node)
{
    ledger_ref ref = node->side;
    struct ledger_side *side;

    if (ref)
        return ledger__at(tree->ledger, ref);
    ref = record_pool__side(&tree->pool);
    if (!ref)
        return NULL;
    side = ledger__at(tree->ledger, ref);
    side->node = ledger__ref(tree->ledger, node);
    __atomic_store_n(&node->side, ref, __ATOMIC_RELEASE);
    return side;
}

/* The side record for a node that finds no room for its own: that of its method's node below
 * (folded). */
static struct ledger_side *folded_side(struct call_tree *tree, struct ledger_thread *thread,
                                       struct ledger_node *node)
{
    ledger_ref folded = folded_calls__node(tree, thread, node->method, node->key);
    struct ledger_side *side;

    tree->pool.takes_reserved = RESERVE_ALL;
    side = side_of(tree, folded ? call_tree__node(tree, folded) : node);
    tree->pool.takes_reserved = RESERVE_NONE;
    return side;
}

void side_metrics__add(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                       struct ledger_node *node, unsigned metric, uint64_t delta)
{
    struct ledger_side *side = side_of(&kernel_thread->tree, node);

    if (!side)
        side = folded_side(&kernel_thread->tree, thread, node);
    if (!side) {
        ledger__count(&kernel_thread->setup->ledger->header->dropped_side_values, 1);
        return;
    }
    __atomic_store_n(&side->value[metric], side->value[metric] + delta, __ATOMIC_RELAXED);
}

uint64_t side_metrics__take_back(struct kernel_thread *kernel_thread,
                                 const struct ledger_node *node, unsigned metric, uint64_t delta)
{
    struct ledger_side *side =
        node->side ? ledger__at(kernel_thread->tree.ledger, node->side) : NULL;
    uint64_t most = side ? side->value[metric] : 0;

    if (delta > most)
        delta = most;
    if (side)
        __atomic_store_n(&side->value[metric], most - delta, __ATOMIC_RELAXED);
    return delta;
}
