#include "agent/hooks/class_hooks.h"

#include "agent/classfile/class_rewriter.h"
#include "agent/classfile/trivial_method.h"
#include "agent/hooks/class_listing.h"
#include "agent/hooks/interface_hooks.h"
#include "agent/hooks/jdk_classes.h"
#include "agent/hooks/left_out_methods.h"
#include "agent/hooks/unhooked_classes.h"
#include "agent/host/log.h"
#include "agent/methods/api_class.h"
#include "agent/methods/class_name.h"
#include "agent/methods/counted_methods.h"
#include "agent/methods/hook_class.h"
#include "agent/methods/unhooked_method.h"
#include "agent/threads/shared_lock_methods.h"
#include "agent/threads/virtual_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of code by slots of variables: from here on the verifier takes 0.1 ms longer for the hooks'
 * handler, five times what a method's hooks cost in the mean. */
#define DEAR_VARIABLES 100000u

/* What becomes of one class that is looked at. */
struct class_look {
    struct class_hooks *hooks;
    JNIEnv *jni;
    const struct class_rewrite *rewrite;
    struct numbered_class *class;        /* NULL: no memory for it */
    const struct planned_class *planned; /* NULL: no plan has a method of it */
    char *dotted;                        /* the class's name as filters have it */
    bool is_boot;
    bool is_jdk;      /* of the boot or platform loader */
    bool is_loaded;   /* already */
    bool is_of_locks; /* its only hook tells of the owners of Locks */
    bool is_counted;  /* so is the method that is looked at */
    uint32_t filtered;
    uint32_t postponed;
    uint32_t unhooked[UNHOOKED_COUNT];
    struct class_listing listing;
    enum ledger_choice choice; /* of the method that is looked at */
};

/* Nothing has been seen yet of what the filter admits. */
static void begin_counting(struct class_hooks *hooks)
{
    struct ledger_header *header = hooks->ledger->header;

    header->default_filter = hooks->filter->include == NULL;
    header->filters++;
    header->hooked_classes = header->hooked_methods = header->filtered_methods = 0;
    header->postponed_methods = 0;
    memset(header->unhooked, 0, sizeof(header->unhooked));
    method_numbers__unmark(&hooks->methods, CLASS_COUNTED);
}

void class_hooks__set_filter(struct class_hooks *hooks, struct method_filter *filter)
{
    struct method_filter before = *hooks->filter;

    if (glob_list__is_same(before.include, filter->include) &&
        glob_list__is_same(before.exclude, filter->exclude))
        return;
    filter->latency = before.latency;
    pthread_rwlock_wrlock(&hooks->filter_lock);
    left_out_methods__end_filter(&hooks->left_out, &hooks->methods, hooks->quotas, &before,
                                 hooks->ledger, ledger_time__now_ns(hooks->time));
    *hooks->filter = *filter;
    *filter = before;
    begin_counting(hooks);
    atomic_store(&hooks->filter_is_new, true);
    pthread_rwlock_unlock(&hooks->filter_lock);
}

int class_hooks__begin(struct class_hooks *hooks, JNIEnv *jni,
                       const JNINativeMethod natives[HOOK_COUNT], const struct bound_natives *more)
{
    int error;

    pthread_rwlock_init(&hooks->filter_lock, NULL);
    pthread_mutex_init(&hooks->change_lock, NULL);
    method_numbers__init(&hooks->methods, hooks->max_mem);
    hooks->methods.generated = hooks->generated;
    begin_counting(hooks);
    hooks->platform_loader = jdk_classes__platform_loader(jni);
    if (hooks->has_virtual_threads)
        hooks->virtual_thread = jdk_classes__virtual_thread(jni);
    atomic_store(&hooks->starts_wanted, !hooks->everywhere);
    error = hook_class__define(hooks->hook_class, jni, natives, more, &hooks->quotas->counters);
    if (error)
        log__line(LOG_ERROR, "the JVM refuses the hooks' class; no calls are recorded");
    else
        hook_class__turn_off(hooks->hook_class, jni, 0); /* of methods that have no nodes */
    return error;
}

