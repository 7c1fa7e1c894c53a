/*
 * The numbers of an ended thread go to the thread's group one by one. Each number is counted once
 * at every moment, also for a reader after a kill: the group's record first says what both numbers
 * will be, and a reader finishes the transfer in its copy (unfinished_moves.h). A thread that a
 * kill found half way keeps a row with the numbers that are still its own.
 *
 * The stores are made in the order that they are written in. For the group's writer. Nothing here
 * locks or blocks.
 */
#ifndef TREADLE_NUMBER_TRANSFER_H
#define TREADLE_NUMBER_TRANSFER_H

#include "native/ledger/ledger.h"

/* Brackets of one transfer. begin notes that the number at `offset` goes from one record to
 * another, where it will be `sum`. */
static inline void number_transfer__begin(struct ledger_transfer *note, ledger_ref from,
                                          ledger_ref to, size_t offset, uint64_t sum)
{
    __atomic_store_n(&note->sum, sum, __ATOMIC_RELEASE);
    __atomic_store_n(&note->offset, (uint32_t)offset, __ATOMIC_RELEASE);
    __atomic_store_n(&note->to, to, __ATOMIC_RELEASE);
    __atomic_store_n(&note->from, from, __ATOMIC_RELEASE);
}

static inline void number_transfer__end(struct ledger_transfer *note)
{
    __atomic_store_n(&note->from, 0, __ATOMIC_RELEASE);
}

/* Adds the number at that offset of one record to that of another of the same table, and leaves 0.
 */
static inline void number_transfer__run(struct ledger *ledger, struct ledger_transfer *note,
                                        ledger_ref from, ledger_ref to, size_t offset)
{
    uint64_t *number = (uint64_t *)(void *)((char *)ledger__at(ledger, from) + offset);
    uint64_t *into = (uint64_t *)(void *)((char *)ledger__at(ledger, to) + offset);
    uint64_t sum = *into + *number;

    if (!*number)
        return;
    number_transfer__begin(note, from, to, offset, sum);
    __atomic_store_n(into, sum, __ATOMIC_RELEASE);
    __atomic_store_n(number, 0, __ATOMIC_RELEASE);
    number_transfer__end(note);
}

#endif
