/*
 * Methods whose calls are counted and not recorded, for good, at some 2 ns a call
 * (agent/methods/count_hooks.h). A method is counted because it fell silent, or from its first call
 * on: the budget bears no more hooks, and it is not large (agent/methods/hook_quota.h). Then
 * counting is all that its hook does, and neither its code nor the compilers' work grows much.
 *
 * A counted method may make HOOK_COUNT_RATE calls a second, and has some calls in hand for a burst.
 * One that makes more is turned off, usually before C2 compiles it. Of a method that is turned off
 * later, compiled code keeps a test. The budget limits what all counted methods cost
 * (agent/budget/hook_budget.c).
 *
 * A method that is counted from its first call on gets its record in the ledger then: most methods
 * that a program loads are never called.
 */
#ifndef TREADLE_COUNTED_METHODS_H
#define TREADLE_COUNTED_METHODS_H

#include "agent/methods/hook_quota.h"

/* True if the method's calls are to be counted from its first one on, with so many bytes of code:
 * the budget bears no more hooks, and it has had none. Also if it is counted already, for whatever
 * reason. Not in a hook. */
bool counted_methods__count(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                            uint32_t code_bytes, uint32_t code_hash);

/* A slot without a counter was called. If its method is counted, this is its first call, and the
 * ledger should have the method. Any thread in a hook, several at once maybe. */
void counted_methods__first_call(struct hook_quotas *quotas, JNIEnv *jni, uint32_t slot);

/* The calling thread, which has that tid, has counted HOOK_COUNTED_STEP more calls of a method, or
 * all threads without counters of their own together have. */
void counted_methods__step(struct hook_quotas *quotas, JNIEnv *jni, uint32_t slot, uint64_t tid);

/* A muted method is only counted from now on. In a hook. */
void counted_methods__count_only(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method);

#endif