/* Of the default set's loaders: the JDK's own classes. */
bool class_hooks__is_jdk_loader(const struct class_hooks *hooks, JNIEnv *jni, jobject loader)
{
    return !loader ||
           (hooks->platform_loader && (*jni)->IsSameObject(jni, loader, hooks->platform_loader));
}

static char *dotted_name(struct class_text name)
{
    char *dotted = malloc(name.length + 1u);

    if (!dotted)
        return NULL;
    memcpy(dotted, name.bytes, name.length);
    class_name__to_dots(dotted, name.length);
    dotted[name.length] = '\0';
    return dotted;
}

static bool is_measured(const struct class_look *look, const struct class_method *method)
{
    const struct method_filter *filter = look->hooks->filter;
    char *name =
        filter->latency ? strndup((const char *)method->name.bytes, method->name.length) : NULL;
    bool measured = name && method_filter__measures(filter, look->dotted, name);

    free(name);
    return measured;
}

/* CHOICE_HOOKED, or which part of the filter leaves the method out. */
static enum ledger_choice filter_choice(const struct class_look *look,
                                        const struct class_method *method)
{
    const struct method_filter *filter = look->hooks->filter;
    const struct method_filter included = {.include = filter->include, .latency = filter->latency};
    bool measured = is_measured(look, method);
    enum ledger_choice choice = CHOICE_HOOKED;
    char *name;

    if (!filter->include && look->is_jdk && !measured)
        return CHOICE_JDK;
    if (!filter->include && !measured && class_method__is_trivial(method))
        return CHOICE_TRIVIAL;
    if (!filter->include && !filter->exclude)
        return CHOICE_HOOKED;
    name = strndup((const char *)method->name.bytes, method->name.length);
    if (!name || !method_filter__admits(filter, look->dotted, name))
        choice = name && method_filter__admits(&included, look->dotted, name) ? CHOICE_EXCLUDED
                                                                              : CHOICE_NOT_INCLUDED;
    free(name);
    return choice;
}

/* Names that include= has in full, and all methods of latency=. */
static bool is_named(const struct class_look *look, const struct class_method *method)
{
    const struct method_filter *filter = look->hooks->filter;
    char *name = filter->include || filter->latency
                     ? strndup((const char *)method->name.bytes, method->name.length)
                     : NULL;
    bool named = name && method_filter__names(filter, look->dotted, name);

    free(name);
    return named;
}

static bool is_pinning(const struct class_look *look, const struct class_method *method)
{
    return look->is_boot && class_text__is(method->name, "parkOnCarrierThread") &&
           virtual_threads__is_pinning(look->dotted, "parkOnCarrierThread");
}

/* The header counts what is postponed as it counts what is hooked: once a filter. */
static uint32_t postpone(struct class_look *look, uint32_t id)
{
    look->choice = CHOICE_POSTPONED;
    if (!numbered_class__is(look->class, CLASS_COUNTED)) {
        look->postponed++;
        look->hooks->quotas->methods[id].is_told = true;
    }
    return 0;
}

/* For each instruction that a handler covers the verifier compares all of the frame's variables: of
 * groovy's classes 0.5 % of the methods, generated parsers, take two thirds of the time. Boot
 * classes are not verified. */
static bool is_dear(const struct class_look *look, const struct class_method *method)
{
    return !look->is_boot && (uint64_t)method->code_length * method->max_locals > DEAR_VARIABLES;
}

/* A method that is off, that an earlier run knows as called too often, or whose hooks are postponed
 * gets none; a counted one gets a hook that counts. Returns its number, or 0. */
