#include "agent/methods/counted_methods.h"

#include "agent/methods/hook_counts.h"
#include "agent/methods/hook_states.h"

#define NS_PER_S    1000000000u
#define COUNT_BURST 1000 /* calls */

/* The calls are told by the steps of all threads, which have up to a step each that is not told:
 * what they counted to the call is all over their counters, and slow to add up. */
static uint32_t stepped(uint32_t steps)
{
    return steps * HOOK_COUNTED_STEP;
}

static bool may_be_counted(const struct hook_quotas *quotas, const struct method_quota *quota,
                           uint32_t code_bytes)
{
    return !quota->from_ns && !quota->is_paid &&
           !__atomic_load_n(&quota->is_postponed, __ATOMIC_ACQUIRE) &&
           code_bytes <= HOOK_COUNTED_BYTES && hook_quotas__room(quotas) == 0;
}

/* Whoever finds the method counted finds the rest, too. */
bool counted_methods__count(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                            uint32_t code_bytes, uint32_t code_hash)
{
    struct method_quota *quota = quotas->methods ? &quotas->methods[method] : NULL;

    if (!quota || hook_quotas__is_counted(quotas, method))
        return quota != NULL;
    if (!may_be_counted(quotas, quota, code_bytes))
        return false;
    quota->code_hash = code_hash;
    quota->since_ns = quota->from_ns = ledger_time__now_ns(quotas->time);
    quota->saved = COUNT_BURST;
    if (!hook_states__change(quota, HOOKING_HEARD, HOOKING_COUNTED))
        return hook_quotas__is_counted(quotas, method);
    hook_class__count_only(quotas->hook_class, jni, hook_quotas__slot(quotas, method));
    return true;
}

/* The spans go on: muted or counted, its calls are counted. */
void counted_methods__count_only(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method)
{
    struct method_quota *quota = &quotas->methods[method];
    uint32_t slot = hook_quotas__slot(quotas, method);

    __atomic_store_n(&quota->looks, 0, __ATOMIC_RELAXED);
    quota->saved = COUNT_BURST;
    __atomic_store_n(&quota->judged, stepped(__atomic_load_n(&quota->steps, __ATOMIC_RELAXED)),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&quota->judged_ns, ledger_time__now_ns(quotas->time), __ATOMIC_RELAXED);
    if (!hook_states__change(quota, HOOKING_MUTED, HOOKING_COUNTED))
        return;
    hook_quotas__favour(quota, false);
    hook_class__count_only(quotas->hook_class, jni, slot);
    hook_states__tell(quotas, method, HOOKING_COUNTED);
    ledger__count(&quotas->ledger->header->muted_methods, (uint64_t)-1);
}

/* A slot without a counter that is not counted: it is held, or other copies of its class have hooks
 * while it is postponed. It may begin to count at this moment. */
static void leave_uncounted(struct hook_quotas *quotas, JNIEnv *jni, uint32_t number, uint32_t slot)
{
    const struct method_quota *quota = &quotas->methods[number];

    hook_class__set_counter(quotas->hook_class, jni, slot, HOOK_NO_COUNTER);
    hook_quotas__settle_order();
    if (hook_counts__counts(quotas, quota) && !hook_quotas__is_off(quotas, number))
        hook_class__set_counter(quotas->hook_class, jni, slot, (int32_t)quota->counter);
}

/* Of several threads that come here at once each one counts its call, and one begins the record. */
void counted_methods__first_call(struct hook_quotas *quotas, JNIEnv *jni, uint32_t slot)
{
    uint32_t number = hook_quotas__method(quotas, slot);
    struct method_quota *quota = quotas->methods ? &quotas->methods[number] : NULL;
    uint64_t expected = 0;

    if (!quota)
        return;
    if (!hook_quotas__is_counted(quotas, number)) {
        leave_uncounted(quotas, jni, number, slot);
        return;
    }
    hook_counts__add_one(quotas, quota);
    if (__atomic_compare_exchange_n(&quota->judged_ns, &expected, ledger_time__now_ns(quotas->time),
                                    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        hook_counts__begin(quotas, jni, number, hook_states__record(quotas, number));
        hook_states__tell(quotas, number, HOOKING_COUNTED);
    } else if (hook_counts__counts(quotas, quota)) {
        hook_class__set_counter(quotas->hook_class, jni, slot, (int32_t)quota->counter);
    }
}

static void judge(struct hook_quotas *quotas, JNIEnv *jni, uint32_t number)
{
    struct method_quota *quota = &quotas->methods[number];
    uint32_t calls = stepped(__atomic_add_fetch(&quota->steps, 1, __ATOMIC_RELAXED));
    uint32_t judged = __atomic_load_n(&quota->judged, __ATOMIC_RELAXED);
    uint64_t before_ns = __atomic_load_n(&quota->judged_ns, __ATOMIC_RELAXED);
    uint64_t now_ns = ledger_time__now_ns(quotas->time);
    double saved;

    if ((int32_t)(calls - judged) <= 0 ||
        !__atomic_compare_exchange_n(&quota->judged, &judged, calls, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&quota->judged_ns, now_ns, __ATOMIC_RELAXED);
    if (!judged && !quota->mutes)
        __atomic_fetch_add(&quotas->only_counted, 1, __ATOMIC_RELAXED);
    saved = (double)quota->saved +
            (double)HOOK_COUNT_RATE * (double)(now_ns - before_ns) / NS_PER_S - (calls - judged);
    quota->saved = (int64_t)(saved < COUNT_BURST ? saved : COUNT_BURST);
    if (saved >= 0 || quota->is_named)
        return;
    quota->rate = hook_states__rate(calls - judged, now_ns - before_ns);
    hook_states__turn_off(quotas, jni, number, HOOKING_COUNTED);
}

void counted_methods__step(struct hook_quotas *quotas, JNIEnv *jni, uint32_t slot, uint64_t tid)
{
    uint32_t method = hook_quotas__method(quotas, slot);

    thread_counters__claim(&quotas->counters, tid);
    if (quotas->methods && hook_quotas__is_counted(quotas, method))
        judge(quotas, jni, method);
}
