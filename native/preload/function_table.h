/*
 * The functions whose calls are seen, by their address: one entry each, which has the number by
 * which call trees name the function. Entries are never removed, and never move. That of a function
 * whose image was unloaded is found again if the same image is loaded at the same place.
 *
 * function_table__find and __add are for hooks: they neither lock nor allocate.
 */
#ifndef TREADLE_FUNCTION_TABLE_H
#define TREADLE_FUNCTION_TABLE_H

#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"

#include <stdbool.h>
#include <stdint.h>

#define FUNCTION_TABLE_BITS 16u
#define FUNCTIONS_MAX       (1u << FUNCTION_TABLE_BITS)
#define FUNCTION_TRIES      32u /* entries that are looked at for one function */

/* What becomes of a function's calls. */
enum function_state {
    FUNCTION_NEW,     /* not decided: include= or exclude= needs a name that is not known yet */
    FUNCTION_HEARD,   /* recorded */
    FUNCTION_MUTED,   /* not recorded now: too many for the budget */
    FUNCTION_LEFT_OUT /* by include= or exclude= */
};

#define FUNCTION_GONE (UINT64_C(1) << 63) /* in its address: its image is not loaded now */

struct function {
    uint64_t address;  /* atomic; 0: the entry is free */
    uint32_t state;    /* atomic; enum function_state */
    ledger_ref record; /* atomic; its method in the ledger; none: not made yet */
    uint32_t calls;    /* atomic: recorded, in steps; see function_budget.h */
    /* function_budget.h's; written by the thread that changes the state */
    ledger_ref hooking;   /* its record in the ledger; none: it was always heard */
    uint32_t calls_since; /* atomic: calls when it began to be heard */
    uint32_t rate;
    uint32_t mutes;
    uint64_t from_ns;
    uint64_t since_ns; /* atomic: when it began to be heard, or fell silent */
    uint64_t heard_ns;
};

struct function_table {
    struct ledger *ledger;
    struct function *functions; /* FUNCTIONS_MAX; address space, which takes memory as it is used */
    uint32_t *order; /* atomic: 1 + the places of functions, as they got their records; 0: coming */
    uint64_t count;  /* atomic: of order */
    const struct ledger_time *time;
    void *find_object;       /* for loaded_image.h; NULL: images are taken to stay */
    uint32_t state_at_first; /* enum function_state of a function that is added */
};

/* 0 or -ENOMEM. */
int function_table__init(struct function_table *table, struct ledger *ledger,
                         const struct ledger_time *time);

/* In the child of a fork: nothing was called yet. Functions that were decided stay so. */
void function_table__restart(struct function_table *table);

/* Images were unloaded: their functions are gone. Those that are named are known again. Not for
 * hooks. */
void function_table__forget_unloaded(struct function_table *table);

/* The function that got its record as number `index`; NULL: there is none, or it is just coming. */
struct function *function_table__nth(const struct function_table *table, uint64_t index);

static inline uint32_t function_table__slot(uint64_t address)
{
    return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FUNCTION_TABLE_BITS));
}

/* The function's entry, which is made if need be. NULL: the table is full around there. */
struct function *function_table__add(struct function_table *table, uint64_t address);

/* The same, for hooks: in the common case one look. */
static inline struct function *function_table__find(struct function_table *table, uint64_t address)
{
    struct function *function = &table->functions[function_table__slot(address)];

    if (__builtin_expect(__atomic_load_n(&function->address, __ATOMIC_ACQUIRE) == address, 1))
        return function;
    return function_table__add(table, address);
}

/* The key of the function's nodes, never 0. */
static inline uint32_t function_table__key(const struct function_table *table,
                                           const struct function *function)
{
    return (uint32_t)(function - table->functions) + 1;
}

static inline struct function *function_table__at(const struct function_table *table, uint64_t key)
{
    return &table->functions[key - 1];
}

/* An entry that another thread is making is new for a moment. */
static inline enum function_state function_table__state(const struct function_table *table,
                                                        const struct function *function)
{
    uint32_t state = __atomic_load_n(&function->state, __ATOMIC_ACQUIRE);

    return (enum function_state)(__builtin_expect(state == FUNCTION_NEW, 0) ? table->state_at_first
                                                                            : state);
}

/* The record of a function, which is made if need be: nameless at first, see function_names.h.
 * None: the ledger is full. */
ledger_ref function_table__record(struct function_table *table, struct function *function);

#endif
