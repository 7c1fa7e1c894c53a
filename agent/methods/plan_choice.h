/*
 * Which methods of a program a run with a budget hooks, chosen from a ledger of an earlier run by
 * what their hooks cost and what they tell. Half of the room goes to methods that divide the
 * program's CPU time into short calls with few hooks: their calls take less than a millisecond in
 * the mean, and the calls around them take longer. The rest goes to the methods whose hooks cost
 * least; where these cost about the same, to those with the most CPU time in their calls.
 *
 * Of methods that the earlier run had silenced and whose calls it did not count, their rate then
 * and its samples tell how many calls they have and how long these take. Those are candidates whose
 * hooks tell ten times what they cost.
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
    uint64_t cum_ns;      /* CPU time in its calls */
    uint64_t resolved_ns; /* CPU time in its calls, while all calls around them take longer */
    uint32_t code_hash;   /* of an estimate: of the method's code, or 0 */
    bool is_estimate;     /* the earlier run had silenced the method, and did not count its calls */
    bool is_hooked;
};

/* True if a budget had silenced the method of this record by the end of the earlier run. */
static inline bool plan_choice__is_silenced(const struct ledger_hooking *hooking)
{
    return hooking->state != HOOKING_HEARD && !hooking->left_out;
}

struct plan_choice {
    struct chosen_method *methods; /* of this choice; the caller's to free */
    size_t count;
    bool is_short; /* there is no room for methods that the earlier run did not call */
};

/* Makes the choice for a budget in ppm of the process's CPU. The memory in use meanwhile is 13
 * bytes for each 64 bytes of the ledger. 0 or -ENOMEM, and then no methods. Any thread; not in
 * hooks. */
int plan_choice__make(const struct ledger_reader *reader, uint32_t overhead_ppm,
                      struct plan_choice *choice);

#endif
