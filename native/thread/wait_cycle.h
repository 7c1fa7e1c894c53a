/*
 * Deadlocks in a picture of who waits for whom: each thread waits for one other thread at most, so
 * a deadlock is a cycle that each of its threads leads around. Of the threads that one waits for
 * all together, wait_cycle__choose() chooses one. No memory is allocated.
 */
#ifndef TREADLE_WAIT_CYCLE_H
#define TREADLE_WAIT_CYCLE_H

#include <stdint.h>

#define WAIT_FOR_NOBODY UINT32_MAX

/* cycle: indices of the threads, each of which waits for the next one, and the last for the first.
 */
typedef void wait_cycle_visit(void *context, const uint32_t *cycle, uint32_t length);

/* Visits each cycle of two threads or more once, beginning with its first thread in the order of
 * `owner_of`; the cycles in any order.
 * owner_of[i]: for which thread the i-th one waits; or WAIT_FOR_NOBODY, or any other number that is
 * no index. scratch: room for 2 * count numbers. */
void wait_cycle__each(const uint32_t *owner_of, uint32_t count, uint32_t *scratch,
                      wait_cycle_visit *visit, void *context);

/* The thread waits for that one, among others. */
struct wait_choice {
    uint32_t waiter, owner;
};

/* Fills in owner_of[i] of the threads of `choices`, in which those of one waiter stand together:
 * the first of their owners who waits for them in turn, over whichever others; WAIT_FOR_NOBODY
 * where there is none. So a deadlock leaves a cycle, maybe with fewer threads than are in it.
 * scratch: room for `count` numbers; the indices are below `count`. */
void wait_cycle__choose(uint32_t *owner_of, uint32_t count, const struct wait_choice *choices,
                        uint32_t choice_count, uint32_t *scratch);

#endif
