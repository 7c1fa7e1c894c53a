/*
 * How the state of one method changes, and what its record in the ledger says of that. For the
 * modules that hook_quota.h is made of. Threads in hooks may call all of it: nothing blocks, and
 * memory comes from the ledger only.
 */
#ifndef TREADLE_HOOK_STATES_H
#define TREADLE_HOOK_STATES_H

#include "agent/methods/hook_quota.h"

/* Calls a second. */
uint32_t hook_states__rate(uint32_t calls, uint64_t ns);

/* The method's record, made if need be. NULL: the ledger is full, or does not have the method. */
struct ledger_hooking *hook_states__record(struct hook_quotas *quotas, uint32_t number);

/* Writes the quota's spans and figures into the record, with that state. Readers see a record with
 * its old span or with its new one. */
void hook_states__tell(struct hook_quotas *quotas, uint32_t number,
                       enum ledger_hooking_state state);

/* False: the method is not in the state `from`. Only the thread that changes the state writes the
 * spans. */
bool hook_states__change(struct method_quota *quota, enum ledger_hooking_state from,
                         enum ledger_hooking_state to);

/* A state begins in which calls are not counted. Those that were counted up to now stay so. */
void hook_states__begin_span(struct hook_quotas *quotas, struct method_quota *quota,
                             bool was_counting);

/* From muted or counted. */
void hook_states__turn_off(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                           enum ledger_hooking_state from);

#endif
