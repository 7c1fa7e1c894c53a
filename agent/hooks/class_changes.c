#include "agent/hooks/class_changes.h"

#include "agent/hooks/class_hooks.h"
#include "agent/hooks/interface_hooks.h"
#include "agent/hooks/loaded_classes.h"
#include "agent/hooks/unhooked_classes.h"
#include "agent/host/jvmti_event.h"
#include "agent/methods/class_name.h"
#include "agent/threads/shared_lock_methods.h"

#include <stdio.h>
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

static bool is_silent(const struct class_hooks *hooks)
{
    return atomic_load(&hooks->silent_since_ns) != 0;
}

/* Profiling is on, or about to be. */
static bool are_heard(const struct class_hooks *hooks)
{
    return atomic_load(&hooks->wanted) && !is_silent(hooks);
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
    if (are_heard(hooks)) {
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

    if (!loader && hooks->shared_new &&
        (shared_lock_methods__kinds(name, strlen(name)) & hooks->shared_new))
        return true;
    if (!loader && strcmp(name, OWNABLE_CLASS) == 0)
        return atomic_load(&hooks->locks_hooked) &&
               !(class && numbered_class__is(class, CLASS_HOOKED));
    return class && numbered_class__is(class, CLASS_CONTENDED) &&
           !numbered_class__is(class, CLASS_MONITORS) && !numbered_class__is(class, CLASS_KEPT) &&
           !numbered_class__is(class, CLASS_LOOPING) && !lasting_calls__has(hooks->busy, name) &&
           class_hooks__is_to_be_hooked(hooks, jni, loader, name);
}

void class_changes__hook_locks(struct class_hooks *hooks, JNIEnv *jni, bool locks, uint32_t shared)
{
    struct lasting_calls busy;

    lasting_calls__find(&busy, hooks->jvmti, jni, LASTING_PROBABLY, LOCKS_LOOK_NS);
    pthread_mutex_lock(&hooks->change_lock);
    if (locks)
        atomic_store(&hooks->locks_hooked, true);
    hooks->shared_new = shared & ~atomic_load(&hooks->shared_hooked);
    atomic_fetch_or(&hooks->shared_hooked, shared);
    if (are_heard(hooks) && hooks->everywhere) {
        hooks->busy = &busy;
        (void)loaded_classes__transform(hooks, jni, is_contended, unhooked_classes__note_refused,
                                        NULL);
        method_numbers__unmark(&hooks->methods, CLASS_CONTENDED);
    }
    pthread_mutex_unlock(&hooks->change_lock);
    lasting_calls__release(&busy);
}

/* The filter may be another one than before. */
static bool is_named(const struct class_hooks *hooks, uint32_t id)
{
    const struct numbered_method *method = method_numbers__get(&hooks->methods, id);
    char class_name[1024];

    if (!method || !hooks->filter->include)
        return false;
    snprintf(class_name, sizeof(class_name), "%s", numbered_class__name(method->class));
    class_name__to_dots(class_name, strlen(class_name));
    return method_filter__names(hooks->filter, class_name, method->name);
}

/* It was counted from its first call on: the budget bore no hooks for it. */
static bool stays_counted(const struct class_hooks *hooks, uint32_t id)
{
    struct method_quota *quota = &hooks->quotas->methods[id];

    if (!hook_quotas__is_counted(hooks->quotas, id) || quota->mutes || quota->is_named)
        return false;
    quota->is_named = is_named(hooks, id);
    return !quota->is_named;
}

/* A new start is a new chance for methods that are off. */
static void begin_renewals(struct class_hooks *hooks)
{
    uint32_t methods = __atomic_load_n(&hooks->methods.count, __ATOMIC_ACQUIRE);

    for (uint32_t i = 1; hooks->quotas->methods && i <= methods && i < HOOK_METHODS_MAX; i++)
        if (!stays_counted(hooks, i))
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

/* Twice: a class whose loading had begun before is not in the JVM's list at first. */
static void transform_all(struct class_hooks *hooks, JNIEnv *jni, choose_class choose)
{
    struct listed_classes listed = {0};

    if (loaded_classes__transform(hooks, jni, choose, unhooked_classes__note_refused, &listed) >
            0 &&
        hooks->everywhere)
        (void)loaded_classes__transform(hooks, jni, choose, unhooked_classes__note_refused,
                                        &listed);
    listed_classes__release(&listed);
}

/* Where every call is wanted, classes of running loops are changed as well. */
static void put_in(struct class_hooks *hooks, JNIEnv *jni)
{
    if (hooks->everywhere && hooks->quotas->methods && !hooks->interfaces_may_change)
        find_lasting(hooks, jni);
    begin_renewals(hooks);
    method_numbers__unmark(&hooks->methods, CLASS_SEEN);
    atomic_store(&hooks->wanted, true);
    set_event(hooks, true);
    transform_all(hooks, jni, class_hooks__is_to_be_hooked);
    /* The poller of sockets is loaded when a virtual thread first waits for one. */
    if (!hooks->everywhere && !(hooks->hears_waits && hooks->has_virtual_threads))
        set_event(hooks, false);
    interface_hooks__release(hooks, jni);
    end_renewals(hooks, jni);
    method_numbers__unmark(&hooks->methods, CLASS_RENEWED);
    lasting_calls__release(&hooks->lasting);
}

static void take_out(struct class_hooks *hooks, JNIEnv *jni)
{
    if (hooks->everywhere)
        find_lasting(hooks, jni);
    atomic_store(&hooks->wanted, false);
    set_event(hooks, true);
    (void)loaded_classes__transform(hooks, jni, is_hooked, unhooked_classes__note_refused, NULL);
    interface_hooks__hold(hooks, jni);
    method_numbers__unmark(&hooks->methods, CLASS_HOOKED);
    set_event(hooks, false);
    lasting_calls__release(&hooks->lasting);
}

/* ---- hooks that are silent while profiling is stopped ---- */

/* The ledger says when the hooks are to be taken out. */
static void set_silent_since(struct class_hooks *hooks, uint64_t since_ns)
{
    atomic_store(&hooks->silent_since_ns, since_ns);
    __atomic_store_n(&hooks->ledger->header->silent_until_ns,
                     since_ns ? since_ns + SILENT_HOOKS_NS : 0, __ATOMIC_RELAXED);
}

static void hold_all(struct class_hooks *hooks, JNIEnv *jni, bool held)
{
    uint32_t methods = __atomic_load_n(&hooks->methods.count, __ATOMIC_SEQ_CST) + 1;

    hook_quotas__hold_all(hooks->quotas, jni, methods, held);
}

/* A method that is off gets hooks at a start only so often: its class changes each time. A
 * postponed one gets its first hooks. */
static bool is_worth_a_change(const struct class_hooks *hooks, uint32_t id)
{
    const struct numbered_method *method = method_numbers__get(&hooks->methods, id);
    const struct method_quota *quota = &hooks->quotas->methods[id];

    return method && hook_quotas__is_off(hooks->quotas, id) &&
           (quota->is_postponed || quota->renewals < HOOK_RENEWALS_MOST) &&
           !numbered_class__is(method->class, CLASS_REFUSED) &&
           !numbered_class__is(method->class, CLASS_KEPT) &&
           !numbered_class__is(method->class, CLASS_LOOPING);
}

static uint32_t methods_end(const struct class_hooks *hooks)
{
    uint32_t count = __atomic_load_n(&hooks->methods.count, __ATOMIC_ACQUIRE);

    return count < HOOK_METHODS_MAX ? count + 1 : HOOK_METHODS_MAX;
}

static bool any_is_worth_a_change(const struct class_hooks *hooks)
{
    bool has_room = hook_quotas__room(hooks->quotas) > 0;

    for (uint32_t i = 1; i < methods_end(hooks); i++)
        if (is_worth_a_change(hooks, i) && (has_room || !hooks->quotas->methods[i].is_postponed))
            return true;
    return false;
}

/* Of postponed methods so many as the budget bears. A class whose loop runs has hooks in it, and
 * stays as it is. */
static void begin_few_renewals(struct class_hooks *hooks)
{
    uint32_t room = hook_quotas__room(hooks->quotas);

    for (uint32_t i = 1; i < methods_end(hooks); i++) {
        bool is_new = hooks->quotas->methods[i].is_postponed;

        if (!is_worth_a_change(hooks, i) || (is_new && !room) ||
            lasting_calls__has(
                &hooks->lasting,
                numbered_class__name(method_numbers__get(&hooks->methods, i)->class)))
            continue;
        if (begin_renewal(hooks, i) && is_new)
            room--;
    }
}

/* The hooks are where they were, and so are the counts of the header. */
static void change_few(struct class_hooks *hooks, JNIEnv *jni)
{
    if (!any_is_worth_a_change(hooks))
        return;
    find_lasting(hooks, jni);
    begin_few_renewals(hooks);
    lasting_calls__release(&hooks->lasting);
    transform_all(hooks, jni, is_renewed);
    for (uint32_t i = 1; i < methods_end(hooks); i++)
        (void)end_renewal(hooks, jni, i);
    method_numbers__unmark(&hooks->methods, CLASS_RENEWED);
}

void class_changes__insert(struct class_hooks *hooks, JNIEnv *jni)
{
    bool has_filter;

    pthread_mutex_lock(&hooks->change_lock);
    has_filter = atomic_exchange(&hooks->filter_is_new, false);
    if (is_silent(hooks) && has_filter) {
        take_out(hooks, jni);
        set_silent_since(hooks, 0);
    }
    if (is_silent(hooks))
        change_few(hooks, jni);
    else
        put_in(hooks, jni);
    set_silent_since(hooks, 0);
    hold_all(hooks, jni, false);
    pthread_mutex_unlock(&hooks->change_lock);
}

void class_changes__remove(struct class_hooks *hooks, JNIEnv *jni)
{
    pthread_mutex_lock(&hooks->change_lock);
    take_out(hooks, jni);
    set_silent_since(hooks, 0);
    pthread_mutex_unlock(&hooks->change_lock);
}

bool class_changes__silence(struct class_hooks *hooks, JNIEnv *jni)
{
    if (!hooks->quotas->methods)
        return false;
    pthread_mutex_lock(&hooks->change_lock);
    hold_all(hooks, jni, true);
    set_silent_since(hooks, ledger_time__now_ns(hooks->time));
    pthread_mutex_unlock(&hooks->change_lock);
    return true;
}

void class_changes__remove_silent(struct class_hooks *hooks, JNIEnv *jni)
{
    pthread_mutex_lock(&hooks->change_lock);
    if (class_hooks__silence_is_over(hooks)) {
        take_out(hooks, jni);
        set_silent_since(hooks, 0);
    }
    pthread_mutex_unlock(&hooks->change_lock);
}
