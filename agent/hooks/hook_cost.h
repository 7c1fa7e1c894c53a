/*
 * What a call with hooks costs on this machine: measured when the agent begins, so that a report
 * can say how much of the CPU time is the profiler's own.
 */
#ifndef TREADLE_HOOK_COST_H
#define TREADLE_HOOK_COST_H

#include "agent/methods/hook_class.h"
#include "native/thread/kernel_thread.h"

#include <stdint.h>

/* Returns the cost of the hooks of one call in picoseconds, with what compiled code does around a
 * native method: the thread's state goes to native and back, with a full fence. It is the least of
 * a few tries, on a tree of its own, with the clock and time of the setup. 0: it could not be
 * measured. Takes a fraction of a millisecond; the calling thread must have no entry in the kernel
 * thread table. */
uint64_t hook_cost__measure_ps(const struct kernel_thread_setup *setup,
                               const JNINativeMethod hooks[HOOK_COUNT]);

#endif
