/*
 * Which methods of a program a run with a budget hooks, chosen from a ledger of an earlier run. If
 * the earlier run had a budget itself, these are all methods that it called. If the earlier run
 * recorded every call (overhead=any), the budget decides. Half of the room goes to methods that
 * divide the program's CPU time into short calls with few hooks: their calls take less than a
 * millisecond in the mean, and their callers' take longer. The rest goes to the methods with the
 * fewest calls, as many as possible.
 */
#ifndef TREADLE_PLAN_CHOICE_H
#define TREADLE_PLAN_CHOICE_H

#include "native/ledger/ledger_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A method that the earlier run called. */
struct chosen_method {
    ledger_ref method;
    uint64_t calls;
    uint64_t cost_ns;     /* of its hooks, as the model of costs has it */
    uint64_t resolved_ns; /* CPU time in its calls from callers whose own calls take longer */
    bool is_hooked;
};

/* Makes the choice for a budget in ppm of the process's CPU. *methods is the caller's to free. With
 * every call recorded, the memory in use meanwhile is 12 bytes for each 64 bytes of the ledger. 0
 * or -ENOMEM. Any thread; not in hooks. */
int plan_choice__make(const struct ledger_reader *reader, uint32_t overhead_ppm,
                      struct chosen_method **methods, size_t *count);

#endif