static uint32_t apply_budget(struct class_look *look, const struct class_method *method,
                             uint32_t id)
{
    struct class_hooks *hooks = look->hooks;
    bool named = look->choice == CHOICE_NAMED;
    struct plan_advice advice = plan__advice(hooks->plan, look->planned, method);
    /* An interface gets hooks now or never (agent/hooks/interface_hooks.h). */
    bool may_wait = !named && !look->rewrite->is_interface &&
                    (advice.is_postponed || (!advice.rate && !advice.calls));

    if (hook_quotas__is_off(hooks->quotas, id))
        return hooks->quotas->methods[id].is_postponed ? postpone(look, id) : 0;
    if (hook_quotas__is_counted(hooks->quotas, id) ||
        (may_wait && !advice.is_postponed &&
         counted_methods__count(hooks->quotas, look->jni, id, method->code_length,
                                plan__code_hash(method)))) {
        look->is_counted = true;
        return id;
    }
    if (may_wait &&
        hook_quotas__postpone(hooks->quotas, look->jni, id,
                              advice.is_postponed || is_dear(look, method) ? HOOK_POSTPONE_ANYWAY
                                                                           : method->code_length))
        return postpone(look, id);
    if (!advice.rate || named || may_wait || hook_quotas__slot(hooks->quotas, id) != id) {
        hook_quotas__add(hooks->quotas, id, named, advice.calls, plan__code_hash(method));
        hook_quotas__hold_added(hooks->quotas, look->jni, id);
        return id;
    }
    if (!ledger__find_method(hooks->ledger, id))
        (void)class_hooks__resolve(hooks, id);
    hook_quotas__leave_out(hooks->quotas, id, advice.rate, plan__code_hash(method));
    look->choice = CHOICE_PLANNED;
    return 0;
}

static uint32_t leave_unhooked(struct class_look *look, enum unhooked_reason reason)
{
    look->unhooked[reason]++;
    look->choice = (enum ledger_choice)(CHOICE_UNHOOKED + (unsigned)reason);
    return 0;
}

/* The number of a method that is to have a node; 0: it is not, or cannot have one. */
static uint32_t number(struct class_look *look, const struct class_method *method)
{
    struct class_hooks *hooks = look->hooks;
    uint32_t id = 0;
    bool is_late = false;

    /* JVMTI's events make the nodes. */
    if (!hooks->everywhere)
        return 0;
    if (!look->dotted)
        return leave_unhooked(look, UNHOOKED_NO_MEMORY);
    look->choice = is_pinning(look, method) ? CHOICE_HOOKED : filter_choice(look, method);
    if (look->choice != CHOICE_HOOKED) {
        look->filtered++;
        return 0;
    }
    if (look->is_boot && method->is_intrinsic)
        return leave_unhooked(look, UNHOOKED_INTRINSIC);
    if (is_named(look, method))
        look->choice = CHOICE_NAMED;
    if (look->class) {
        is_late = look->is_loaded && !method_numbers__find_id(&hooks->methods, look->class,
                                                              method->name, method->descriptor);
        id = method_numbers__id(&hooks->methods, look->class, method->name, method->descriptor);
    }
    if (id >= HOOK_METHODS_MAX)
        id = 0;
    if (!id)
        return leave_unhooked(look, UNHOOKED_NO_MEMORY);
    hook_quotas__reach(hooks->quotas, id);
    if (is_late)
        left_out_methods__begin_late(&hooks->left_out, hooks->ledger, id);
    return hooks->quotas->methods ? apply_budget(look, method, id) : id;
}

/* In which Locks of java.util.concurrent note who owns them. */
static bool is_owner_change(const struct class_look *look, const struct class_method *method)
{
    return look->is_boot && class_text__is(method->class_name, OWNABLE_CLASS) &&
           class_text__is(method->name, "setExclusiveOwnerThread");
}

/* True if holds of its monitors are to be measured. */
static bool enters_contended(const struct class_look *look, const struct class_method *method)
{
    return look->hooks->hears_waits && look->class &&
           (numbered_class__is(look->class, CLASS_CONTENDED) ||
            numbered_class__is(look->class, CLASS_MONITORS)) &&
           class_method__has_monitors(method);
}

