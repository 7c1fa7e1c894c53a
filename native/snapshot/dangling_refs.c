#include "native/snapshot/dangling_refs.h"

#include "native/ledger/ledger_gate.h"
#include "native/ledger/unfinished_moves.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct cutter {
    struct ledger *copy;
    struct ledger_gate gate;
    uint64_t *visited; /* a bit for each cell: a link led to the record there */
};

static bool was_met(const struct cutter *cutter, ledger_ref ref)
{
    return cutter->visited[ref / 64] >> ref % 64 & 1;
}

/* False: the record was visited before. */
static bool mark_visited(struct cutter *cutter, ledger_ref ref)
{
    if (was_met(cutter, ref)) {
        ledger_gate__drop(&cutter->gate, "byte %" PRIu64 ": a record that was met before",
                          (uint64_t)ref * LEDGER_CELL_BYTES);
        return false;
    }
    cutter->visited[ref / 64] |= UINT64_C(1) << ref % 64;
    return true;
}

/* The record that a link leads to, or NULL. */
static const void *behind(struct cutter *cutter, ledger_ref ref, enum ledger_table table)
{
    const void *record = ledger_gate__record(&cutter->gate, ref, table);

    if (!record && ref && !ledger_gate__may_be_late(&cutter->gate, ref, table))
        ledger_gate__drop(&cutter->gate, "ref %" PRIu32 ", expected a record of table %d", ref,
                          (int)table);
    return record;
}

static bool is_string(const struct cutter *cutter, ledger_ref ref)
{
    return ledger_gate__string(&cutter->gate, ref) != NULL;
}

static bool is_method(struct cutter *cutter, ledger_ref ref)
{
    const struct ledger_method *method = behind(cutter, ref, LEDGER_METHODS);

    return method && !(method->flags & METHOD_DEAD) && is_string(cutter, method->class_name) &&
           (is_string(cutter, method->name) || (!method->name && method->flags & METHOD_SYMBOL)) &&
           (is_string(cutter, method->signature) ||
            (!method->signature && method->flags & METHOD_SYMBOL)) &&
           (!method->source || is_string(cutter, method->source));
}

static bool is_root(const struct ledger_node *node)
{
    return ledger_node__kind(node) == NODE_ROOT;
}

/* True for a whole node below `parent` that was not visited before, and is of the sort that the
 * list has. A root has no parent. */
static bool is_node_below(struct cutter *cutter, ledger_ref ref, ledger_ref parent, bool sampled)
{
    const struct ledger_node *node = behind(cutter, ref, LEDGER_NODES);
    uint32_t kind = node ? ledger_node__kind(node) : 0;

    return kind && (kind <= NODE_KERNEL || kind == NODE_LOGICAL) && node->parent == parent &&
           is_root(node) == !parent && ledger_node__is_sampled(node) == sampled &&
           (!node->method || is_method(cutter, node->method)) && mark_visited(cutter, ref);
}

/* Cuts a loose link. Returns the link, or none. */
static ledger_ref cut(struct cutter *cutter, ledger_ref *link, struct ledger_node *of,
                      bool is_loose)
{
    if (*link && is_loose) {
        *link = 0;
        ledger__touch(cutter->copy, of);
    }
    return *link;
}

static ledger_ref cut_list(struct cutter *cutter, ledger_ref *link, struct ledger_node *of,
                           ledger_ref parent, bool sampled)
{
    return cut(cutter, link, of, *link && !is_node_below(cutter, *link, parent, sampled));
}

/* The index of children is cut in any case: it may lead to children that the copy's list lacks. */
static void cut_side(struct cutter *cutter, struct ledger_node *node, ledger_ref ref)
{
    const struct ledger_side *side = behind(cutter, node->side, LEDGER_SIDES);

    if (cut(cutter, &node->side, node, !side || side->node != ref))
        ((struct ledger_side *)ledger__at(cutter->copy, node->side))->index = 0;
}

/* Cuts what was sampled below an exact node. */
static void cut_sampled(struct cutter *cutter, struct ledger_node *above)
{
    struct ledger *copy = cutter->copy;
    ledger_ref top = ledger__ref(copy, above), next;
    ledger_ref ref = cut_list(cutter, &above->sampled, above, top, true);

    while (ref && ref != top) {
        struct ledger_node *node = ledger__at(copy, ref);

        node->sampled = node->side = 0;
        next = cut_list(cutter, &node->first_child, node, ref, true);
        while (!next && ref != top) {
            node = ledger__at(copy, ref);
            next = cut_list(cutter, &node->next_sibling, node, node->parent, true);
            ref = node->parent;
        }
        ref = next;
    }
}

/* Cuts a tree whose root was visited. */
static void cut_tree(struct cutter *cutter, ledger_ref root)
{
    struct ledger *copy = cutter->copy;
    ledger_ref ref = root, next;

    ((struct ledger_node *)ledger__at(copy, root))->next_sibling = 0;
    do {
        struct ledger_node *node = ledger__at(copy, ref);

        cut_side(cutter, node, ref);
        cut_sampled(cutter, node);
        next = cut_list(cutter, &node->first_child, node, ref, false);
        while (!next && ref != root) {
            node = ledger__at(copy, ref);
            next = cut_list(cutter, &node->next_sibling, node, node->parent, false);
            ref = node->parent;
        }
        ref = next;
    } while (ref);
}

