#include "agent/hooks/class_changes.h"

#include "agent/hooks/class_hooks.h"
#include "agent/hooks/interface_hooks.h"
#include "agent/hooks/loaded_classes.h"
#include "agent/hooks/unhooked_classes.h"
#include "agent/host/jvmti_event.h"

#include <string.h>

#define LOCKS_LOOK_NS 100000000u /* for calls that last */

static void set_event(struct class_hooks *hooks, bool on)
{
    (void)jvmti_event__set(hooks->jvmti, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, on);
}

static bool is_hooked(struct class_hooks *hooks, JNIEnv *jni, jobject loader, const char *name)
{
    const struct numbered_class *class = method_numbers__find_class(&hooks->methods, name);

    (void)jni, (void)loader;
    return class && numbered_class__is(class, CLASS_HOOKED);
}

static bool is_renewed(struct class_hooks *hooks, JNIEnv *jni, jobject loader, const char *name)
{
    const struct numbered_class *class = method_numbers__find_class(&hooks->methods, name);

    (void)jni, (void)loader;
    return class && numbered_class__is(class, CLASS_RENEWED);
}

static bool begin_renewal(struct class_hooks *hooks, uint32_t id)
{
    const struct numbered_method *method = method_numbers__get(&hooks->methods, id);
    struct method_quota *quota = &hooks->quotas->methods[id];

    if (!method || numbered_class__is(method->class, CLASS_KEPT) ||
        !hook_quotas__begin_renewal(hooks->quotas, id))
        return false;
    /* After a new filter the class is counted anew. */
    quota->was_counted = numbered_class__is(method->class, CLASS_COUNTED);
    quota->is_told = quota->is_told && quota->was_counted;
    (void)numbered_class__mark(method->class, CLASS_RENEWED);
    return true;
}

static void begin_paid_renewal(struct class_hooks *hooks, uint32_t id)
{
    struct method_quota *quota = &hooks->quotas->methods[id];

    quota->is_paid = true;
    if (!begin_renewal(hooks, id))
        quota->is_paid = false;
}

static bool end_renewal(struct class_hooks *hooks, JNIEnv *jni, uint32_t id)
{
    const struct numbered_method *method = method_numbers__get(&hooks->methods, id);

    if (!method || !__atomic_load_n(&hooks->quotas->methods[id].is_renewed, __ATOMIC_ACQUIRE))
        return false;
    /* A postponed method had no calls, and so has no name in the ledger. */
    if (numbered_method__is_hooked(method) && !ledger__find_method(hooks->ledger, id))
        (void)class_hooks__resolve(hooks, id);
    hook_quotas__end_renewal(hooks->quotas, jni, id, numbered_method__is_hooked(method));
    return true;
}

void class_changes__renew(struct class_hooks *hooks, JNIEnv *jni, const uint32_t *methods,
                          uint32_t count)
{
    pthread_mutex_lock(&hooks->change_lock);
    if (atomic_load(&hooks->wanted)) {
        for (uint32_t i = 0; i < count; i++)
            begin_paid_renewal(hooks, methods[i]);
        (void)loaded_classes__transform(hooks, jni, is_renewed, unhooked_classes__note_refused,
                                        NULL);
        for (uint32_t i = 0; i < count; i++)
            (void)end_renewal(hooks, jni, methods[i]);
        method_numbers__unmark(&hooks->methods, CLASS_RENEWED);
    }
    pthread_mutex_unlock(&hooks->change_lock);
}

static bool is_contended(struct class_hooks *hooks, JNIEnv *jni, jobject loader, const char *name)
{
    const struct numbered_class *class = method_numbers__find_class(&hooks->methods, name);

    if (!loader && strcmp(name, OWNABLE_CLASS) == 0)
        return atomic_load(&hooks->locks_hooked) &&
               !(class && numbered_class__is(class, CLASS_HOOKED));
    return class && numbered_class__is(class, CLASS_CONTENDED) &&
           !numbered_class__is(class, CLASS_MONITORS) && !numbered_class__is(class, CLASS_KEPT) &&
           !numbered_class__is(class, CLASS_LOOPING) && !lasting_calls__has(hooks->busy, name) &&
           class_hooks__is_to_be_hooked(hooks, jni, loader, name);
}

