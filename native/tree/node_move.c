#include "native/tree/node_move.h"

#include "native/tree/child_index.h"
#include "native/tree/sample_tree.h"

#define SIBLINGS_A_LOOK 8u    /* a walk over so many siblings costs what one look costs */
#define SIBLINGS_MOST   1024u /* walked to find the sibling before a leaf */
#define FRAMES_MOST     1024u /* steps between the sampled frames below one leaf */

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

/* Makes a side record with the sums of both nodes; *joined: none if `from` has no side record.
 * False: there is no room. */
static bool join_sides(struct call_tree *tree, ledger_ref from, ledger_ref to, ledger_ref *joined)
{
    const struct ledger_side *more = ledger__at(tree->ledger, node_at(tree, from)->side);
    struct ledger_side *before = ledger__at(tree->ledger, node_at(tree, to)->side);
    struct ledger_side *side;

    *joined = 0;
    if (!node_at(tree, from)->side)
        return true;
    *joined = record_pool__side(&tree->pool);
    if (!*joined)
        return false;
    side = ledger__at(tree->ledger, *joined);
    side->node = to;
    for (unsigned metric = 0; metric < LEDGER_METRIC_SLOTS; metric++)
        side->value[metric] =
            more->value[metric] + (node_at(tree, to)->side ? before->value[metric] : 0);
    return true;
}

/* The link that leads to a child; `before` is the sibling before the child, if that is still so.
 * NULL: the link would take too long to find. */
static ledger_ref *link_to(struct call_tree *tree, ledger_ref child, ledger_ref before)
{
    ledger_ref parent = node_at(tree, child)->parent;
    ledger_ref *link = &node_at(tree, parent)->first_child;
    uint32_t steps = 0;

    if (before && node_at(tree, before)->parent == parent &&
        node_at(tree, before)->next_sibling == child)
        return &node_at(tree, before)->next_sibling;
    for (; *link && *link != child; steps++) {
        if (steps == SIBLINGS_MOST) {
            tree->hand.looks += steps / SIBLINGS_A_LOOK;
            return NULL;
        }
        link = &node_at(tree, *link)->next_sibling;
    }
    tree->hand.looks += steps / SIBLINGS_A_LOOK;
    return *link ? link : NULL;
}

static void free_leaf(struct call_tree *tree, ledger_ref ref)
{
    record_pool__give_side(&tree->pool, node_at(tree, ref)->side);
    record_pool__give_node(&tree->pool, ref);
}

static void unlink_leaf(const struct call_tree *tree, ledger_ref ref, ledger_ref *link)
{
    struct ledger_node *parent = node_at(tree, node_at(tree, ref)->parent);

    if (!is_folded(parent) && parent->last_hit == ref)
        parent->last_hit = 0;
    __atomic_store_n(link, node_at(tree, ref)->next_sibling, __ATOMIC_RELEASE);
}

/* Notes the numbers of `to` before the move. Until the note is taken back, the true numbers of `to`
 * are those of the note plus those of `from`. */
static void note_move(struct ledger_move *move, const struct ledger_node *to, ledger_ref from_ref,
                      ledger_ref to_ref)
{
    move->calls = to->calls;
    move->cpu_ns = to->cpu_ns;
    move->wait_ns = to->wait_ns;
    move->side = to->side;
    move->to = to_ref;
    __atomic_store_n(&move->from, from_ref, __ATOMIC_RELEASE);
}

