#include "native/tree/return_stack.h"

#define RUNS_A_NOTE 5u

/* Slot 0 of a note is the ref of the older note; then come the runs. */
struct run {
    ledger_ref from;  /* the node of the folded frame's caller */
    uint32_t above;   /* unfolded frames between this folded frame and the older one before it */
    uint32_t repeats; /* equal returns after the first; those of the newest run are in struct
                         ledger_returns */
};

_Static_assert(sizeof(uint32_t) + RUNS_A_NOTE * sizeof(struct run) == sizeof(struct ledger_note),
               "a link and the runs");

static struct ledger_note *note_at(const struct ledger *ledger, ledger_ref ref)
{
    return ledger__at(ledger, ref);
}

static struct run *newest(const struct ledger *ledger, const struct ledger_returns *returns)
{
    struct ledger_note *note = note_at(ledger, returns->top);

    return (struct run *)&note->slots[1] + (returns->used - 1);
}

bool return_stack__push(struct record_pool *pool, struct ledger_returns *returns, ledger_ref from)
{
    struct run *run = returns->top ? newest(pool->ledger, returns) : NULL;
    ledger_ref ref;

    if (run && run->from == from && run->above == returns->above && returns->repeats < UINT32_MAX) {
        returns->repeats++;
        returns->above = 0;
        return true;
    }
    if (run)
        run->repeats = returns->repeats;
    if (!run || returns->used == RUNS_A_NOTE) {
        pool->takes_reserved = RESERVE_ALL;
        ref = record_pool__note(pool);
        pool->takes_reserved = RESERVE_NONE;
        if (!ref)
            return false;
        note_at(pool->ledger, ref)->slots[0] = returns->top;
        returns->top = ref;
        returns->used = 0;
    }
    returns->used++;
    *newest(pool->ledger, returns) = (struct run){.from = from, .above = returns->above};
    returns->repeats = 0;
    returns->above = 0;
    return true;
}

ledger_ref return_stack__look_below(const struct ledger *ledger, struct ledger_returns *copy)
{
    const struct run *run = newest(ledger, copy);
    ledger_ref from = run->from;

    copy->above = run->above;
    if (copy->repeats) {
        copy->repeats--;
        return from;
    }
    if (--copy->used == 0) {
        copy->top = note_at(ledger, copy->top)->slots[0];
        copy->used = copy->top ? RUNS_A_NOTE : 0;
    }
    if (copy->top)
        copy->repeats = newest(ledger, copy)->repeats;
    return from;
}

ledger_ref return_stack__pop(struct record_pool *pool, struct ledger_returns *returns)
{
    ledger_ref top = returns->top;
    ledger_ref from = return_stack__look_below(pool->ledger, returns);

    if (returns->top != top)
        record_pool__give_note(pool, top);
    return from;
}

void return_stack__clear(struct record_pool *pool, struct ledger_returns *returns)
{
    while (returns->top) {
        ledger_ref older = note_at(pool->ledger, returns->top)->slots[0];

        record_pool__give_note(pool, returns->top);
        returns->top = older;
    }
    *returns = (struct ledger_returns){0};
}
