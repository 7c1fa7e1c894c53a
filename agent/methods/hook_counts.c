#include "agent/methods/hook_counts.h"

static struct ledger_hooking *record_of(const struct hook_quotas *quotas,
                                        const struct method_quota *quota)
{
    struct ledger_hooking *hooking =
        quota->hooking ? ledger__at(quotas->ledger, quota->hooking) : NULL;

    return hooking && __atomic_load_n(&hooking->counts, __ATOMIC_ACQUIRE) ? hooking : NULL;
}

void hook_counts__begin(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                        struct ledger_hooking *hooking)
{
    if (!hooking)
        return;
    __atomic_store_n(&hooking->counts, 1, __ATOMIC_RELEASE);
    hook_class__set_record(quotas->hook_class, jni, hook_quotas__slot(quotas, method),
                           quotas->methods[method].hooking);
}

bool hook_counts__counts(const struct hook_quotas *quotas, const struct method_quota *quota)
{
    return record_of(quotas, quota) != NULL;
}

uint64_t hook_counts__read(const struct hook_quotas *quotas, const struct method_quota *quota)
{
    const struct ledger_hooking *hooking = record_of(quotas, quota);

    return hooking ? __atomic_load_n(&hooking->counted, __ATOMIC_RELAXED) : 0;
}

/* Readers find the calls up to now at any moment, or fewer. */
void hook_counts__exclude(const struct hook_quotas *quotas, const struct method_quota *quota,
                          bool excluded)
{
    struct ledger_hooking *hooking = record_of(quotas, quota);
    uint64_t counted = hook_counts__read(quotas, quota);

    if (!hooking || excluded == (hooking->excluded_at != 0))
        return;
    if (!excluded)
        __atomic_store_n(&hooking->excluded, hooking->excluded + counted + 1 - hooking->excluded_at,
                         __ATOMIC_RELEASE);
    __atomic_store_n(&hooking->excluded_at, excluded ? counted + 1 : 0, __ATOMIC_RELEASE);
}
