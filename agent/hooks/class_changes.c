#include "agent/hooks/class_changes.h"

#include "agent/agent.h"
#include "agent/hooks/class_hooks.h"
#include "agent/hooks/interface_hooks.h"
#include "agent/hooks/loaded_classes.h"
#include "agent/host/jvmti_event.h"

static void set_event(struct agent *agent, bool on)
{
    (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, on);
}

static bool is_hooked(struct agent *agent, JNIEnv *jni, jobject loader, const char *name)
{
    const struct numbered_class *class =
        method_numbers__find_class(&agent->class_hooks.methods, name);

    (void)jni, (void)loader;
    return class && numbered_class__is(class, CLASS_HOOKED);
}

static bool is_renewed(struct agent *agent, JNIEnv *jni, jobject loader, const char *name)
{
    const struct numbered_class *class =
        method_numbers__find_class(&agent->class_hooks.methods, name);

    (void)jni, (void)loader;
    return class && numbered_class__is(class, CLASS_RENEWED);
}

static bool begin_renewal(struct agent *agent, uint32_t id)
{
    const struct numbered_method *method = method_numbers__get(&agent->class_hooks.methods, id);

    if (!method || numbered_class__is(method->class, CLASS_KEPT) ||
        !hook_quotas__begin_renewal(&agent->quotas, id))
        return false;
    (void)numbered_class__mark(method->class, CLASS_RENEWED);
    return true;
}

static bool end_renewal(struct agent *agent, uint32_t id)
{
    const struct numbered_method *method = method_numbers__get(&agent->class_hooks.methods, id);

    if (!method || !__atomic_load_n(&agent->quotas.methods[id].is_renewed, __ATOMIC_ACQUIRE))
        return false;
    hook_quotas__end_renewal(&agent->quotas, id, numbered_method__is_hooked(method));
    return true;
}

void class_changes__renew(struct agent *agent, JNIEnv *jni, const uint32_t *methods, uint32_t count)
{
    struct class_hooks *hooks = &agent->class_hooks;

    pthread_mutex_lock(&hooks->change_lock);
    if (atomic_load(&hooks->wanted)) {
        for (uint32_t i = 0; i < count; i++)
            (void)begin_renewal(agent, methods[i]);
        (void)loaded_classes__transform(agent, jni, is_renewed, class_hooks__note_refused, NULL);
        for (uint32_t i = 0; i < count; i++)
            (void)end_renewal(agent, methods[i]);
        method_numbers__unmark(&hooks->methods, CLASS_RENEWED);
    }
    pthread_mutex_unlock(&hooks->change_lock);
}

/* The tries before it do not count any more. */
static bool end_start(struct agent *agent, uint32_t id)
{
    bool ended = end_renewal(agent, id);

    if (ended)
        agent->quotas.methods[id].renewals = 0;
    return ended;
}

/* A new start is a new chance for methods that are off. */
static void renew_all(struct agent *agent, bool (*step)(struct agent *agent, uint32_t id))
{
    uint32_t methods = __atomic_load_n(&agent->class_hooks.methods.count, __ATOMIC_ACQUIRE);

    for (uint32_t i = 1; agent->quotas.methods && i <= methods && i < HOOK_METHODS_MAX; i++)
        (void)step(agent, i);
}

/* Twice: a class whose loading had begun before is not in the JVM's list at first. */
void class_changes__insert(struct agent *agent, JNIEnv *jni)
{
    struct class_hooks *hooks = &agent->class_hooks;
    struct listed_classes listed = {0};

    pthread_mutex_lock(&hooks->change_lock);
    renew_all(agent, begin_renewal);
    method_numbers__unmark(&hooks->methods, CLASS_SEEN);
    atomic_store(&hooks->wanted, true);
    set_event(agent, true);
    if (loaded_classes__transform(agent, jni, class_hooks__is_to_be_hooked,
                                  class_hooks__note_refused, &listed) > 0 &&
        hooks->everywhere)
        (void)loaded_classes__transform(agent, jni, class_hooks__is_to_be_hooked,
                                        class_hooks__note_refused, &listed);
    listed_classes__release(&listed);
    if (!hooks->everywhere)
        set_event(agent, false);
    interface_hooks__release(agent, jni);
    renew_all(agent, end_start);
    method_numbers__unmark(&hooks->methods, CLASS_RENEWED);
    pthread_mutex_unlock(&hooks->change_lock);
}

void class_changes__remove(struct agent *agent, JNIEnv *jni)
{
    struct class_hooks *hooks = &agent->class_hooks;

    pthread_mutex_lock(&hooks->change_lock);
    atomic_store(&hooks->wanted, false);
    set_event(agent, true);
    (void)loaded_classes__transform(agent, jni, is_hooked, class_hooks__note_refused, NULL);
    interface_hooks__hold(agent, jni);
    method_numbers__unmark(&hooks->methods, CLASS_HOOKED);
    set_event(agent, false);
    pthread_mutex_unlock(&hooks->change_lock);
}
