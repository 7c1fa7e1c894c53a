#include "native/thread/thread_transfer.h"

#include "native/ledger/number_transfer.h"
#include "native/tree/folded_calls.h"
#include "native/tree/sample_tree.h"

/* A walk over a tree, and over the nodes of the group's tree to which its nodes are added. */
struct walk {
    struct call_tree *tree;
    struct ledger_thread *group;
    ledger_ref root;
    ledger_ref from;
    ledger_ref to;
    ledger_ref folded; /* the topmost node for whose counterpart there was no room, or none */
    ledger_ref above;  /* the counterpart of the parent of `folded` */
};

static struct ledger_thread *thread_at(const struct call_tree *tree, ledger_ref ref)
{
    return ledger__at(tree->ledger, ref);
}

/* The child of `to` to which a node is added, found or made. None: there is no room. */
static ledger_ref counterpart(struct call_tree *tree, struct ledger_thread *group, ledger_ref to,
                              const struct ledger_node *node)
{
    ledger_ref child = call_tree__node(tree, to)->first_child;
    uint32_t kind = ledger_node__kind(node);

    if (node->method)
        return call_tree__child(tree, to, node->method, node->key);
    if (kind == NODE_FOLDED && to == group->root)
        return folded_calls__top(tree, group);
    while (child && ledger_node__kind(call_tree__node(tree, child)) != kind)
        child = call_tree__node(tree, child)->next_sibling;
    if (child)
        return child;
    return call_tree__add_plain_node(tree, to, (enum ledger_node_kind)kind);
}

/* The node to which another one is added where there is no room for its counterpart: the method's
 * node below `(folded)`, or the root. */
static ledger_ref folded_counterpart(const struct walk *walk, const struct ledger_node *node)
{
    return node->method ? folded_calls__node(walk->tree, walk->group, node->method, node->key)
                        : walk->group->root;
}

static void step_up(struct walk *walk)
{
    if (walk->from == walk->folded) {
        walk->to = walk->above;
        walk->folded = 0;
    } else if (!walk->folded) {
        walk->to = call_tree__node(walk->tree, walk->to)->parent;
    }
    walk->from = call_tree__node(walk->tree, walk->from)->parent;
}

static void step_to(struct walk *walk, ledger_ref next)
{
    const struct ledger_node *node = call_tree__node(walk->tree, next);
    ledger_ref to = walk->folded ? 0 : counterpart(walk->tree, walk->group, walk->to, node);

    walk->from = next;
    if (!to && !walk->folded) {
        walk->folded = next;
        walk->above = walk->to;
    }
    walk->to = to ? to : folded_counterpart(walk, node);
}

/* Moves to the next node in the order root, children, siblings. False: at the end, where walk->from
 * is none; or there is no room at all for the numbers of walk->from. */
static bool step(struct walk *walk)
{
    ledger_ref next = call_tree__node(walk->tree, walk->from)->first_child;

    while (!next && walk->from != walk->root) {
        next = call_tree__node(walk->tree, walk->from)->next_sibling;
        step_up(walk);
    }
    if (!next) {
        walk->from = 0;
        return false;
    }
    step_to(walk, next);
    return walk->to != 0;
}

