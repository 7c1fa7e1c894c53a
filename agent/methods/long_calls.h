/*
 * Methods whose calls are long, callees included. Such a call costs little beside its own time and
 * divides much of the program's, at some thousand calls a second still. So calls are measured from
 * entry to exit (native/thread/measured_calls.h), one of each step of a quota, and a method with
 * long calls may make many more than others, within a budget of their own. Of several methods that
 * call one another and do little else the outermost tells as much as all of them: the others may if
 * their calls are longer still.
 *
 * For threads in hooks: nothing here blocks, locks or allocates. What several threads write at once
 * may lose a measured call, never more.
 */
#ifndef TREADLE_LONG_CALLS_H
#define TREADLE_LONG_CALLS_H

#include "agent/methods/hook_quota.h"

#define LONG_CALL_NS 30000u /* of CPU time: a call that takes so long is worth its hooks */

/* A call of the method took so much CPU time, with all that was called from it. `caller` is the key
 * of the node that it was called from. `slow`: the thread was switched since its last hook, so the
 * exit hook was slow, as it is taken to be for all calls of the step. */
void long_calls__took(struct hook_quotas *quotas, uint32_t method, uint64_t caller, uint64_t cpu_ns,
                      bool slow);

/* HOOK_QUOTA_STEP more calls of the method were heard, with which it has made so many. `slow`: so
 * was the entry hook of the last one, and is taken to be for all of them. */
void long_calls__count(struct hook_quotas *quotas, uint32_t method, uint32_t calls, bool slow);

/* True if the method's calls are long and worth their hooks, where all hooks may have taken so much
 * until now. */
bool long_calls__may_be_many(const struct hook_quotas *quotas, const struct method_quota *quota,
                             uint64_t budget_ns);

#endif
