/*
 * The memory that the agent holds besides the ledger, in one figure: names of classes and methods,
 * quotas, names for sampled frames, unwind tables, sample buffers, what is kept for each kernel
 * thread, logical frames, and a timeline while one runs. All of it is bounded, whatever classes,
 * code and threads come and go.
 */
#ifndef TREADLE_HELD_MEMORY_H
#define TREADLE_HELD_MEMORY_H

#include <stddef.h>

struct agent;

/* Approximate bytes, without the allocator's overhead. For the housekeeping thread. */
size_t held_memory__bytes(struct agent *agent);

#endif