/* A choose_method: the class's first method makes the class known. */
static bool choose(void *context, const struct class_method *method, struct method_choice *choice)
{
    struct class_look *look = context;
    struct method_numbers *methods = &look->hooks->methods;
    struct virtual_thread_hooks of_jdk = {NULL, NULL};

    if (!look->dotted) {
        look->dotted = dotted_name(method->class_name);
        look->class = method_numbers__class(methods, method->class_name);
        look->planned = plan__class(look->hooks->plan, look->dotted);
    }
    if (look->is_boot)
        of_jdk = virtual_threads__hooks(method, look->hooks->hears_waits);
    choice->first = of_jdk.first;
    choice->last = of_jdk.last;
    if (is_owner_change(look, method)) {
        choice->first = "owning";
        look->is_of_locks = true;
    }
    if (look->is_boot)
        choice->sharing =
            shared_lock_methods__hook(method, atomic_load(&look->hooks->shared_hooked));
    look->is_of_locks |= choice->sharing.operation != 0;
    look->is_counted = false;
    choice->id = number(look, method);
    choice->counted = look->is_counted;
    choice->slot = hook_quotas__slot(look->hooks->quotas, choice->id);
    choice->monitors = enters_contended(look, method);
    return choice->id || choice->first || choice->monitors || choice->sharing.operation;
}

/* A tell_method. */
static void list(void *context, const struct class_method *method, uint32_t id,
                 enum method_outcome outcome)
{
    struct class_look *look = context;
    bool without_code = outcome == METHOD_WITHOUT_CODE;
    enum ledger_choice choice = look->choice;
    enum unhooked_reason reason;

    (void)id;
    if (!look->hooks->everywhere)
        return;
    if (without_code)
        choice = method->access_flags & ACC_NATIVE ? CHOICE_NATIVE : CHOICE_ABSTRACT;
    else if (unhooked_method__reason(outcome, &reason))
        choice = (enum ledger_choice)(CHOICE_UNHOOKED + (unsigned)reason);
    look->listing.is_wanted |=
        !without_code && choice != CHOICE_NOT_INCLUDED && choice != CHOICE_JDK;
    class_listing__add(&look->listing, (uint8_t)choice, method->name, method->descriptor);
}

static void write_listing(const struct class_look *look, struct numbered_class *class,
                          uint32_t unhooked)
{
    bool is_own = !look->hooks->filter->include && !look->is_jdk;

    if (class && (unhooked || is_own || look->listing.is_wanted ||
                  __atomic_load_n(numbered_class__listing(class), __ATOMIC_RELAXED)))
        class_listing__write(&look->listing, look->hooks->ledger, class, unhooked);
}

static void count_class(const struct class_look *look, const struct class_rewrite *rewrite)
{
    struct ledger_header *header = look->hooks->ledger->header;
    enum unhooked_reason reason;

    if (!look->class || !numbered_class__mark(look->class, CLASS_COUNTED))
        return;
    write_listing(look, look->class, 0);
    ledger__count(&header->filtered_methods, look->filtered);
    ledger__count(&header->postponed_methods, look->postponed);
    if (!look->is_of_locks) {
        ledger__count(&header->hooked_methods, rewrite->methods[METHOD_HOOKED]);
        ledger__count(&header->hooked_classes, rewrite->methods[METHOD_HOOKED] > 0);
    }
    for (unsigned i = 0; i < UNHOOKED_COUNT; i++)
        ledger__count(&header->unhooked[i], look->unhooked[i]);
    for (unsigned outcome = 0; outcome < METHOD_OUTCOMES; outcome++)
        if (unhooked_method__reason(outcome, &reason))
            ledger__count(&header->unhooked[reason], rewrite->methods[outcome]);
}

static void count_failure(const struct class_look *look, const char *name, int error,
                          const struct class_rewrite *rewrite)
{
    struct class_hooks *hooks = look->hooks;
    enum unhooked_reason reason = error == -ENOMEM    ? UNHOOKED_NO_MEMORY
                                  : error == -ENOTSUP ? UNHOOKED_VERSION
                                                      : UNHOOKED_MALFORMED;
    struct class_text text = {(const uint8_t *)name, name ? (uint32_t)strlen(name) : 0};

    ledger__count(&look->hooks->ledger->header->unhooked[reason], 1);
    if (name && hooks->everywhere)
        write_listing(look, method_numbers__class(&hooks->methods, text), 1 + (uint32_t)reason);
    log__line(LOG_DEBUG, "class %s has no hooks: at byte %zu expected %s", name ? name : "?",
              rewrite->error.offset, rewrite->error.expected ? rewrite->error.expected : "memory");
}

