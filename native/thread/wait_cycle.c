#include "native/thread/wait_cycle.h"

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
