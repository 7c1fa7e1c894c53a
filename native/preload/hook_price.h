/* What the hooks of one call cost on this machine. */
#ifndef TREADLE_HOOK_PRICE_H
#define TREADLE_HOOK_PRICE_H

#include "native/thread/kernel_thread.h"

#include <stdint.h>

/* The straight line of one call's hooks, in a loop, in ps; 0: not known. Takes some 100 µs, on a
 * thread that no hooks are heard of. */
uint64_t hook_price__measure_ps(const struct kernel_thread_setup *setup);

#endif
