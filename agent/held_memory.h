/*
 * What the agent holds beside the ledger, in one figure: names of classes and methods, quotas, what
 * samples need to name frames, unwind tables, sample buffers. All of it is bounded, whatever
 * classes, code and threads come and go.
 */
#ifndef TREADLE_HELD_MEMORY_H
#define TREADLE_HELD_MEMORY_H

#include <stddef.h>

struct agent;

/* Bytes, about: what the allocator adds is not in it. By the housekeeping thread. */
size_t held_memory__bytes(struct agent *agent);

#endif