/* Looks for the (folded) below the root in the copy: the one that the thread's record names may
 * have been linked after the copy was begun. */
static void find_folded(const struct cutter *cutter, struct ledger_thread *thread)
{
    const struct ledger *copy = cutter->copy;
    ledger_ref ref = ((const struct ledger_node *)ledger__at(copy, thread->root))->first_child;

    thread->folded = 0;
    while (ref) {
        const struct ledger_node *node = ledger__at(copy, ref);

        if (ledger_node__kind(node) == NODE_FOLDED)
            thread->folded = ref;
        ref = node->next_sibling;
    }
    thread->folded_path = 0;
    thread->folded_depth = 0;
}

static void cut_renames(struct cutter *cutter, struct ledger_thread *thread)
{
    ledger_ref *link = &thread->renames;

    while (*link) {
        const struct ledger_rename *rename = behind(cutter, *link, LEDGER_RENAMES);

        if (!rename || !is_string(cutter, rename->name) || !mark_visited(cutter, *link))
            *link = 0;
        else
            link = &((struct ledger_rename *)ledger__at(cutter->copy, *link))->older;
    }
}

static void cut_thread(struct cutter *cutter, struct ledger_thread *thread)
{
    if (!thread->kind || (thread->name && !is_string(cutter, thread->name)) ||
        !is_node_below(cutter, thread->root, 0, false)) {
        thread->kind = 0;
        thread->root = 0;
        return;
    }
    cut_tree(cutter, thread->root);
    find_folded(cutter, thread);
    cut_renames(cutter, thread);
    if (thread->group_name && !is_string(cutter, thread->group_name))
        thread->group_name = 0;
    if (!behind(cutter, thread->block, LEDGER_BLOCKS))
        thread->block = 0;
}

/* False also if the parent's record was reused for another thread. */
static bool is_parent(struct cutter *cutter, const struct ledger_thread *thread)
{
    const struct ledger_thread *parent = behind(cutter, thread->parent, LEDGER_THREADS);

    return parent && parent->kind && parent->java_id == thread->parent_id;
}

/* True for an exact node of some thread's tree. */
static bool is_position(const struct cutter *cutter, ledger_ref ref)
{
    return ledger_gate__record(&cutter->gate, ref, LEDGER_NODES) && was_met(cutter, ref) &&
           !ledger_node__is_sampled(ledger__at(cutter->copy, ref));
}

/* Cuts where threads stand, after the trees: a thread can stand only at a node that is in a tree.
 */
static void cut_positions(struct cutter *cutter)
{
    struct ledger *copy = cutter->copy;
    ledger_ref ref = 0;

    while ((ref = ledger__next(copy, LEDGER_THREADS, ref))) {
        struct ledger_thread *thread = ledger__at(copy, ref);

        if (thread->parent && !is_parent(cutter, thread))
            thread->parent = 0;
        if (!is_position(cutter, thread->current))
            thread->current = thread->root;
    }
    while ((ref = ledger__next(copy, LEDGER_KERNEL_THREADS, ref))) {
        struct ledger_kernel_thread *record = ledger__at(copy, ref);

        if (!behind(cutter, record->thread, LEDGER_THREADS))
            record->thread = 0;
        if (!is_position(cutter, record->current))
            record->current = 0;
    }
}

/* Cuts a link that its record can do without. */
static void cut_string(const struct cutter *cutter, ledger_ref *link)
{
    if (*link && !is_string(cutter, *link))
        *link = 0;
}

/* A method without its names is marked as dead. */
static void cut_method(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_method *method = ledger__at(cutter->copy, ref);

    cut_string(cutter, &method->source);
    cut_string(cutter, &method->lines);
    cut_string(cutter, &method->bytecode);
    if (!behind(cutter, method->image, LEDGER_IMAGES))
        method->image = 0;
    if (!is_method(cutter, ref))
        method->flags |= METHOD_DEAD;
}

static void cut_image(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_image *image = ledger__at(cutter->copy, ref);

    cut_string(cutter, &image->path);
    cut_string(cutter, &image->build_id);
}

static void cut_class(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_class *class = ledger__at(cutter->copy, ref);

    cut_string(cutter, &class->name);
    cut_string(cutter, &class->methods);
}

static void cut_code(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_code *code = ledger__at(cutter->copy, ref);

    cut_string(cutter, &code->bytes);
    if (!is_method(cutter, code->method))
        code->method = 0;
}

/* True for a code or a method. */
static bool is_owner(struct cutter *cutter, ledger_ref ref)
{
    const struct ledger_code *code = ledger_gate__record(&cutter->gate, ref, LEDGER_CODE);

    return code ? code->method != 0 : is_method(cutter, ref);
}

