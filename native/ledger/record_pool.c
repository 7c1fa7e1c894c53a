#include "native/ledger/record_pool.h"

#include <string.h>

#define CELLS_OF(type) ((uint32_t)(sizeof(type) / LEDGER_CELL_BYTES))

/* The offset of the link of a free record: in a field that no reader follows in a record that is
 * all zero otherwise. */
static size_t link_of(enum record_pool_kind kind)
{
    switch (kind) {
    case POOL_NODES:
        return offsetof(struct ledger_node, next_sibling);
    case POOL_SIDES:
        return offsetof(struct ledger_side, index);
    case POOL_THREADS:
        return offsetof(struct ledger_thread, renames);
    case POOL_NOTES:
        return offsetof(struct ledger_note, slots);
    default:
        return offsetof(struct ledger_string, next_in_bucket);
    }
}

static size_t bytes_of(enum record_pool_kind kind)
{
    switch (kind) {
    case POOL_NODES:
        return sizeof(struct ledger_node);
    case POOL_SIDES:
        return sizeof(struct ledger_side);
    case POOL_THREADS:
        return sizeof(struct ledger_thread);
    case POOL_NOTES:
        return sizeof(struct ledger_note);
    default:
        return (size_t)(kind - POOL_STRINGS + 1) * LEDGER_CELL_BYTES;
    }
}

static ledger_ref *link_at(const struct record_pool *pool, enum record_pool_kind kind,
                           ledger_ref ref)
{
    return (ledger_ref *)(void *)((char *)ledger__at(pool->ledger, ref) + link_of(kind));
}

/* Multiplicative hashing [D. E. Knuth: The Art of Computer Programming 3, 6.4]. Any slot would do.
 */
static unsigned slot_of(ledger_ref ref)
{
    return ref * 2654435761u >> 26 & (LEDGER_FREE_SLOTS - 1);
}

/* Puts a chain to the front of one of the slots that all pools share [R. K. Treiber: Systems
 * Programming: Coping with Parallelism, 1986]. Only whole chains are put there, and a slot is
 * emptied at once, so no head is mistaken for an earlier one. */
static void hand_over(struct record_pool *pool, enum record_pool_kind kind,
                      const struct record_chain *chain)
{
    struct ledger_free_chains *shared = &pool->ledger->free_chains[kind];
    unsigned slot = slot_of(chain->head);
    ledger_ref head = atomic_load(&shared->heads[slot]);

    do
        *link_at(pool, kind, chain->tail) = head;
    while (!atomic_compare_exchange_weak(&shared->heads[slot], &head, chain->head));
    atomic_fetch_or(&shared->filled, UINT64_C(1) << slot);
}

static void give(struct record_pool *pool, enum record_pool_kind kind, ledger_ref ref)
{
    struct record_chain *chain = pool->chains[kind];

    if (!ref)
        return;
    memset(ledger__at(pool->ledger, ref), 0, bytes_of(kind));
    *link_at(pool, kind, ref) = chain->head;
    if (!chain->head)
        chain->tail = ref;
    chain->head = ref;
    if (++chain->count < RECORD_POOL_CHAIN)
        return;
    if (chain[1].head)
        hand_over(pool, kind, &chain[1]);
    chain[1] = chain[0];
    chain[0] = (struct record_chain){0};
}

/* Puts the rest of an emptied slot into an empty slot, so that nobody must look for its tail.
 * False: no slot is empty. */
static bool put_back(const struct record_pool *pool, enum record_pool_kind kind, ledger_ref rest)
{
    struct ledger_free_chains *shared = &pool->ledger->free_chains[kind];

    for (unsigned i = 0; i < LEDGER_FREE_SLOTS; i++) {
        unsigned slot = (slot_of(rest) + i) % LEDGER_FREE_SLOTS;
        ledger_ref none = 0;

        if (!atomic_compare_exchange_strong(&shared->heads[slot], &none, rest))
            continue;
        atomic_fetch_or(&shared->filled, UINT64_C(1) << slot);
        return true;
    }
    return false;
}

/* Leaves a pool only the first records of a slot, as many as fit into a chunk: nobody else can use
 * what a pool holds for itself, and there is a pool for each kernel thread. */
static void keep_some(const struct record_pool *pool, enum record_pool_kind kind, ledger_ref first)
{
    ledger_ref *link = link_at(pool, kind, first);
    ledger_ref rest;

    for (size_t left = LEDGER_CHUNK_BYTES / bytes_of(kind); *link && left > 1; left--)
        link = link_at(pool, kind, *link);
    rest = *link;
    if (rest && put_back(pool, kind, rest))
        *link = 0;
}

/* Takes some of the records that pools have handed over. */
static ledger_ref borrow(const struct record_pool *pool, enum record_pool_kind kind)
{
    struct ledger_free_chains *shared = &pool->ledger->free_chains[kind];
    uint64_t filled = atomic_load_explicit(&shared->filled, memory_order_relaxed);
    ledger_ref ref = 0;

    while (filled && !ref) {
        unsigned slot = (unsigned)__builtin_ctzll(filled);
        uint64_t bit = UINT64_C(1) << slot;

        if (atomic_fetch_and(&shared->filled, ~bit) & bit)
            ref = atomic_exchange(&shared->heads[slot], 0);
        filled &= ~bit;
    }
    if (ref)
        keep_some(pool, kind, ref);
    return ref;
}

