#include "agent/hooks/interface_hooks.h"

#include "agent/hooks/class_hooks.h"
#include "agent/hooks/class_listing.h"
#include "agent/hooks/unhooked_classes.h"
#include "agent/methods/class_name.h"
#include "agent/methods/hook_class.h"

#include <stdlib.h>
#include <string.h>

bool interface_hooks__must_stay(struct class_hooks *hooks, jclass class, const char *name)
{
    const struct numbered_class *known = method_numbers__find_class(&hooks->methods, name);
    jboolean is_interface = JNI_FALSE;

    if (hooks->interfaces_may_change ||
        (*hooks->jvmti)->IsInterface(hooks->jvmti, class, &is_interface) != JVMTI_ERROR_NONE ||
        !is_interface)
        return false;
    if (!known ||
        (!numbered_class__is(known, CLASS_KEPT) && !numbered_class__is(known, CLASS_COUNTED)))
        unhooked_classes__note(hooks, class, name, UNHOOKED_INTERFACE, CLASS_COUNTED);
    return true;
}

void interface_hooks__keep(struct class_hooks *hooks, struct numbered_class *class, bool is_jdk)
{
    method_numbers__keep(&hooks->methods, class);
    (void)numbered_class__mark(class, CLASS_KEPT);
    if (is_jdk)
        (void)numbered_class__mark(class, CLASS_OF_JDK);
}

/* The method of that number, if its hooks are kept; or NULL. */
static const struct numbered_method *find_kept(struct class_hooks *hooks, uint32_t id)
{
    const struct numbered_method *method = method_numbers__get(&hooks->methods, id);

    return method && numbered_method__is_kept(method) ? method : NULL;
}

static void hear(struct class_hooks *hooks, JNIEnv *jni, const struct numbered_method *method,
                 bool heard)
{
    method_numbers__hear_kept(&hooks->methods, method->id, heard);
    hook_quotas__hold(hooks->quotas, jni, method->id, !heard);
}

static uint32_t numbers(const struct class_hooks *hooks)
{
    uint32_t count = __atomic_load_n(&hooks->methods.count, __ATOMIC_ACQUIRE);

    return count < HOOK_METHODS_MAX ? count : HOOK_METHODS_MAX - 1;
}

void interface_hooks__hold(struct class_hooks *hooks, JNIEnv *jni)
{
    for (uint32_t id = 1; id <= numbers(hooks); id++) {
        const struct numbered_method *method = find_kept(hooks, id);

        if (method)
            hear(hooks, jni, method, false);
    }
}

bool interface_hooks__admits(const struct method_filter *filter,
                             const struct numbered_method *method)
{
    char *class_name;
    bool admitted;

    if (!filter->include && !filter->latency && numbered_class__is(method->class, CLASS_OF_JDK))
        return false;
    class_name = strdup(numbered_class__name(method->class));
    if (!class_name)
        return false;
    class_name__to_dots(class_name, strlen(class_name));
    admitted = method_filter__admits(filter, class_name, method->name) &&
               (filter->include || !numbered_class__is(method->class, CLASS_OF_JDK) ||
                method_filter__measures(filter, class_name, method->name));
    free(class_name);
    return admitted;
}

/* The methods of a class have numbers side by side, or nearly so. */
static void count_method(struct ledger_header *header, const struct numbered_method *method,
                         bool admitted)
{
    if (!admitted)
        ledger__count(&header->filtered_methods, 1);
    else
        ledger__count(&header->hooked_methods, 1);
    if (admitted && !numbered_class__is(method->class, CLASS_HOOKED))
        ledger__count(&header->hooked_classes, 1);
}

static void release(struct class_hooks *hooks, JNIEnv *jni, const struct numbered_method *method)
{
    bool admitted = interface_hooks__admits(hooks->filter, method);
    const struct class_listing nothing = {0};

    if (!numbered_class__is(method->class, CLASS_COUNTED))
        count_method(hooks->ledger->header, method, admitted);
    if (admitted && numbered_class__mark(method->class, CLASS_HOOKED) &&
        !numbered_class__is(method->class, CLASS_COUNTED))
        class_listing__write(&nothing, hooks->ledger, method->class, 0);
    hear(hooks, jni, method, admitted);
}

void interface_hooks__release(struct class_hooks *hooks, JNIEnv *jni)
{
    uint32_t count = numbers(hooks);

    pthread_rwlock_rdlock(&hooks->filter_lock);
    for (uint32_t id = 1; id <= count; id++) {
        const struct numbered_method *method = find_kept(hooks, id);

        if (method)
            release(hooks, jni, method);
    }
    for (uint32_t id = 1; id <= count; id++) {
        const struct numbered_method *method = find_kept(hooks, id);

        if (method)
            (void)numbered_class__mark(method->class, CLASS_COUNTED);
    }
    pthread_rwlock_unlock(&hooks->filter_lock);
}
