/*
 * Calls that are not recorded but counted: those of methods whose hooks are in their classes and
 * silent. The hooks' class adds to a counter in the method's record in the ledger
 * (struct ledger_hooking, agent/methods/hook_class.h), so the sum of recorded and counted calls of
 * a method is exact as long as the method was always heard, muted or counted. Nothing says which
 * thread made a counted call, or from where.
 *
 * An atomic addition takes some 6 ns in a loop (AMD EPYC, JDK 25).
 */
#ifndef TREADLE_HOOK_COUNTS_H
#define TREADLE_HOOK_COUNTS_H

#include "agent/methods/hook_quota.h"

/* The silent calls of the method's slot are counted from now on, in that record; NULL: the ledger
 * is full, and they are not. Before the method is muted. Threads in hooks may call it. */
void hook_counts__begin(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                        struct ledger_hooking *hooking);

/* True if the method's silent calls are counted. Any thread. */
bool hook_counts__counts(const struct hook_quotas *quotas, const struct method_quota *quota);

/* The calls that were counted, excluded ones with them. Any thread. */
uint64_t hook_counts__read(const struct hook_quotas *quotas, const struct method_quota *quota);

/* What is counted from now on, or was counted since, does not count: the method is held, or was. A
 * second call with the same value changes nothing. One thread at a time. */
void hook_counts__exclude(const struct hook_quotas *quotas, const struct method_quota *quota,
                          bool excluded);

#endif
