#include "native/tree/child_index.h"

#define SLOT_BITS 4u
#define HASH_BITS 64u

/* In place of CHILDREN_WALKED while contexts are folded, which looks at very many lists once. */
#define WALKED_IN_NEED 64u

static struct ledger_node *node_at(const struct record_pool *pool, ledger_ref ref)
{
    return ledger__at(pool->ledger, ref);
}

static struct ledger_note *note_at(const struct record_pool *pool, ledger_ref ref)
{
    return ledger__at(pool->ledger, ref & ~NOTE_BITS);
}

/* Multiplicative hashing: two keys never have the same hash, so the trie ends. */
static uint64_t hash_of(uint64_t key)
{
    return key * 0x9e3779b97f4a7c15u;
}

static unsigned slot_at(uint64_t hash, unsigned depth)
{
    return (unsigned)(hash >> (HASH_BITS - SLOT_BITS * (depth + 1))) & (NOTE_SLOTS - 1);
}

/* The field that has the index of a node's children, or NULL: there is no index. */
static ledger_ref *index_of(const struct record_pool *pool, ledger_ref parent)
{
    ledger_ref side = node_at(pool, parent)->side;
    ledger_ref *index = &((struct ledger_side *)ledger__at(pool->ledger, side))->index;

    return side && *index ? index : NULL;
}

static ledger_ref find(const struct record_pool *pool, ledger_ref index, ledger_ref parent,
                       uint64_t key)
{
    uint64_t hash = hash_of(key);
    ledger_ref ref = index;

    for (unsigned depth = 0; ref & NOTE_IS_NEXT; depth++)
        ref = note_at(pool, ref)->slots[slot_at(hash, depth)];
    return child_index__is_child(pool->ledger, ref, parent, key) ? ref : 0;
}

/* Also from the reserved part: an index is worth its memory where memory is scarce, too. */
static ledger_ref index_note(struct record_pool *pool)
{
    enum record_reserve before = pool->takes_reserved;
    ledger_ref ref;

    if (before == RESERVE_NONE)
        pool->takes_reserved = RESERVE_HALF;
    ref = record_pool__note(pool);
    pool->takes_reserved = before;
    return ref;
}

/* Makes the notes below `slot` for two children whose hashes are equal so far, until these differ.
 * False: there is no room. */
static bool part(struct record_pool *pool, ledger_ref *slot, unsigned depth, ledger_ref first,
                 ledger_ref second)
{
    uint64_t hash = hash_of(node_at(pool, first)->key);
    uint64_t other = hash_of(node_at(pool, second)->key);

    for (;; depth++) {
        ledger_ref ref = index_note(pool);
        struct ledger_note *note = note_at(pool, ref);

        if (!ref)
            return false;
        note->slots[slot_at(hash, depth)] = first;
        *slot = ref | NOTE_IS_NEXT;
        if (slot_at(hash, depth) != slot_at(other, depth)) {
            note->slots[slot_at(other, depth)] = second;
            return true;
        }
        slot = &note->slots[slot_at(hash, depth)];
    }
}

/* False: there is no room. */
static bool insert(struct record_pool *pool, ledger_ref index, ledger_ref parent, ledger_ref child)
{
    uint64_t key = node_at(pool, child)->key;
    uint64_t hash = hash_of(key);
    struct ledger_note *note = note_at(pool, index);
    ledger_ref *slot = &note->slots[slot_at(hash, 0)];
    unsigned depth = 1;

    for (; *slot & NOTE_IS_NEXT; depth++)
        slot = &note_at(pool, *slot)->slots[slot_at(hash, depth)];
    if (*slot && node_at(pool, *slot)->key != key &&
        child_index__is_child(pool->ledger, *slot, parent, node_at(pool, *slot)->key))
        return part(pool, slot, depth, *slot, child);
    *slot = child;
    return true;
}

void child_index__add(struct record_pool *pool, ledger_ref parent, ledger_ref child)
{
    ledger_ref *index = index_of(pool, parent);

    if (index && !insert(pool, *index, parent, child))
        *index |= NOTE_LACKS_SOME;
}

/* The side record of a node, made if need be. NULL: there is no room. */
static struct ledger_side *side_of(struct record_pool *pool, ledger_ref parent)
{
    struct ledger_node *node = node_at(pool, parent);
    struct ledger_side *side;
    ledger_ref ref = node->side;

    if (ref)
        return ledger__at(pool->ledger, ref);
    ref = record_pool__side(pool);
    if (!ref)
        return NULL;
    side = ledger__at(pool->ledger, ref);
    side->node = parent;
    __atomic_store_n(&node->side, ref, __ATOMIC_RELEASE);
    ledger__touch(pool->ledger, node);
    return side;
}

static void build(struct record_pool *pool, ledger_ref parent)
{
    struct ledger_side *side = side_of(pool, parent);
    ledger_ref ref = side && !side->index ? index_note(pool) : 0;

    if (!ref)
        return;
    side->index = ref | NOTE_IS_NEXT;
    for (ref = node_at(pool, parent)->first_child; ref; ref = node_at(pool, ref)->next_sibling)
        if (node_at(pool, ref)->method || node_at(pool, ref)->key == LEDGER_FOLDED_KEY)
            child_index__add(pool, parent, ref);
}

static ledger_ref walk(const struct record_pool *pool, ledger_ref parent, uint64_t key,
                       uint32_t *steps)
{
    ledger_ref ref = node_at(pool, parent)->first_child;

    for (; ref && !child_index__is_child(pool->ledger, ref, parent, key); ++*steps)
        ref = node_at(pool, ref)->next_sibling;
    return ref;
}

ledger_ref child_index__find(struct record_pool *pool, ledger_ref parent, uint64_t key)
{
    const ledger_ref *index = index_of(pool, parent);
    ledger_ref ref = index ? find(pool, *index, parent, key) : 0;
    uint32_t steps = 0;

    if (ref || (index && !(*index & NOTE_LACKS_SOME)))
        return ref;
    ref = walk(pool, parent, key, &steps);
    if (index && ref)
        child_index__add(pool, parent, ref);
    else if (steps >= (pool->takes_reserved == RESERVE_HALF ? WALKED_IN_NEED : CHILDREN_WALKED))
        build(pool, parent);
    return ref;
}
