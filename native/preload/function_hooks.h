/*
 * What code built with -finstrument-functions calls at the begin and at the end of each function.
 *
 * A hook neither locks nor allocates. While a thread is in a hook, hooks of its signal handlers
 * record nothing: such calls are counted as lost.
 */
#ifndef TREADLE_FUNCTION_HOOKS_H
#define TREADLE_FUNCTION_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

struct preload_thread;

#define PRELOAD_EXPORT __attribute__((visibility("default")))

PRELOAD_EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
PRELOAD_EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

/* For other hooks, where preload_mine__begin_hook has found something. may_enter: true if the hook
 * whose frame that is may go on; if not, a call is counted as lost. Begins the profiler and the
 * thread if need be. may_leave: the same of what ends something. drop: the thread's frames from
 * that one on are over; that one ends now, or, drop_dead, ended before. */
bool function_hooks__may_enter(uint64_t frame);
bool function_hooks__may_leave(uint64_t frame);
void function_hooks__drop(struct preload_thread *mine, uint32_t depth);
void function_hooks__drop_dead(struct preload_thread *mine, uint32_t depth);

#endif
