#include "agent/methods/hook_counts.h"

static struct ledger_hooking *record_of(const struct hook_quotas *quotas,
                                        const struct method_quota *quota)
{
    struct ledger_hooking *hooking =
        quota->hooking ? ledger__at(quotas->ledger, quota->hooking) : NULL;

    return hooking && __atomic_load_n(&hooking->counts, __ATOMIC_ACQUIRE) ? hooking : NULL;
}

/* A method keeps its counter: another slot of its hooks adds to the same one. Of two threads that
 * give it one, the later one's number stays unused. */
static uint32_t counter_of(struct hook_quotas *quotas, struct method_quota *quota)
{
    uint32_t counter = __atomic_load_n(&quota->counter, __ATOMIC_ACQUIRE);
    uint32_t given = counter ? 0 : thread_counters__number(&quotas->counters);

    if (given && __atomic_compare_exchange_n(&quota->counter, &counter, given, false,
                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return given;
    return counter;
}

/* The method is held: no call counted up to now counts. It may be released at this moment. */
static void exclude_all(const struct hook_quotas *quotas, const struct method_quota *quota,
                        struct ledger_hooking *hooking)
{
    __atomic_store_n(&hooking->excluded_at, 1, __ATOMIC_RELEASE);
    hook_quotas__settle_order();
    if (!hook_quotas__is_held(quotas, quota))
        hook_counts__exclude(quotas, quota, false);
}

void hook_counts__begin(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                        struct ledger_hooking *hooking)
{
    struct method_quota *quota = &quotas->methods[method];
    uint32_t counter = hooking ? counter_of(quotas, quota) : 0;
    bool is_first = counter && !hooking->counts;

    if (is_first) {
        thread_counters__set_note(&quotas->counters, counter, quota->hooking);
        __atomic_store_n(&hooking->counts, 1, __ATOMIC_RELEASE);
    }
    if (is_first && hook_quotas__is_held(quotas, quota))
        exclude_all(quotas, quota, hooking);
    hook_class__set_counter(quotas->hook_class, jni, hook_quotas__slot(quotas, method),
                            counter ? (int32_t)counter : HOOK_NO_COUNTER);
}

void hook_counts__add_one(struct hook_quotas *quotas, struct method_quota *quota)
{
    uint32_t counter = counter_of(quotas, quota);

    if (counter)
        thread_counters__add(&quotas->counters, counter, 1);
}

bool hook_counts__counts(const struct hook_quotas *quotas, const struct method_quota *quota)
{
    return record_of(quotas, quota) != NULL;
}

uint64_t hook_counts__read(const struct hook_quotas *quotas, const struct method_quota *quota)
{
    uint32_t counter = __atomic_load_n(&quota->counter, __ATOMIC_ACQUIRE);

    return counter ? thread_counters__read(&quotas->counters, counter) : 0;
}

void hook_counts__publish(const struct hook_quotas *quotas)
{
    const struct thread_counters *counters = &quotas->counters;

    for (uint32_t i = 1; i <= thread_counters__given(counters); i++) {
        ledger_ref record = thread_counters__note(counters, i);
        struct ledger_hooking *hooking = record ? ledger__at(quotas->ledger, record) : NULL;
        uint64_t counted = thread_counters__read(counters, i);

        if (hooking && hooking->counted != counted)
            __atomic_store_n(&hooking->counted, counted, __ATOMIC_RELEASE);
    }
}

/* Readers find the calls up to now at any moment, or fewer. */
void hook_counts__exclude(const struct hook_quotas *quotas, const struct method_quota *quota,
                          bool excluded)
{
    struct ledger_hooking *hooking = record_of(quotas, quota);
    uint64_t counted;

    if (!hooking || excluded == (hooking->excluded_at != 0))
        return;
    counted = hook_counts__read(quotas, quota);
    __atomic_store_n(&hooking->counted, counted, __ATOMIC_RELEASE);
    if (!excluded)
        __atomic_store_n(&hooking->excluded, hooking->excluded + counted + 1 - hooking->excluded_at,
                         __ATOMIC_RELEASE);
    __atomic_store_n(&hooking->excluded_at, excluded ? counted + 1 : 0, __ATOMIC_RELEASE);
}