static void cut_place(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_place *place = ledger__at(cutter->copy, ref);

    if (!is_owner(cutter, place->owner) || (place->method && !is_method(cutter, place->method)))
        place->owner = 0;
}

static void cut_hooking(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_hooking *hooking = ledger__at(cutter->copy, ref);

    if (!is_method(cutter, hooking->method))
        hooking->method = 0;
}

static void cut_tally(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_tally *tally = ledger__at(cutter->copy, ref);

    if (tally->method && !is_method(cutter, tally->method))
        tally->thread = 0;
}

/* A block without its waiter's name is none. */
static void cut_block(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_block *block = ledger__at(cutter->copy, ref);

    cut_string(cutter, &block->class_name);
    cut_string(cutter, &block->holder);
    for (unsigned i = 0; i < BLOCK_FRAMES; i++) {
        if (block->waiter_path[i] && !is_method(cutter, block->waiter_path[i]))
            block->waiter_path[i] = 0;
        if (block->holder_path[i] && !is_method(cutter, block->holder_path[i]))
            block->holder_path[i] = 0;
    }
    if (!is_string(cutter, block->waiter))
        block->key = 0;
}

static void cut_latency(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_latency *latency = ledger__at(cutter->copy, ref);

    if (latency->method && !is_method(cutter, latency->method))
        latency->method = 0;
}

static void cut_hazard_path(struct cutter *cutter, ledger_ref path[HAZARD_FRAMES])
{
    for (unsigned i = 0; i < HAZARD_FRAMES; i++)
        cut_string(cutter, &path[i]);
}

static void cut_stuck(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_stuck *stuck = ledger__at(cutter->copy, ref);

    cut_string(cutter, &stuck->class_name);
    cut_string(cutter, &stuck->thread);
    cut_hazard_path(cutter, stuck->path);
}

static void cut_order(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_order *order = ledger__at(cutter->copy, ref);

    cut_string(cutter, &order->thread);
    cut_string(cutter, &order->class_name[0]);
    cut_string(cutter, &order->class_name[1]);
    for (unsigned i = 0; i < ORDER_GATES; i++)
        cut_string(cutter, &order->gate_class[i]);
    cut_hazard_path(cutter, order->path);
}

/* A part that was being written is none. */
static void cut_part(struct cutter *cutter, ledger_ref ref)
{
    struct ledger_part *part = ledger__at(cutter->copy, ref);

    if (part->state && !ledger_part__is_whole(part)) {
        memset(part, 0, sizeof(*part));
        cutter->copy->header->torn_parts++;
        return;
    }
    cut_string(cutter, &part->thread);
    for (unsigned i = 0; i < PART_FRAMES; i++)
        if (part->path[i] && !is_method(cutter, part->path[i]))
            part->path[i] = 0;
}

/* In this order, because records of later tables have no meaning without a record of earlier ones.
 */
static void cut_tables(struct cutter *cutter)
{
    static const struct {
        enum ledger_table table;
        void (*cut)(struct cutter *cutter, ledger_ref ref);
    } tables[] = {
        {LEDGER_IMAGES, cut_image},      {LEDGER_METHODS, cut_method},
        {LEDGER_CODE, cut_code},         {LEDGER_PLACES, cut_place},
        {LEDGER_HOOKINGS, cut_hooking},  {LEDGER_TALLIES, cut_tally},
        {LEDGER_CLASSES, cut_class},     {LEDGER_BLOCKS, cut_block},
        {LEDGER_LATENCIES, cut_latency}, {LEDGER_STUCK, cut_stuck},
        {LEDGER_ORDERS, cut_order},      {LEDGER_PARTS, cut_part},
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        ledger_ref ref = 0;

        while ((ref = ledger__next(cutter->copy, tables[i].table, ref)))
            tables[i].cut(cutter, ref);
    }
}

static void cut_all(struct cutter *cutter)
{
    struct ledger *copy = cutter->copy;
    ledger_ref ref = 0;

    /* What the gate mended in chunk heads is to be written back, too. */
    if (cutter->gate.dropped && copy->touched)
        memset(copy->touched, 1, copy->adopted_chunks);
    cut_tables(cutter);
    while ((ref = ledger__next(copy, LEDGER_THREADS, ref)))
        cut_thread(cutter, ledger__at(copy, ref));
    cut_positions(cutter);
    copy->header->senseless_records += cutter->gate.dropped;
}

int dangling_refs__cut(struct ledger *copy)
{
    struct cutter cutter = {.copy = copy};
    uint32_t chunks = copy->header->chunks_used;
    int error = ledger_gate__open(&cutter.gate, copy->base, chunks);

    _Static_assert(LEDGER_CHUNK_CELLS == 64, "a word of bits for each chunk");

    cutter.visited = calloc(chunks, sizeof(*cutter.visited));
    if (!cutter.visited)
        error = -ENOMEM;
    if (!error && unfinished_moves__finish(&cutter.gate) && copy->touched)
        memset(copy->touched, 1, copy->adopted_chunks);
    if (!error)
        cut_all(&cutter);
    ledger_gate__close(&cutter.gate);
    free(cutter.visited);
    return error;
}