bool node_move__join(struct call_tree *tree, ledger_ref from_ref, ledger_ref to_ref,
                     ledger_ref before)
{
    struct ledger_move *move = &tree->thread->move;
    const struct ledger_node *from = node_at(tree, from_ref);
    struct ledger_node *to = node_at(tree, to_ref);
    ledger_ref *link = link_to(tree, from_ref, before);
    ledger_ref joined, replaced = to->side;

    if (!link || !join_sides(tree, from_ref, to_ref, &joined))
        return false;
    note_move(move, to, from_ref, to_ref);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    store(&to->calls, to->calls + from->calls);
    store(&to->cpu_ns, to->cpu_ns + from->cpu_ns);
    store(&to->wait_ns, to->wait_ns + from->wait_ns);
    if (joined)
        __atomic_store_n(&to->side, joined, __ATOMIC_RELEASE);
    unlink_leaf(tree, from_ref, link);
    __atomic_store_n(&move->from, 0, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (joined)
        record_pool__give_side(&tree->pool, replaced);
    free_leaf(tree, from_ref);
    return true;
}

/* Where the children that samples made are linked. */
static ledger_ref *sampled_children(struct ledger_node *node)
{
    return ledger_node__is_sampled(node) ? &node->first_child : &node->sampled;
}

/* Adds a sampled frame to `to` and frees it. The frame is the first of its list and has nothing
 * below it. */
static void join_frame(struct call_tree *tree, ledger_ref from_ref, ledger_ref to_ref)
{
    struct ledger_move *move = &tree->thread->move;
    const struct ledger_node *from = node_at(tree, from_ref);
    struct ledger_node *to = node_at(tree, to_ref);

    move->calls = to->cpu_samples;
    move->cpu_ns = to->interpreted;
    move->wait_ns = to->wall_samples;
    move->seen_ns = to->seen_ns;
    move->to = to_ref;
    __atomic_store_n(&move->from, from_ref, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    sample_tree__add(&to->cpu_samples, from->cpu_samples);
    sample_tree__add(&to->interpreted, from->interpreted);
    sample_tree__add(&to->wall_samples, from->wall_samples);
    sample_tree__add(&to->seen_ns, from->seen_ns);
    ledger_node__raise_level(to, ledger_node__level(from));
    __atomic_store_n(sampled_children(node_at(tree, from->parent)), from->next_sibling,
                     __ATOMIC_RELEASE);
    __atomic_store_n(&move->from, 0, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    record_pool__give_node(&tree->pool, from_ref);
}

bool node_move__samples(struct call_tree *tree, ledger_ref from_ref, ledger_ref to_ref)
{
    ledger_ref at = from_ref, to = to_ref;

    for (uint32_t steps = 0; steps < FRAMES_MOST; steps++) {
        struct ledger_node *node = node_at(tree, at);
        ledger_ref above = node->parent, child = *sampled_children(node);

        tree->hand.looks++;
        if (child) {
            const struct ledger_node *frame = node_at(tree, child);

            to =
                sample_tree__child(&tree->pool, to, (enum ledger_node_kind)ledger_node__kind(frame),
                                   frame->method, ledger_node__is_self(frame));
            if (!to)
                return false;
            at = child;
            continue;
        }
        if (at == from_ref)
            return true;
        join_frame(tree, at, to);
        at = above;
        to = node_at(tree, to)->parent;
    }
    return false;
}

bool node_move__relink(struct call_tree *tree, ledger_ref ref, ledger_ref folded, ledger_ref before)
{
    struct ledger_move *move = &tree->thread->move;
    struct ledger_node *node = node_at(tree, ref), *below = node_at(tree, folded);
    ledger_ref *link = link_to(tree, ref, before);

    if (!link)
        return false;
    move->to = folded;
    move->side = node->parent;
    __atomic_store_n(&move->from, ref, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    unlink_leaf(tree, ref, link);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    node->parent = folded;
    node->last_hit = 0;
    node->kind_and_level = (uint32_t)NODE_EXACT << 24;
    node->next_sibling = below->first_child;
    __atomic_store_n(&below->first_child, ref, __ATOMIC_RELEASE);
    __atomic_store_n(&move->from, 0, __ATOMIC_RELEASE);
    child_index__add(&tree->pool, folded, ref);
    return true;
}

bool node_move__drop(struct call_tree *tree, ledger_ref ref, ledger_ref before)
{
    ledger_ref *link = link_to(tree, ref, before);

    if (!link)
        return false;
    unlink_leaf(tree, ref, link);
    free_leaf(tree, ref);
    return true;
}
