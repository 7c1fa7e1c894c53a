#include "native/ledger/chain_parts.h"

#include <stddef.h>
#include <string.h>

#define TRIES 64u /* records that are looked at for a part */

void chain_parts__init(struct chain_parts *parts, struct ledger *ledger)
{
    parts->ledger = ledger;
    parts->most = CHAIN_PARTS_MAX;
    atomic_store(&parts->next, 0);
    for (uint32_t i = 0; i < CHAIN_PARTS_MAX; i++)
        atomic_store_explicit(&parts->records[i], 0, memory_order_relaxed);
}

/* The record of a place in the ring, which is made if there is none. */
static ledger_ref record_at(struct chain_parts *parts, uint32_t place)
{
    _Atomic(ledger_ref) *slot = &parts->records[place];
    ledger_ref ref = atomic_load_explicit(slot, memory_order_acquire), made;

    if (ref || ledger__is_tight(parts->ledger))
        return ref;
    made = ledger__take_shared(parts->ledger, LEDGER_PARTS,
                               sizeof(struct ledger_part) / LEDGER_CELL_BYTES);
    if (made && !atomic_compare_exchange_strong(slot, &ref, made))
        return ref; /* the record that lost the race stays free */
    return made;
}

static uint64_t state_of(uint64_t turn, enum ledger_part_state state)
{
    return turn << PART_STATE_BITS | (uint64_t)state;
}

/* Takes a record that is free or of a part that is over; *before: the state it had. */
static bool take(struct ledger_part *part, uint64_t turn, uint64_t *before)
{
    *before = __atomic_load_n(&part->state, __ATOMIC_ACQUIRE);
    while ((*before & PART_STATE_MASK) == PART_FREE || (*before & PART_STATE_MASK) == PART_DONE)
        if (__atomic_compare_exchange_n(&part->state, before, state_of(turn, PART_WRITING), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
    return false;
}

static void add_to_other(struct ledger *ledger, const struct ledger_part *part)
{
    struct ledger_header *header = ledger->header;

    ledger__count(&header->other_parts, 1);
    ledger__count(&header->other_parts_unended, part->flags & PART_UNENDED ? 1 : 0);
    ledger__count(&header->other_parts_cpu_ns, part->cpu_ns);
    ledger__count(&header->other_parts_ns, part->elapsed_ns);
}

static void store(uint64_t *to, uint64_t value)
{
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

/* The record becomes a part in that state, check and state last. Other threads may try to take the
 * record meanwhile: its state is not read. */
static void publish(struct ledger_part *part, uint64_t state)
{
    struct ledger_part as_published = {.state = state};
    size_t from = offsetof(struct ledger_part, id);

    memcpy((char *)&as_published + from, (const char *)part + from, sizeof(*part) - from);
    __atomic_store_n(&part->check, ledger_part__check(&as_published), __ATOMIC_RELEASE);
    __atomic_store_n(&part->state, state, __ATOMIC_RELEASE);
}

static void fill(struct ledger_part *part, const struct ledger_part *contents, uint64_t turn)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    part->id[0] = contents->id[0];
    part->id[1] = contents->id[1];
    part->begin_ns = contents->begin_ns;
    part->elapsed_ns = contents->elapsed_ns;
    part->cpu_ns = contents->cpu_ns;
    part->java_id = contents->java_id;
    part->tid = contents->tid;
    part->pid = contents->pid;
    part->flags = contents->flags;
    part->depth = contents->depth;
    part->thread = contents->thread;
    for (unsigned i = 0; i < PART_FRAMES; i++)
        part->path[i] = contents->path[i];
    publish(part, state_of(turn, PART_OPEN));
}

ledger_ref chain_parts__begin(struct chain_parts *parts, const struct ledger_part *contents)
{
    for (unsigned tried = 0; tried < TRIES; tried++) {
        uint64_t turn = atomic_fetch_add(&parts->next, 1), before;
        ledger_ref ref = record_at(parts, (uint32_t)(turn % parts->most));
        struct ledger_part *part = ledger__at(parts->ledger, ref);

        if (!ref || !take(part, turn, &before))
            continue;
        if ((before & PART_STATE_MASK) == PART_DONE)
            add_to_other(parts->ledger, part);
        fill(part, contents, turn);
        return ref;
    }
    ledger__count(&parts->ledger->header->lost_parts, 1);
    return 0;
}

static void finish(struct ledger_part *part, uint64_t elapsed_ns, uint64_t cpu_ns, uint32_t flags)
{
    uint64_t state = __atomic_load_n(&part->state, __ATOMIC_RELAXED);

    __atomic_store_n(&part->state, (state & ~PART_STATE_MASK) | PART_WRITING, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    store(&part->elapsed_ns, elapsed_ns);
    store(&part->cpu_ns, cpu_ns);
    part->flags |= flags;
    publish(part, (state & ~PART_STATE_MASK) | PART_DONE);
}

void chain_part__end(struct ledger *ledger, ledger_ref ref, uint64_t elapsed_ns, uint64_t cpu_ns)
{
    finish(ledger__at(ledger, ref), elapsed_ns, cpu_ns, 0);
}

void chain_part__give_up(struct ledger *ledger, ledger_ref ref)
{
    finish(ledger__at(ledger, ref), 0, 0, PART_UNENDED);
}
