/*
 * Memory for the command line: a tool that runs out of it can only say so and end. Never used by
 * the agent.
 */
#ifndef TREADLE_REPORT_MEMORY_H
#define TREADLE_REPORT_MEMORY_H

#include <stddef.h>

/* `count` zeroed elements of `size` bytes; never NULL, also for a count of 0. Release with free. */
void *memory__zeroed(size_t count, size_t size);

/* Room for at least `needed` elements, doubling `*room`; what is new is not zeroed. */
void *memory__grown(void *array, size_t *room, size_t needed, size_t size);

#endif
