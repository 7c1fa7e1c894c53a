/*
 * Deadlocks in a picture of who waits for whom: each thread waits for one other thread at most, so
 * a deadlock is a cycle that each of its threads leads around. No memory is allocated.
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

#endif