static ledger_ref take(struct record_pool *pool, enum record_pool_kind kind)
{
    struct record_chain *chain = pool->chains[kind];
    ledger_ref *head = &chain->head;
    ledger_ref ref;

    if (!chain->head) {
        chain[0] = chain[1];
        chain[1] = (struct record_chain){0};
    }
    if (!chain->head) {
        head = &pool->borrowed[kind];
        if (!*head)
            *head = borrow(pool, kind);
    } else {
        chain->count--;
    }
    ref = *head;
    if (!ref)
        return 0;
    *head = *link_at(pool, kind, ref);
    *link_at(pool, kind, ref) = 0;
    return ref;
}

/* True if what is left of the ledger is reserved for other uses. */
static bool is_refused(const struct record_pool *pool)
{
    if (pool->takes_reserved == RESERVE_ALL ||
        (pool->takes_reserved == RESERVE_HALF && !ledger__is_nearly_full(pool->ledger)))
        return false;
    ledger__note_tight(pool->ledger);
    return true;
}

bool record_pool__lacks_nodes(const struct record_pool *pool, uint32_t spare)
{
    const struct record_chain *chains = pool->chains[POOL_NODES];

    return pool->nodes.next == pool->nodes.end && chains[0].count + chains[1].count < spare &&
           ledger__is_tight(pool->ledger);
}

bool record_pool__shares_nodes(const struct record_pool *pool)
{
    return atomic_load_explicit(&pool->ledger->free_chains[POOL_NODES].filled,
                                memory_order_relaxed) != 0;
}

ledger_ref record_pool__node(struct record_pool *pool)
{
    ledger_ref ref = take(pool, POOL_NODES);

    if (ref)
        return ref;
    if (pool->nodes.next != pool->nodes.end || !ledger__is_tight(pool->ledger))
        return ledger__take(pool->ledger, &pool->nodes, LEDGER_NODES, 1);
    return is_refused(pool) ? 0
                            : ledger__take(pool->ledger, &pool->reserved_nodes, LEDGER_NODES, 1);
}

static ledger_ref take_shared(struct record_pool *pool, enum record_pool_kind kind,
                              enum ledger_table table)
{
    ledger_ref ref = take(pool, kind);

    if (!ref && !(ledger__is_tight(pool->ledger) && is_refused(pool)))
        ref = ledger__take_shared(pool->ledger, table,
                                  (uint32_t)(bytes_of(kind) / LEDGER_CELL_BYTES));
    return ref;
}

ledger_ref record_pool__side(struct record_pool *pool)
{
    return take_shared(pool, POOL_SIDES, LEDGER_SIDES);
}

ledger_ref record_pool__note(struct record_pool *pool)
{
    return take_shared(pool, POOL_NOTES, LEDGER_NOTES);
}

ledger_ref record_pool__thread(struct record_pool *pool)
{
    ledger_ref ref = take(pool, POOL_THREADS);

    return ref ? ref
               : ledger__take_shared(pool->ledger, LEDGER_THREADS, CELLS_OF(struct ledger_thread));
}

static enum record_pool_kind kind_of_string(uint32_t cells)
{
    return (enum record_pool_kind)(POOL_STRINGS + cells - 1);
}

ledger_ref record_pool__string(struct record_pool *pool, const char *bytes, size_t length)
{
    uint32_t cells;
    ledger_ref ref = 0;

    if (length > LEDGER_STRING_MAX)
        length = LEDGER_STRING_MAX;
    cells = ledger__string_cells(length);
    if (cells <= RECORD_POOL_STRING_CELLS)
        ref = take(pool, kind_of_string(cells));
    if (!ref)
        ref = ledger__take_shared(pool->ledger, LEDGER_STRINGS, cells);
    if (ref)
        ledger__fill_string(ledger__at(pool->ledger, ref), bytes, length);
    return ref;
}

void record_pool__give_node(struct record_pool *pool, ledger_ref ref)
{
    give(pool, POOL_NODES, ref);
}

/* Calls itself as deep as hashes have steps. */
static void give_index(struct record_pool *pool, ledger_ref index)
{
    const struct ledger_note *note = ledger__at(pool->ledger, index & ~NOTE_BITS);

    if (!(index & NOTE_IS_NEXT))
        return;
    for (unsigned i = 0; i < NOTE_SLOTS; i++)
        give_index(pool, note->slots[i]);
    give(pool, POOL_NOTES, index & ~NOTE_BITS);
}

void record_pool__give_side(struct record_pool *pool, ledger_ref ref)
{
    if (ref)
        give_index(pool, ((const struct ledger_side *)ledger__at(pool->ledger, ref))->index);
    give(pool, POOL_SIDES, ref);
}

void record_pool__give_note(struct record_pool *pool, ledger_ref ref)
{
    give(pool, POOL_NOTES, ref);
}

void record_pool__give_thread(struct record_pool *pool, ledger_ref ref)
{
    give(pool, POOL_THREADS, ref);
}

void record_pool__give_string(struct record_pool *pool, ledger_ref ref)
{
    const struct ledger_string *string = ledger__at(pool->ledger, ref);
    uint32_t cells = ledger__string_cells(string->length);

    if (ref && cells <= RECORD_POOL_STRING_CELLS)
        give(pool, kind_of_string(cells), ref);
}