/* In the JVM's own memory, as it wants it. */
static void hand_over(jvmtiEnv *jvmti, const struct class_rewrite *rewrite, jint *new_length,
                      unsigned char **new_bytes)
{
    unsigned char *copy;

    if ((*jvmti)->Allocate(jvmti, (jlong)rewrite->length, &copy) != JVMTI_ERROR_NONE)
        return;
    memcpy(copy, rewrite->bytes, rewrite->length);
    *new_length = (jint)rewrite->length;
    *new_bytes = copy;
}

/* The JDK's own classes in which virtual threads start and wait. */
static bool is_of_virtual_threads(struct class_hooks *hooks, jobject loader, const char *name)
{
    if (loader || !name)
        return false;
    return (strcmp(name, VIRTUAL_THREAD_CLASS) == 0 && atomic_load(&hooks->starts_wanted)) ||
           (strcmp(name, SOCKET_POLLER_CLASS) == 0 && hooks->hears_waits);
}

/* The JDK's class of Locks that have an owner, once a program waits for one; and those of shared
 * locks. */
static bool is_of_locks(struct class_hooks *hooks, jobject loader, const char *name)
{
    uint32_t shared = atomic_load(&hooks->shared_hooked);

    if (loader || !name)
        return false;
    return (strcmp(name, OWNABLE_CLASS) == 0 && atomic_load(&hooks->locks_hooked)) ||
           (shared && (shared_lock_methods__kinds(name, strlen(name)) & shared));
}

/* True if latency= may name some of its methods. */
static bool may_be_measured(const struct class_hooks *hooks, const char *name)
{
    struct class_text text = {(const uint8_t *)name, name ? (uint32_t)strlen(name) : 0};
    char *dotted = name && hooks->filter->latency ? dotted_name(text) : NULL;
    bool may = dotted && method_filter__measures_some(hooks->filter, dotted);

    free(dotted);
    return may;
}

static bool is_wanted_class(struct class_hooks *hooks, JNIEnv *jni, jobject loader,
                            const char *name)
{
    const struct numbered_class *class;

    if (is_of_virtual_threads(hooks, loader, name) || is_of_locks(hooks, loader, name))
        return true;
    if (!hooks->everywhere ||
        (!hooks->filter->include && class_hooks__is_jdk_loader(hooks, jni, loader) &&
         !may_be_measured(hooks, name)))
        return false;
    if (!name)
        return true;
    class = method_numbers__find_class(&hooks->methods, name);
    return !hook_class__is_ours(name) && !api_class__is(name) &&
           !(class && numbered_class__is(class, CLASS_REFUSED));
}

static bool makes_virtual_threads(jobject loader, const char *name)
{
    return !loader && name && strcmp(name, VIRTUAL_THREAD_BUILDERS) == 0;
}

/* A program that makes virtual threads loads the builders first. Changing the class of virtual
 * threads takes 2 ms, which programs without virtual threads need not spend at their start. */
static void hook_starts(struct class_hooks *hooks, JNIEnv *jni)
{
    jvmtiError error = JVMTI_ERROR_NONE;

    if (!atomic_exchange(&hooks->starts_wanted, true) && hooks->virtual_thread)
        error = (*hooks->jvmti)->RetransformClasses(hooks->jvmti, 1, &hooks->virtual_thread);
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    if (error)
        unhooked_classes__note_refused(hooks, VIRTUAL_THREAD_CLASS, error);
}

