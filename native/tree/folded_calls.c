#include "native/tree/folded_calls.h"

/* The slots of a note of folded_path: the note with the older nodes, the number of nodes in this
 * note, and the nodes. */
#define NOTE_OLDER 0u
#define NOTE_COUNT 1u
#define NOTE_FIRST 2u
#define NOTE_NODES (NOTE_SLOTS - NOTE_FIRST)

static struct ledger_note *note_at(const struct record_pool *pool, ledger_ref ref)
{
    return ledger__at(pool->ledger, ref);
}

ledger_ref folded_calls__top(struct call_tree *tree, struct ledger_thread *thread)
{
    if (!thread->folded) {
        enum record_reserve before = tree->pool.takes_reserved;

        tree->pool.takes_reserved = RESERVE_ALL;
        thread->folded = call_tree__add_plain_node(tree, thread->root, NODE_FOLDED);
        tree->pool.takes_reserved = before;
    }
    return thread->folded;
}

ledger_ref folded_calls__node(struct call_tree *tree, struct ledger_thread *thread,
                              ledger_ref method, uint64_t key)
{
    ledger_ref top = method ? folded_calls__top(tree, thread) : 0;
    ledger_ref node;

    if (!top)
        return 0;
    tree->pool.takes_reserved = RESERVE_ALL;
    node = call_tree__child(tree, top, method, key);
    tree->pool.takes_reserved = RESERVE_NONE;
    return node;
}

static bool remember(struct record_pool *pool, struct ledger_thread *thread, ledger_ref node)
{
    struct ledger_note *note = note_at(pool, thread->folded_path);

    if (!thread->folded_path || note->slots[NOTE_COUNT] == NOTE_NODES) {
        ledger_ref ref;

        pool->takes_reserved = RESERVE_ALL;
        ref = record_pool__note(pool);
        pool->takes_reserved = RESERVE_NONE;
        if (!ref)
            return false;
        note = note_at(pool, ref);
        note->slots[NOTE_OLDER] = thread->folded_path;
        thread->folded_path = ref;
    }
    note->slots[NOTE_FIRST + note->slots[NOTE_COUNT]++] = node;
    thread->folded_depth++;
    return true;
}

static void forget_youngest(struct record_pool *pool, struct ledger_thread *thread)
{
    ledger_ref ref = thread->folded_path;
    struct ledger_note *note = note_at(pool, ref);

    thread->folded_depth--;
    if (--note->slots[NOTE_COUNT])
        return;
    thread->folded_path = note->slots[NOTE_OLDER];
    record_pool__give_note(pool, ref);
}

static ledger_ref youngest(const struct record_pool *pool, const struct ledger_thread *thread)
{
    const struct ledger_note *note = note_at(pool, thread->folded_path);

    return note->slots[NOTE_FIRST + note->slots[NOTE_COUNT] - 1];
}

bool folded_calls__begin(struct call_tree *tree, uint64_t depth, ledger_ref node)
{
    struct ledger_thread *thread = tree->thread;
    ledger_ref current = ledger__ref(tree->ledger, tree->current);

    if (!thread || thread->folded_depth != depth ||
        !remember(&tree->pool, thread, node ? node : current))
        return false;
    if (depth == 0)
        thread->folded_below = current;
    if (node)
        tree->current = call_tree__node(tree, node);
    return true;
}

bool folded_calls__has(const struct call_tree *tree, ledger_ref node)
{
    const struct ledger_thread *thread = tree->thread;
    const struct ledger_note *note;

    for (ledger_ref ref = thread ? thread->folded_path : 0; ref; ref = note->slots[NOTE_OLDER]) {
        note = note_at(&tree->pool, ref);
        for (uint32_t i = 0; i < note->slots[NOTE_COUNT]; i++)
            if (note->slots[NOTE_FIRST + i] == node)
                return true;
    }
    return false;
}

void folded_calls__end(struct call_tree *tree, uint64_t depth, uint64_t count)
{
    struct ledger_thread *thread = tree->thread;
    uint64_t left = depth - count;

    if (!thread || thread->folded_depth <= left)
        return;
    while (thread->folded_depth > left)
        forget_youngest(&tree->pool, thread);
    tree->current =
        call_tree__node(tree, left ? youngest(&tree->pool, thread) : thread->folded_below);
}

void folded_calls__forget(struct record_pool *pool, struct ledger_thread *thread)
{
    while (thread->folded_depth)
        forget_youngest(pool, thread);
}
