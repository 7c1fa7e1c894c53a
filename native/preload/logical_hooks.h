/*
 * What treadle.h calls in this process: pushes and pops of logical frames, which are nodes of the
 * thread's exact tree among its functions, and ids of chains, whose parts are in the ledger.
 *
 * A pop ends all that began inside its frame. Nothing here locks or allocates. While a thread is in
 * a hook, what its signal handlers push and pop is not recorded, and a push counted as lost.
 *
 * In a JVM with the agent all of it is passed on to the agent.
 */
#ifndef TREADLE_LOGICAL_HOOKS_H
#define TREADLE_LOGICAL_HOOKS_H

#include "native/activity/inside_handover.h"
#include "native/preload/function_hooks.h"

/* Their names are TREADLE_INSIDE_NAME and TREADLE_INSIDE_IDS_NAME. */
extern PRELOAD_EXPORT const struct treadle_inside treadle_inside_v1;
extern PRELOAD_EXPORT const struct treadle_inside_ids treadle_inside_ids_v1;

/* TREADLE_INSIDE_FORKS_NAME: what is pushed in the child of a fork is recorded, see forks.h. */
extern PRELOAD_EXPORT const uint32_t treadle_inside_forks_v1;

/* Its name is INSIDE_HANDOVER_NAME. */
PRELOAD_EXPORT inside_handover treadle_inside_handover_v1;

#endif
