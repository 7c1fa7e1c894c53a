#include "native/loose_ends.h"

/* Is there such a record, in a part of its chunk that was used when that was copied? */
static bool is_there(const struct ledger *copy, ledger_ref ref, enum ledger_table table,
                     uint32_t cells)
{
    const struct ledger_chunk *chunk = ledger__at(copy, ref - ref % LEDGER_CHUNK_CELLS);

    return ref && ledger__holds(copy, ref, table) &&
           ref % LEDGER_CHUNK_CELLS + cells <= chunk->used_cells;
}

static bool is_string(const struct ledger *copy, ledger_ref ref)
{
    const struct ledger_string *string = ledger__at(copy, ref);

    return is_there(copy, ref, LEDGER_STRINGS, 1) &&
           is_there(copy, ref, LEDGER_STRINGS, ledger__string_cells(string->length));
}

static bool is_method(const struct ledger *copy, ledger_ref ref)
{
    const struct ledger_method *method = ledger__at(copy, ref);

    return is_there(copy, ref, LEDGER_METHODS, 1) && !(method->flags & METHOD_DEAD) &&
           is_string(copy, method->class_name) &&
           (is_string(copy, method->name) || (!method->name && method->flags & METHOD_SYMBOL)) &&
           (is_string(copy, method->signature) ||
            (!method->signature && method->flags & METHOD_SYMBOL)) &&
           (!method->source || is_string(copy, method->source));
}

static bool is_node_below(const struct ledger *copy, ledger_ref ref, ledger_ref parent)
{
    const struct ledger_node *node = ledger__at(copy, ref);

    return is_there(copy, ref, LEDGER_NODES, 1) && ledger_node__kind(node) &&
           node->parent == parent && (!node->method || is_method(copy, node->method));
}

/* The link, or none. */
static ledger_ref cut(struct ledger *copy, ledger_ref *link, struct ledger_node *of, bool is_loose)
{
    if (*link && is_loose) {
        *link = 0;
        ledger__touch(copy, of);
    }
    return *link;
}

/* An index may lead to children that the list of the copy has not, or not yet. */
static void cut_side(struct ledger *copy, struct ledger_node *node, ledger_ref ref)
{
    struct ledger_side *side = ledger__at(copy, node->side);
    uint32_t cells = sizeof *side / LEDGER_CELL_BYTES;

    if (cut(copy, &node->side, node,
            !is_there(copy, node->side, LEDGER_SIDES, cells) || side->node != ref))
        side->index = 0;
}

static bool is_sampled_below(const struct ledger *copy, ledger_ref ref, ledger_ref parent)
{
    return is_node_below(copy, ref, parent) && ledger_node__is_sampled(ledger__at(copy, ref));
}

/* All that was sampled below an exact node; its own steps are those that the caller has left. */
static void cut_sampled(struct ledger *copy, struct ledger_node *above, uint64_t *steps_left)
{
    ledger_ref top = ledger__ref(copy, above), next;
    ledger_ref ref =
        cut(copy, &above->sampled, above, !is_sampled_below(copy, above->sampled, top));

    while (ref && ref != top && *steps_left > 0) {
        struct ledger_node *node = ledger__at(copy, ref);

        --*steps_left;
        next = cut(copy, &node->first_child, node, !is_sampled_below(copy, node->first_child, ref));
        while (!next && ref != top) {
            node = ledger__at(copy, ref);
            next = cut(copy, &node->next_sibling, node,
                       !is_sampled_below(copy, node->next_sibling, node->parent));
            ref = node->parent;
        }
        ref = next;
    }
}

bool loose_ends__cut_tree(struct ledger *copy, ledger_ref root)
{
    uint64_t steps_left = (uint64_t)copy->header->chunks_used * LEDGER_CHUNK_CELLS;
    ledger_ref ref = root, next;

    if (!is_node_below(copy, root, 0))
        return false;
    while (steps_left-- > 0) {
        struct ledger_node *node = ledger__at(copy, ref);

        cut_side(copy, node, ref);
        if (node->sampled)
            cut_sampled(copy, node, &steps_left);
        next = cut(copy, &node->first_child, node, !is_node_below(copy, node->first_child, ref));
        while (!next && ref != root) {
            node = ledger__at(copy, ref);
            next = cut(copy, &node->next_sibling, node,
                       !is_node_below(copy, node->next_sibling, node->parent));
            ref = node->parent;
        }
        if (!next)
            return true;
        ref = next;
    }
    return false;
}

/* The one that its writer knows may have been linked since. */
static void find_folded(const struct ledger *copy, struct ledger_thread *thread)
{
    ledger_ref ref = ((const struct ledger_node *)ledger__at(copy, thread->root))->first_child;
    uint32_t steps_left = copy->header->chunks_used * LEDGER_CHUNK_CELLS;

    thread->folded = 0;
    for (; ref && steps_left; steps_left--) {
        const struct ledger_node *node = ledger__at(copy, ref);

        if (ledger_node__kind(node) == NODE_FOLDED)
            thread->folded = ref;
        ref = node->next_sibling;
    }
    thread->folded_depth = 0;
}

static void cut_renames(struct ledger *copy, struct ledger_thread *thread)
{
    uint32_t cells = sizeof(struct ledger_rename) / LEDGER_CELL_BYTES;
    ledger_ref *link = &thread->renames;

    for (uint32_t left = thread->rename_count; left && *link; left--) {
        struct ledger_rename *rename = ledger__at(copy, *link);

        if (!is_there(copy, *link, LEDGER_RENAMES, cells) || !is_string(copy, rename->name))
            *link = 0;
        else
            link = &rename->older;
    }
}

/* A thread's record may also be another one's by now than that of who started it. */
static bool is_parent(const struct ledger *copy, const struct ledger_thread *thread)
{
    const struct ledger_thread *parent = ledger__at(copy, thread->parent);
    uint32_t cells = sizeof *parent / LEDGER_CELL_BYTES;

    return is_there(copy, thread->parent, LEDGER_THREADS, cells) && parent->kind &&
           parent->java_id == thread->parent_id;
}

void loose_ends__cut(struct ledger *copy)
{
    ledger_ref ref = 0;

    while ((ref = ledger__next(copy, LEDGER_THREADS, ref))) {
        struct ledger_thread *thread = ledger__at(copy, ref);

        if (!thread->kind || !is_node_below(copy, thread->root, 0) ||
            (thread->name && !is_string(copy, thread->name))) {
            thread->kind = 0;
            thread->root = 0;
            continue;
        }
        (void)loose_ends__cut_tree(copy, thread->root);
        find_folded(copy, thread);
        cut_renames(copy, thread);
    }
    ref = 0;
    while ((ref = ledger__next(copy, LEDGER_THREADS, ref))) {
        struct ledger_thread *thread = ledger__at(copy, ref);

        if (thread->parent && !is_parent(copy, thread))
            thread->parent = 0;
    }
}