void class_hooks__file_loaded(struct class_hooks *hooks, JNIEnv *jni, bool is_loaded,
                              jobject loader, const char *name, jint length,
                              const unsigned char *bytes, jint *new_length,
                              unsigned char **new_bytes)
{
    struct class_rewrite rewrite;
    struct class_look look = {.hooks = hooks,
                              .jni = jni,
                              .rewrite = &rewrite,
                              .is_boot = loader == NULL,
                              .is_jdk = class_hooks__is_jdk_loader(hooks, jni, loader),
                              .is_loaded = is_loaded};
    uint64_t began;
    int error;

    if (!atomic_load(&hooks->wanted) || !jni)
        return;
    began = own_cost__begin_classes(hooks->own_cost, false);
    pthread_rwlock_rdlock(&hooks->filter_lock);
    if (is_wanted_class(hooks, jni, loader, name)) {
        error = class_rewriter__rewrite_and_tell(bytes, (size_t)length, HOOK_CLASS, choose, list,
                                                 &look, &rewrite);
        if (error)
            count_failure(&look, name, error, &rewrite);
        else
            count_class(&look, &rewrite);
        if (!error && look.class)
            numbered_class__set_source(&hooks->methods, look.class, rewrite.source_file);
        if (!error && look.class)
            method_numbers__set_hooked(&hooks->methods, look.class, rewrite.hooked,
                                       rewrite.hooked_count);
        if (!error && rewrite.bytes && look.class) {
            numbered_class__mark(look.class, CLASS_HOOKED);
            if (rewrite.is_interface)
                interface_hooks__keep(hooks, look.class, look.is_jdk);
            hand_over(hooks->jvmti, &rewrite, new_length, new_bytes);
        }
        if (look.class) {
            numbered_class__mark(look.class, CLASS_SEEN);
            if (numbered_class__is(look.class, CLASS_CONTENDED))
                numbered_class__mark(look.class, CLASS_MONITORS);
            numbered_class__set_rewritten(look.class, ledger_time__now_ns(hooks->time));
        }
        free(rewrite.bytes);
        free(rewrite.hooked);
        free(look.dotted);
        class_listing__release(&look.listing);
    }
    pthread_rwlock_unlock(&hooks->filter_lock);
    if (makes_virtual_threads(loader, name))
        hook_starts(hooks, jni);
    own_cost__end_classes(hooks->own_cost, began);
    if (hook_quotas__have_work(hooks->quotas))
        hook_quotas__apply(hooks->quotas, jni);
}

ledger_ref class_hooks__resolve(void *context, uint64_t key)
{
    struct class_hooks *hooks = context;
    const struct numbered_method *method = method_numbers__get(&hooks->methods, (uint32_t)key);
    struct ledger_method_names names;
    char class_name[1024];
    bool measured;
    ledger_ref ref;

    if (!method)
        return 0;
    strncpy(class_name, numbered_class__name(method->class), sizeof(class_name) - 1);
    class_name[sizeof(class_name) - 1] = '\0';
    class_name__to_dots(class_name, strlen(class_name));
    names = (struct ledger_method_names){.class_name = class_name,
                                         .name = method->name,
                                         .signature = method->descriptor,
                                         .source = numbered_class__source(method->class)};
    measured = method_filter__measures(hooks->filter, class_name, method->name);
    ref = ledger__add_method(hooks->ledger, key, &names, measured ? METHOD_LATENCY : 0);
    left_out_methods__tell(&hooks->left_out, hooks->ledger, (uint32_t)key, ref);
    return ref;
}

bool class_hooks__is_to_be_hooked(struct class_hooks *hooks, JNIEnv *jni, jobject loader,
                                  const char *name)
{
    struct class_text text = {(const uint8_t *)name, (uint32_t)strlen(name)};
    char *dotted;
    bool some;

    if (makes_virtual_threads(loader, name))
        hook_starts(hooks, jni);
    if (!is_wanted_class(hooks, jni, loader, name))
        return false;
    dotted = dotted_name(text);
    some =
        dotted && (is_of_virtual_threads(hooks, loader, name) || is_of_locks(hooks, loader, name) ||
                   method_filter__admits_some(hooks->filter, dotted));
    free(dotted);
    return some;
}