static void add(uint64_t *counter, uint64_t more)
{
    __atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

/* Gives a node a side record if it has none. False: there is no room. */
static bool make_side(struct call_tree *tree, ledger_ref ref)
{
    struct ledger_node *node = call_tree__node(tree, ref);
    ledger_ref side;

    if (node->side)
        return true;
    tree->pool.takes_reserved = RESERVE_ALL;
    side = record_pool__side(&tree->pool);
    tree->pool.takes_reserved = RESERVE_NONE;
    if (!side)
        return false;
    ((struct ledger_side *)ledger__at(tree->ledger, side))->node = ref;
    __atomic_store_n(&node->side, side, __ATOMIC_RELEASE);
    return true;
}

/* False: there is no room for a side record, and no number of it was added. */
static bool transfer_side(const struct walk *walk)
{
    struct call_tree *tree = walk->tree;
    ledger_ref from = call_tree__node(tree, walk->from)->side;

    if (!from)
        return true;
    if (!make_side(tree, walk->to))
        return false;
    for (size_t metric = 0; metric < LEDGER_METRIC_SLOTS; metric++)
        number_transfer__run(tree->ledger, &walk->group->transfer, from,
                             call_tree__node(tree, walk->to)->side,
                             offsetof(struct ledger_side, value) + metric * sizeof(uint64_t));
    return true;
}

static void transfer_node(const struct walk *walk)
{
    static const size_t numbers[] = {offsetof(struct ledger_node, calls),
                                     offsetof(struct ledger_node, cpu_ns),
                                     offsetof(struct ledger_node, wait_ns)};
    struct call_tree *tree = walk->tree;
    struct ledger_transfer *note = &walk->group->transfer;
    struct ledger_node *into = call_tree__node(tree, walk->to);

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        number_transfer__run(tree->ledger, note, walk->from, walk->to, numbers[i]);
    if (tree->ledger->header->recursion)
        ledger_node__raise_level(into, ledger_node__level(call_tree__node(tree, walk->from)));
    sample_tree__add_all(&tree->pool, note, walk->from, walk->to);
    if (!transfer_side(walk))
        ledger__count(&tree->ledger->header->dropped_side_values, 1);
    ledger__touch(tree->ledger, into);
}

static bool is_below_folded(const struct call_tree *tree, const struct ledger_node *node)
{
    return node->parent && ledger_node__kind(call_tree__node(tree, node->parent)) == NODE_FOLDED;
}

static void add_contexts(struct ledger_node *folded, uint32_t more)
{
    uint32_t sum = folded->contexts + more;

    __atomic_store_n(&folded->contexts, sum < more ? UINT32_MAX : sum, __ATOMIC_RELAXED);
}

/* Counts the contexts that lose their nodes with this node. */
static void count_contexts(const struct walk *walk)
{
    struct ledger_node *node = call_tree__node(walk->tree, walk->from);
    struct ledger_node *top = call_tree__node(walk->tree, walk->group->folded);

    if (!walk->group->folded)
        return;
    if (ledger_node__kind(node) == NODE_FOLDED) {
        add_contexts(walk->folded ? top : call_tree__node(walk->tree, walk->to), node->contexts);
        node->contexts = 0;
    } else if (walk->folded && !is_below_folded(walk->tree, node)) {
        add_contexts(top, 1);
    }
    if (walk->folded)
        add(&walk->group->unplaced_calls, node->calls);
}

static struct walk begin_walk(struct call_tree *tree, const struct ledger_thread *member,
                              struct ledger_thread *group)
{
    return (struct walk){.tree = tree,
                         .group = group,
                         .root = member->root,
                         .from = member->root,
                         .to = group->root};
}

static bool has_room(struct call_tree *tree, const struct ledger_thread *member,
                     struct ledger_thread *group)
{
    struct walk walk = begin_walk(tree, member, group);

    while (step(&walk))
        ;
    return walk.from == 0;
}

static void transfer_tree(struct call_tree *tree, const struct ledger_thread *member,
                          struct ledger_thread *group)
{
    struct walk walk = begin_walk(tree, member, group);

    do {
        count_contexts(&walk);
        transfer_node(&walk);
    } while (step(&walk));
}

/* Frees a tree, leaves first. */
static void free_tree(struct call_tree *tree, ledger_ref root)
{
    ledger_ref ref = root;

    for (;;) {
        struct ledger_node *node = call_tree__node(tree, ref);
        ledger_ref next = node->next_sibling, parent = node->parent;

        if (node->first_child) {
            ref = node->first_child;
            continue;
        }
        sample_tree__free_all(&tree->pool, ref);
        record_pool__give_side(&tree->pool, node->side);
        record_pool__give_node(&tree->pool, ref);
        if (ref == root)
            return;
        call_tree__node(tree, parent)->first_child = next;
        ref = parent;
    }
}

static void transfer_facts(struct call_tree *tree, ledger_ref from, ledger_ref to)
{
    static const size_t numbers[] = {
        offsetof(struct ledger_thread, mounts),
        offsetof(struct ledger_thread, pinned),
        offsetof(struct ledger_thread, parked_ns),
        offsetof(struct ledger_thread, lost_enters),
        offsetof(struct ledger_thread, folded_bound_ns),
        offsetof(struct ledger_thread, foldings),
        offsetof(struct ledger_thread, unplaced_calls),
        offsetof(struct ledger_thread, samples),
        offsetof(struct ledger_thread, merged_samples),
        offsetof(struct ledger_thread, lost_samples),
        offsetof(struct ledger_thread, seen_wall_ns),
        offsetof(struct ledger_thread, moded_cpu_ns),
        offsetof(struct ledger_thread, moded_system_ns),
    };
    const struct ledger_thread *member = thread_at(tree, from);
    struct ledger_thread *group = thread_at(tree, to);

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        number_transfer__run(tree->ledger, &group->transfer, from, to, numbers[i]);
    for (size_t metric = 0; metric < LEDGER_METRIC_SLOTS; metric++)
        number_transfer__run(tree->ledger, &group->transfer, from, to,
                             offsetof(struct ledger_thread, totals) + metric * sizeof(uint64_t));
    if (member->start_ns < group->start_ns)
        group->start_ns = member->start_ns;
    if (member->end_ns > group->end_ns)
        group->end_ns = member->end_ns;
    if (group->parent_id != member->parent_id)
        group->parent = 0;
}

/* Hides the row of a member, which is counted in its group from here on. */
static void hide_member(struct call_tree *tree, ledger_ref from, ledger_ref to)
{
    struct ledger_thread *member = thread_at(tree, from), *group = thread_at(tree, to);
    uint64_t members = group->members + (member->flags & THREAD_GROUP ? member->members : 1);

    number_transfer__begin(&group->transfer, from, to, offsetof(struct ledger_thread, members),
                           members);
    __atomic_store_n(&group->members, members, __ATOMIC_RELEASE);
    __atomic_store_n(&member->kind, 0, __ATOMIC_RELEASE);
    number_transfer__end(&group->transfer);
}

static void free_thread(struct call_tree *tree, ledger_ref ref)
{
    const struct ledger_thread *thread = thread_at(tree, ref);

    free_tree(tree, thread->root);
    if (!(thread->flags & THREAD_GROUP))
        record_pool__give_string(&tree->pool, thread->name);
    record_pool__give_thread(&tree->pool, ref);
}

bool thread_transfer__run(struct call_tree *tree, ledger_ref from, ledger_ref to)
{
    struct ledger_thread *member = thread_at(tree, from);
    struct ledger_thread *group = thread_at(tree, to);

    if (!has_room(tree, member, group) || !ledger__begin_folding(tree->ledger))
        return false;
    transfer_tree(tree, member, group);
    transfer_facts(tree, from, to);
    hide_member(tree, from, to);
    free_thread(tree, from);
    ledger__end_folding(tree->ledger);
    return true;
}
