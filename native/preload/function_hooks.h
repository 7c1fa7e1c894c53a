/*
 * What code built with -finstrument-functions calls at the begin and at the end of each function.
 *
 * A hook neither locks nor allocates. While a thread is in a hook, hooks of its signal handlers
 * record nothing: such calls are counted as lost.
 */
#ifndef TREADLE_FUNCTION_HOOKS_H
#define TREADLE_FUNCTION_HOOKS_H

#define PRELOAD_EXPORT __attribute__((visibility("default")))

PRELOAD_EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
PRELOAD_EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

#endif
