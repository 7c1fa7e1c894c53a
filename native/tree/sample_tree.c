#include "native/tree/sample_tree.h"

static struct ledger_node *node_at(const struct record_pool *pool, ledger_ref ref)
{
    return ledger__at(pool->ledger, ref);
}

bool sample_tree__is_of(const struct ledger *ledger, const struct ledger_node *node,
                        const struct ledger_thread *thread, uint64_t parents_max)
{
    for (uint64_t steps = 0; node->parent && steps < parents_max; steps++)
        node = ledger__at(ledger, node->parent);
    return thread->root && node == ledger__at(ledger, thread->root);
}

/* Where a node's sampled children are linked. */
static ledger_ref *children_of(struct ledger_node *node)
{
    return ledger_node__is_sampled(node) ? &node->first_child : &node->sampled;
}

ledger_ref sample_tree__child(struct record_pool *pool, ledger_ref parent,
                              enum ledger_node_kind kind, ledger_ref method, bool self)
{
    const uint32_t levels = NODE_LEVEL_MAX & ~NODE_SELF;
    uint32_t kind_and_level = (uint32_t)kind << 24 | (self ? NODE_SELF : 0);
    ledger_ref *children = children_of(node_at(pool, parent));
    ledger_ref ref = *children;
    struct ledger_node *child;

    for (; ref; ref = child->next_sibling) {
        child = node_at(pool, ref);
        if (child->method == method && (child->kind_and_level & ~levels) == kind_and_level)
            return ref;
    }
    ref = record_pool__node(pool);
    if (!ref)
        return 0;
    child = node_at(pool, ref);
    child->method = method;
    child->parent = parent;
    child->next_sibling = *children;
    child->kind_and_level = kind_and_level;
    __atomic_store_n(children, ref, __ATOMIC_RELEASE);
    ledger__touch(pool->ledger, child);
    ledger__touch(pool->ledger, node_at(pool, parent));
    return ref;
}

bool sample_tree__count_place(struct ledger *ledger, const struct sample_place *wanted, bool wall)
{
    ledger_ref ref = *wanted->first;
    struct ledger_place *place;

    for (; ref; ref = place->next) {
        place = ledger__at(ledger, ref);
        if (place->offset == wanted->offset && place->bci == wanted->bci &&
            place->method == wanted->method)
            break;
    }
    if (!ref) {
        ref = ledger__take_shared(ledger, LEDGER_PLACES, 1);
        if (!ref)
            return false;
        place = ledger__at(ledger, ref);
        place->owner = wanted->owner;
        place->next = *wanted->first;
        place->method = wanted->method;
        place->bci = wanted->bci;
        place->offset = wanted->offset;
        __atomic_store_n(wanted->first, ref, __ATOMIC_RELEASE);
    }
    sample_tree__add(wall ? &place->wall_samples : &place->cpu_samples, 1);
    return true;
}

static void transfer_node(struct record_pool *pool, struct ledger_transfer *note, ledger_ref from,
                          ledger_ref to)
{
    static const size_t numbers[] = {
        offsetof(struct ledger_node, cpu_samples), offsetof(struct ledger_node, wall_samples),
        offsetof(struct ledger_node, interpreted), offsetof(struct ledger_node, seen_ns)};

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        number_transfer__run(pool->ledger, note, from, to, numbers[i]);
    ledger_node__raise_level(node_at(pool, to), ledger_node__level(node_at(pool, from)));
    ledger__touch(pool->ledger, node_at(pool, to));
}

static ledger_ref counterpart(struct record_pool *pool, ledger_ref to,
                              const struct ledger_node *from)
{
    return sample_tree__child(pool, to, (enum ledger_node_kind)ledger_node__kind(from),
                              from->method, ledger_node__is_self(from));
}

/* The node behind the whole subtree of a node: its next sibling, or the next sibling of its nearest
 * ancestor that has one; none at the end. `to`, if it is given, moves up as many levels. */
static ledger_ref behind(const struct record_pool *pool, ledger_ref ref, ledger_ref above,
                         ledger_ref *to)
{
    while (ref != above) {
        const struct ledger_node *node = node_at(pool, ref);

        if (to)
            *to = node_at(pool, *to)->parent;
        if (node->next_sibling)
            return node->next_sibling;
        ref = node->parent;
    }
    return 0;
}

void sample_tree__add_all(struct record_pool *pool, struct ledger_transfer *note, ledger_ref from,
                          ledger_ref to)
{
    ledger_ref ref = node_at(pool, from)->sampled;
    bool full = false;

    while (ref) {
        const struct ledger_node *node = node_at(pool, ref);
        ledger_ref below = full ? 0 : counterpart(pool, to, node);

        full = below == 0;
        if (full)
            ledger__count(&pool->ledger->header->dropped_samples,
                          node->cpu_samples + node->wall_samples);
        else
            transfer_node(pool, note, ref, below);
        to = below;
        ref = node->first_child ? node->first_child : behind(pool, ref, from, full ? NULL : &to);
    }
}

void sample_tree__free_all(struct record_pool *pool, ledger_ref node)
{
    ledger_ref ref = node_at(pool, node)->sampled;

    while (ref && ref != node) {
        const struct ledger_node *sampled = node_at(pool, ref);
        ledger_ref next = sampled->next_sibling, parent = sampled->parent;

        if (sampled->first_child) {
            ref = sampled->first_child;
            continue;
        }
        *children_of(node_at(pool, parent)) = next;
        record_pool__give_node(pool, ref);
        ref = next ? next : parent;
    }
}
