/*
 * Calls that are not recorded but counted: those of methods whose hooks are in their classes and
 * silent, and of methods whose only hook counts them. The hooks' class adds to counters
 * (agent/methods/thread_counters.h). The method's record in the ledger (struct ledger_hooking) has
 * the sum as it was when it was published last: in each round of the housekeeping thread, which is
 * at least every half second then, and before a snapshot. A reader of the live ledger, and of what
 * a killed JVM left, lacks the counted calls since. So the sum of recorded and counted calls of a
 * method is exact as long as the method was always heard, muted or counted. Nothing says which
 * thread made a counted call, or from where.
 */
#ifndef TREADLE_HOOK_COUNTS_H
#define TREADLE_HOOK_COUNTS_H

#include "agent/methods/hook_quota.h"

/* The silent calls of the method's slot are counted from now on, in that record; NULL: the ledger
 * is full, and they are not. Before the method is muted. Threads in hooks may call it. */
void hook_counts__begin(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                        struct ledger_hooking *hooking);

/* Counts one call, before or after the above. Threads in hooks may call it. */
void hook_counts__add_one(struct hook_quotas *quotas, struct method_quota *quota);

/* True if the method's silent calls are counted. Any thread. */
bool hook_counts__counts(const struct hook_quotas *quotas, const struct method_quota *quota);

/* Writes all counts into the ledger. Before a reader is to see them; one thread at a time. */
void hook_counts__publish(const struct hook_quotas *quotas);

/* The calls that were counted, excluded ones with them. Any thread. */
uint64_t hook_counts__read(const struct hook_quotas *quotas, const struct method_quota *quota);

/* What is counted from now on, or was counted since, does not count: the method is held, or was. A
 * second call with the same value changes nothing. One thread at a time. */
void hook_counts__exclude(const struct hook_quotas *quotas, const struct method_quota *quota,
                          bool excluded);

#endif
