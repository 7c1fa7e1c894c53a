#include "native/thread/wait_cycle.h"

#include <stdbool.h>

/* Follows the threads from `start` on that no earlier start has led to, and marks them. Returns
 * where that ends: at a thread of the same mark, which is on a cycle, or elsewhere. */
static uint32_t follow(const uint32_t *owner_of, uint32_t count, uint32_t *marks, uint32_t start)
{
    uint32_t at = start;

    while (at < count && !marks[at]) {
        marks[at] = start + 1;
        at = owner_of[at];
    }
    return at;
}

void wait_cycle__each(const uint32_t *owner_of, uint32_t count, uint32_t *scratch,
                      wait_cycle_visit *visit, void *context)
{
    uint32_t *marks = scratch, *cycle = scratch + count;

    for (uint32_t i = 0; i < count; i++)
        marks[i] = 0;
    for (uint32_t start = 0; start < count; start++) {
        uint32_t met = follow(owner_of, count, marks, start), first = met, length = 0;

        if (marks[start] != start + 1 || met >= count || marks[met] != start + 1)
            continue;
        for (uint32_t at = owner_of[met]; at != met; at = owner_of[at])
            first = at < first ? at : first;
        for (uint32_t at = first; !length || at != first; at = owner_of[at])
            cycle[length++] = at;
        if (length > 1)
            visit(context, cycle, length);
    }
}

/* True if the waiter gets its mark now, for its owner has one. */
static bool mark(uint32_t *marks, uint32_t waiter, uint32_t owner)
{
    bool is_new = !marks[waiter] && marks[owner];

    marks[waiter] |= is_new;
    return is_new;
}

/* Marks the threads that wait for `waiter`, over whichever others. */
static void mark_those_behind(const uint32_t *owner_of, uint32_t count,
                              const struct wait_choice *choices, uint32_t choice_count,
                              uint32_t waiter, uint32_t *marks)
{
    bool is_new = true;

    for (uint32_t i = 0; i < count; i++)
        marks[i] = i == waiter;
    while (is_new) {
        is_new = false;
        for (uint32_t i = 0; i < count; i++)
            is_new |= owner_of[i] < count && mark(marks, i, owner_of[i]);
        for (uint32_t i = 0; i < choice_count; i++)
            is_new |= mark(marks, choices[i].waiter, choices[i].owner);
    }
}

void wait_cycle__choose(uint32_t *owner_of, uint32_t count, const struct wait_choice *choices,
                        uint32_t choice_count, uint32_t *scratch)
{
    for (uint32_t from = 0, end; from < choice_count; from = end) {
        uint32_t waiter = choices[from].waiter;

        mark_those_behind(owner_of, count, choices, choice_count, waiter, scratch);
        owner_of[waiter] = WAIT_FOR_NOBODY;
        for (end = from; end < choice_count && choices[end].waiter == waiter; end++)
            if (owner_of[waiter] == WAIT_FOR_NOBODY && scratch[choices[end].owner])
                owner_of[waiter] = choices[end].owner;
    }
}
