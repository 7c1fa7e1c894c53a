#include "agent/methods/hook_states.h"

#include "agent/methods/hook_counts.h"

#define NS_PER_S 1000000000u

struct ledger_hooking *hook_states__record(struct hook_quotas *quotas, uint32_t number)
{
    struct method_quota *quota = &quotas->methods[number];
    ledger_ref method = quota->hooking ? 0 : ledger__find_method(quotas->ledger, number);
    struct ledger_hooking *hooking;

    if (method)
        quota->hooking = ledger__take_shared(quotas->ledger, LEDGER_HOOKINGS, LEDGER_HOOKING_CELLS);
    if (!quota->hooking)
        return NULL;
    hooking = ledger__at(quotas->ledger, quota->hooking);
    if (method) {
        hooking->method = method;
        hooking->code_hash = quota->code_hash;
    }
    return hooking;
}

/* Readers see a hooking with its old span or with its new one. */
void hook_states__tell(struct hook_quotas *quotas, uint32_t number, enum ledger_hooking_state state)
{
    const struct method_quota *quota = &quotas->methods[number];
    struct ledger_hooking *hooking = hook_states__record(quotas, number);

    /* The ledger is full: that calls are missing must not stay unsaid. */
    if (!hooking) {
        ledger__count(&quotas->ledger->header->dropped_enters, 1);
        return;
    }
    __atomic_store_n(&hooking->heard_ns, quota->heard_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&hooking->counted_ns, quota->counted_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&hooking->since_ns, quota->since_ns, __ATOMIC_RELAXED);
    hooking->from_ns = quota->from_ns;
    hooking->rate = quota->rate;
    hooking->rate_max = quota->limit;
    hooking->heard_calls = quota->silent_at;
    hooking->mutes = quota->mutes;
    __atomic_store_n(&hooking->state, (uint32_t)state, __ATOMIC_RELEASE);
}

/* Only the thread that changes the state writes the spans. */
bool hook_states__change(struct method_quota *quota, enum ledger_hooking_state from,
                         enum ledger_hooking_state to)
{
    uint32_t expected = from;

    return __atomic_compare_exchange_n(&quota->state, &expected, (uint32_t)to, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

uint32_t hook_states__rate(uint32_t calls, uint64_t ns)
{
    uint64_t rate = (uint64_t)calls * NS_PER_S / (ns ? ns : 1);

    return rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
}

/* A state begins in which calls are not counted. Those that were counted up to now stay so. */
void hook_states__begin_span(struct hook_quotas *quotas, struct method_quota *quota,
                             bool was_counting)
{
    uint64_t now_ns = ledger_time__now_ns(quotas->time);

    if (was_counting && hook_counts__counts(quotas, quota))
        quota->counted_ns += now_ns - quota->since_ns;
    quota->since_ns = now_ns;
}

void hook_states__turn_off(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                           enum ledger_hooking_state from)
{
    struct ledger_header *header = quotas->ledger->header;
    struct method_quota *quota = &quotas->methods[method];
    /* From now on it may get another one. */
    uint32_t slot = hook_quotas__slot(quotas, method);

    if (!hook_states__change(quota, from, HOOKING_OFF))
        return;
    hook_quotas__favour(quota, false);
    hook_states__begin_span(quotas, quota, true);
    hook_class__turn_off(quotas->hook_class, jni, slot);
    hook_states__tell(quotas, method, HOOKING_OFF);
    if (from == HOOKING_MUTED)
        ledger__count(&header->muted_methods, (uint64_t)-1);
    ledger__count(&header->off_methods, 1);
}