void class_changes__hook_locks(struct class_hooks *hooks, JNIEnv *jni, bool locks)
{
    struct lasting_calls busy;

    lasting_calls__find(&busy, hooks->jvmti, jni, LASTING_PROBABLY, LOCKS_LOOK_NS);
    pthread_mutex_lock(&hooks->change_lock);
    if (locks)
        atomic_store(&hooks->locks_hooked, true);
    if (atomic_load(&hooks->wanted) && hooks->everywhere) {
        hooks->busy = &busy;
        (void)loaded_classes__transform(hooks, jni, is_contended, unhooked_classes__note_refused,
                                        NULL);
        method_numbers__unmark(&hooks->methods, CLASS_CONTENDED);
    }
    pthread_mutex_unlock(&hooks->change_lock);
    lasting_calls__release(&busy);
}

/* A new start is a new chance for methods that are off. */
static void begin_renewals(struct class_hooks *hooks)
{
    uint32_t methods = __atomic_load_n(&hooks->methods.count, __ATOMIC_ACQUIRE);

    for (uint32_t i = 1; hooks->quotas->methods && i <= methods && i < HOOK_METHODS_MAX; i++)
        (void)begin_renewal(hooks, i);
}

/* The tries before it do not count any more. */
static void end_renewals(struct class_hooks *hooks, JNIEnv *jni)
{
    uint32_t methods = __atomic_load_n(&hooks->methods.count, __ATOMIC_ACQUIRE);

    for (uint32_t i = 1; hooks->quotas->methods && i <= methods && i < HOOK_METHODS_MAX; i++)
        if (end_renewal(hooks, jni, i))
            hooks->quotas->methods[i].renewals = 0;
}

/* A start is to be short, and to hook what it can. */
#define LOOK_NS 300000000u

static void find_lasting(struct class_hooks *hooks, JNIEnv *jni)
{
    lasting_calls__find(&hooks->lasting, hooks->jvmti, jni, LASTING_SURELY, LOOK_NS);
}

/* Where every call is wanted, classes of running loops are changed as well. Twice: a class whose
 * loading had begun before is not in the JVM's list at first. */
void class_changes__insert(struct class_hooks *hooks, JNIEnv *jni)
{
    struct listed_classes listed = {0};

    pthread_mutex_lock(&hooks->change_lock);
    if (hooks->everywhere && hooks->quotas->methods && !hooks->interfaces_may_change)
        find_lasting(hooks, jni);
    begin_renewals(hooks);
    method_numbers__unmark(&hooks->methods, CLASS_SEEN);
    atomic_store(&hooks->wanted, true);
    set_event(hooks, true);
    if (loaded_classes__transform(hooks, jni, class_hooks__is_to_be_hooked,
                                  unhooked_classes__note_refused, &listed) > 0 &&
        hooks->everywhere)
        (void)loaded_classes__transform(hooks, jni, class_hooks__is_to_be_hooked,
                                        unhooked_classes__note_refused, &listed);
    listed_classes__release(&listed);
    /* The poller of sockets is loaded when a virtual thread first waits for one. */
    if (!hooks->everywhere && !(hooks->hears_waits && hooks->has_virtual_threads))
        set_event(hooks, false);
    interface_hooks__release(hooks, jni);
    end_renewals(hooks, jni);
    method_numbers__unmark(&hooks->methods, CLASS_RENEWED);
    lasting_calls__release(&hooks->lasting);
    pthread_mutex_unlock(&hooks->change_lock);
}

void class_changes__remove(struct class_hooks *hooks, JNIEnv *jni)
{
    pthread_mutex_lock(&hooks->change_lock);
    if (hooks->everywhere)
        find_lasting(hooks, jni);
    atomic_store(&hooks->wanted, false);
    set_event(hooks, true);
    (void)loaded_classes__transform(hooks, jni, is_hooked, unhooked_classes__note_refused, NULL);
    interface_hooks__hold(hooks, jni);
    method_numbers__unmark(&hooks->methods, CLASS_HOOKED);
    set_event(hooks, false);
    lasting_calls__release(&hooks->lasting);
    pthread_mutex_unlock(&hooks->change_lock);
}
