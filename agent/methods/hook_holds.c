/* Methods that are held, all or one by one: see hook_quota.h. */
#include "agent/methods/hook_counts.h"
#include "agent/methods/hook_quota.h"

/* A heard method is muted while it is held. One that falls silent meanwhile stays so. */
static void mute_or_unmute(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method, bool held)
{
    uint32_t slot = hook_quotas__slot(quotas, method);

    if (!hook_quotas__hear(quotas, method))
        return;
    if (held) {
        hook_class__mute(quotas->hook_class, jni, slot, INT16_MAX);
        return;
    }
    hook_class__unmute(quotas->hook_class, jni, slot);
    hook_quotas__settle_order();
    if (!hook_quotas__hear(quotas, method))
        hook_class__mute(quotas->hook_class, jni, slot, HOOK_SILENT_CALLS);
}

/* A method that is heard again may still have counted calls while it was held. */
static void hold_or_release(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method, bool held)
{
    const struct method_quota *quota = quotas->methods ? &quotas->methods[method] : NULL;

    if (quota && !held)
        hook_counts__exclude(quotas, quota, false);
    mute_or_unmute(quotas, jni, method, held);
    if (quota && held)
        hook_counts__exclude(quotas, quota, true);
}

void hook_quotas__hold(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method, bool held)
{
    if (quotas->methods) {
        __atomic_store_n(&quotas->methods[method].is_held, held, __ATOMIC_SEQ_CST);
        hook_quotas__settle_order();
        held = hook_quotas__is_held(quotas, &quotas->methods[method]);
    }
    hold_or_release(quotas, jni, method, held);
}

void hook_quotas__hold_all(struct hook_quotas *quotas, JNIEnv *jni, uint32_t methods, bool held)
{
    bool before;

    if (!quotas->methods)
        return;
    before = __atomic_exchange_n(&quotas->all_held, held, __ATOMIC_SEQ_CST);
    if (!before && !held)
        return;
    hook_quotas__settle_order();
    for (uint32_t i = 1; i < methods && i < HOOK_METHODS_MAX; i++)
        hold_or_release(quotas, jni, i, hook_quotas__is_held(quotas, &quotas->methods[i]));
}

/* Its number was given before: whoever ends the hold meanwhile either comes to this method or is
 * seen here. */
void hook_quotas__hold_added(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method)
{
    if (!quotas->methods || !__atomic_load_n(&quotas->all_held, __ATOMIC_SEQ_CST))
        return;
    mute_or_unmute(quotas, jni, method, true);
    hook_quotas__settle_order();
    if (!hook_quotas__is_held(quotas, &quotas->methods[method]))
        mute_or_unmute(quotas, jni, method, false);
}
