#include "native/ledger/unfinished_moves.h"

static struct ledger_node *node_in(const struct ledger_gate *gate, ledger_ref ref)
{
    return (struct ledger_node *)(uintptr_t)ledger_gate__record(gate, ref, LEDGER_NODES);
}

/* The sums of what `to` had before and what `from` has. */
static void finish_sums(const struct ledger_move *move, const struct ledger_node *from,
                        struct ledger_node *to)
{
    to->calls = move->calls + from->calls;
    to->cpu_ns = move->cpu_ns + from->cpu_ns;
    to->wait_ns = move->wait_ns + from->wait_ns;
    if (ledger_node__is_sampled(from))
        to->seen_ns = move->seen_ns + from->seen_ns;
}

static struct ledger_side *side_in(const struct ledger_gate *gate, ledger_ref ref)
{
    return (struct ledger_side *)(uintptr_t)ledger_gate__record(gate, ref, LEDGER_SIDES);
}

/* If `to` has another side record than before, that record has the sums of both already. */
static void finish_side(const struct ledger_gate *gate, const struct ledger_move *move,
                        const struct ledger_node *from, struct ledger_node *to)
{
    struct ledger_side *more = from->side ? side_in(gate, from->side) : NULL;
    struct ledger_side *side = to->side ? side_in(gate, to->side) : NULL;

    if (!more || to->side != move->side)
        return;
    if (!side) {
        more->node = move->to;
        to->side = from->side;
        return;
    }
    for (unsigned metric = 0; metric < LEDGER_METRIC_SLOTS; metric++)
        side->value[metric] += more->value[metric];
}

/* Takes a node out of its parent's list, if it is there. */
static void finish_unlink(const struct ledger_gate *gate, ledger_ref ref,
                          const struct ledger_node *node, ledger_ref parent_ref)
{
    struct ledger_node *parent = node_in(gate, parent_ref), *sibling;
    uint64_t steps_left = (uint64_t)gate->chunks * LEDGER_CHUNK_CELLS;
    bool is_top = parent && ledger_node__is_sampled(node) && !ledger_node__is_sampled(parent);
    ledger_ref *link = !parent ? NULL : is_top ? &parent->sampled : &parent->first_child;

    while (link && *link && *link != ref && steps_left--) {
        sibling = node_in(gate, *link);
        link = sibling ? &sibling->next_sibling : NULL;
    }
    if (link && *link == ref)
        *link = node->next_sibling;
}

/* Links a node below `to`. The node may be in its old parent's list, in that of `to`, or in none.
 */
static void finish_relink(const struct ledger_gate *gate, const struct ledger_move *move,
                          struct ledger_node *from, struct ledger_node *to)
{
    bool is_unlinked = from->parent == move->to;

    if (!is_unlinked)
        finish_unlink(gate, move->from, from, move->side);
    else if (to->first_child == move->from)
        return;
    from->parent = move->to;
    from->kind_and_level = (uint32_t)NODE_EXACT << 24;
    from->next_sibling = to->first_child;
    to->first_child = move->from;
}

/* The number at an offset of a record, of any table in which numbers are transferred; or NULL. */
static uint64_t *number_in(const struct ledger_gate *gate, ledger_ref ref, uint32_t offset)
{
    static const enum ledger_table tables[] = {LEDGER_NODES, LEDGER_SIDES, LEDGER_THREADS};

    for (unsigned i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        char *record = (char *)(uintptr_t)ledger_gate__record(gate, ref, tables[i]);
        uint32_t bytes = ledger_gate__record_cells(tables[i]) * LEDGER_CELL_BYTES;

        if (record && offset % sizeof(uint64_t) == 0 && offset < bytes)
            return (uint64_t *)(void *)(record + offset);
    }
    return NULL;
}

/* The number of a thread's members is the last one to go: the thread's row then goes, too. */
static bool finish_transfer(const struct ledger_gate *gate, struct ledger_thread *group)
{
    struct ledger_transfer *transfer = &group->transfer;
    struct ledger_thread *member = (struct ledger_thread *)(uintptr_t)ledger_gate__record(
        gate, transfer->from, LEDGER_THREADS);
    uint64_t *number = number_in(gate, transfer->from, transfer->offset);
    uint64_t *into = number_in(gate, transfer->to, transfer->offset);

    if (!number || !into || number == into)
        return false;
    *into = transfer->sum;
    *number = 0;
    if (member && transfer->offset == offsetof(struct ledger_thread, members))
        member->kind = 0;
    transfer->from = 0;
    return true;
}

static bool finish_move(const struct ledger_gate *gate, struct ledger_thread *thread)
{
    const struct ledger_move *move = &thread->move;
    struct ledger_node *from = move->from ? node_in(gate, move->from) : NULL;
    struct ledger_node *to = move->from ? node_in(gate, move->to) : NULL;

    if (!from || !to || from == to)
        return false;
    if (ledger_node__kind(to) == NODE_FOLDED) {
        finish_relink(gate, move, from, to);
    } else {
        finish_sums(move, from, to);
        if (!ledger_node__is_sampled(from))
            finish_side(gate, move, from, to);
        finish_unlink(gate, move->from, from, from->parent);
    }
    thread->move.from = 0;
    return true;
}

uint64_t unfinished_moves__finish(struct ledger_gate *gate)
{
    uint64_t finished = 0;
    ledger_ref ref = 0;

    while ((ref = ledger_gate__next(gate, LEDGER_THREADS, ref))) {
        struct ledger_thread *thread =
            (struct ledger_thread *)(uintptr_t)ledger_gate__record(gate, ref, LEDGER_THREADS);

        finished += thread->flags & THREAD_GROUP ? finish_transfer(gate, thread)
                                                 : finish_move(gate, thread);
    }
    return finished;
}
