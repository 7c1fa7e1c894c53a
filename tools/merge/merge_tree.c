#include "tools/merge/merge_parts.h"
#include "tools/report/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A node on the path from the root to where the walk stands. */
struct step {
    ledger_ref from;
    ledger_ref to;
    ledger_ref next;  /* the child to look at */
    ledger_ref last;  /* the child that was copied last, in this chain */
    bool sampled;     /* the chain is that of the sampled children */
    bool has_sampled; /* and that is yet to come */
};

struct walk {
    struct ledger_merge *merge;
    struct merge_input *input;
    struct step *path;
    size_t room;
    size_t depth;
};

static struct ledger_node *node_at(const struct walk *walk, ledger_ref ref)
{
    return ledger__at(&walk->merge->ledger, ref);
}

/* Exact nodes hang under exact ones; so do the first sampled ones, but in a list of their own, and
 * the others under those. */
static const char *what_is_wrong(const struct walk *walk, const struct ledger_node *record,
                                 ledger_ref ref, const struct step *parent)
{
    uint32_t kind = record ? ledger_node__kind(record) : 0;
    bool sampled = parent && parent->sampled;

    if (!record)
        return "expected a node";
    if (kind < NODE_ROOT || (kind > NODE_KERNEL && kind != NODE_LOGICAL) ||
        (kind == NODE_ROOT) != !parent || ledger_node__is_sampled(record) != sampled)
        return "a node of a kind that cannot be there";
    if (walk->input->to[ref])
        return "a node that was met before";
    if (record->parent != (parent ? parent->from : 0))
        return "a node with another parent";
    return NULL;
}

/* The record of a node that may be copied below `parent` (NULL: as a root), or NULL. */
static const struct ledger_node *check(const struct walk *walk, ledger_ref ref,
                                       const struct step *parent)
{
    const struct ledger_node *record = ledger_reader__node(walk->input->reader, ref);
    const char *wrong = what_is_wrong(walk, record, ref, parent);

    if (!wrong)
        return record;
    merge__skip(walk->input, ref, "%s", wrong);
    return NULL;
}

static bool needs_method(const struct ledger_node *record)
{
    uint32_t kind = ledger_node__kind(record);

    return kind == NODE_EXACT || kind == NODE_LOGICAL ||
           (ledger_node__is_sampled(record) && kind != NODE_KERNEL &&
            !ledger_node__is_self(record));
}

static ledger_ref copy_side(const struct walk *walk, const struct ledger_node *record,
                            ledger_ref ref, ledger_ref to)
{
    struct ledger_merge *merge = walk->merge;
    const struct ledger_side *side = ledger_reader__side(walk->input->reader, record->side);

    if (!record->side)
        return 0;
    if (!side || side->node != ref) {
        merge__skip(walk->input, ref, "ref %" PRIu32 ", expected the node's side record",
                    record->side);
        return 0;
    }
    ledger_ref copied = ledger__take(&merge->ledger, &merge->sides, LEDGER_SIDES,
                                     sizeof(*side) / LEDGER_CELL_BYTES);
    merge->full |= copied == 0;
    if (!copied)
        return 0;
    struct ledger_side *copy = ledger__at(&merge->ledger, copied);
    copy->node = to;
    for (unsigned metric = 0; metric < LEDGER_METRIC_SLOTS; metric++)
        if (walk->input->header->metrics_charged >> metric & 1)
            copy->value[metric] = side->value[metric];
    return copied;
}

static ledger_ref copy_node(struct walk *walk, const struct ledger_node *record, ledger_ref ref,
                            ledger_ref parent)
{
    struct ledger_merge *merge = walk->merge;
    ledger_ref to = ledger__take(&merge->ledger, &merge->nodes, LEDGER_NODES, 1);

    merge->full |= to == 0;
    if (!to)
        return 0;
    struct ledger_node *node = node_at(walk, to);
    node->parent = parent;
    node->kind_and_level = record->kind_and_level;
    node->calls = record->calls;
    node->cpu_ns = record->cpu_ns;
    node->wait_ns = record->wait_ns;
    node->method = merge__method(walk->input, record->method);
    if (ledger_node__is_sampled(record)) {
        node->seen_ns = record->seen_ns;
    } else if (ledger_node__kind(record) == NODE_FOLDED) {
        node->key = LEDGER_FOLDED_KEY;
        node->contexts = record->contexts;
    } else if (node->method) {
        node->key = ((const struct ledger_method *)ledger__at(&merge->ledger, node->method))->key;
    }
    if (!node->method && needs_method(record))
        merge__skip(walk->input, ref, "ref %" PRIu32 ", expected a method", record->method);
    node->side = copy_side(walk, record, ref, to);
    if (ledger_node__kind(record) == NODE_EXACT)
        walk->input->calls += record->calls;
    walk->input->to[ref] = to;
    return to;
}

static void enter(struct walk *walk, const struct ledger_node *record, ledger_ref ref,
                  ledger_ref to)
{
    bool sampled = ledger_node__is_sampled(record);

    walk->path = memory__grown(walk->path, &walk->room, walk->depth + 1, sizeof(*walk->path));
    walk->path[walk->depth++] = (struct step){.from = ref,
                                              .to = to,
                                              .next = record->first_child,
                                              .sampled = sampled,
                                              .has_sampled = !sampled && record->sampled};
}

static void link_child(const struct walk *walk, struct step *parent, ledger_ref child)
{
    struct ledger_node *above = node_at(walk, parent->to);
    bool own_chain = parent->sampled && !ledger_node__is_sampled(above);
    ledger_ref *first = own_chain ? &above->sampled : &above->first_child;

    *(parent->last ? &node_at(walk, parent->last)->next_sibling : first) = child;
    parent->last = child;
}

/* The path's last node has no more children in this chain: on to its other one, or up. */
static void end_chain(struct walk *walk)
{
    struct step *top = &walk->path[walk->depth - 1];

    if (!top->has_sampled) {
        walk->depth--;
        return;
    }
    top->next = ledger_reader__node(walk->input->reader, top->from)->sampled;
    top->last = 0;
    top->sampled = true;
    top->has_sampled = false;
}

ledger_ref merge_tree__copy(struct ledger_merge *merge, struct merge_input *input, ledger_ref root)
{
    struct walk walk = {.merge = merge, .input = input};
    const struct ledger_node *record = root ? check(&walk, root, NULL) : NULL;
    ledger_ref copied = record ? copy_node(&walk, record, root, 0) : 0;

    if (copied)
        enter(&walk, record, root, copied);
    while (walk.depth > 0 && !merge->full) {
        struct step *top = &walk.path[walk.depth - 1];
        ledger_ref ref = top->next;

        if (!ref) {
            end_chain(&walk);
            continue;
        }
        record = check(&walk, ref, top);
        top->next = record ? record->next_sibling : 0;
        ledger_ref to = record ? copy_node(&walk, record, ref, top->to) : 0;
        if (!to)
            continue;
        link_child(&walk, top, to);
        enter(&walk, record, ref, to);
    }
    free(walk.path);
    return copied;
}
