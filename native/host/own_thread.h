/* Threads of the profiler's own: detached, with all signals blocked except those of faults, which a
 * fault guard needs. */
#ifndef TREADLE_OWN_THREAD_H
#define TREADLE_OWN_THREAD_H

#include <stddef.h>

/* 0 or -errno. Not in hooks. */
int own_thread__create(void *(*run)(void *context), void *context, size_t stack_bytes);

#endif
