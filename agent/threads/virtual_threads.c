#include "agent/threads/virtual_threads.h"

#include "agent/host/jvmti_event.h"
#include "agent/host/log.h"
#include "agent/threads/lock_waits.h"
#include "agent/threads/standing_frames.h"
#include "agent/threads/thread_events.h"
#include "native/thread/virtual_thread.h"

#include <stdio.h>
#include <string.h>

/* A bit of jvmtiCapabilities in jvmti.h of JDK 21 and later. */
#define CAN_SUPPORT_VIRTUAL_THREADS 44

/* In place of the record of a virtual thread that found no room: counted once, not asked again. It
 * is no ref of any record, for it lies in the header. */
#define REFUSED ((ledger_ref)1)

#define START_NAME_MAX 512 /* bytes of a class's or a method's name */

static bool has_bit(const jvmtiCapabilities *capabilities, unsigned bit)
{
    return ((const unsigned char *)capabilities)[bit / 8] >> bit % 8 & 1;
}

void virtual_threads__add_capabilities(jvmtiEnv *jvmti, jvmtiCapabilities *capabilities)
{
    jvmtiCapabilities potential;

    if ((*jvmti)->GetPotentialCapabilities(jvmti, &potential) == JVMTI_ERROR_NONE &&
        has_bit(&potential, CAN_SUPPORT_VIRTUAL_THREADS))
        ((unsigned char *)capabilities)[CAN_SUPPORT_VIRTUAL_THREADS / 8] |=
            1u << CAN_SUPPORT_VIRTUAL_THREADS % 8;
}

/* What is stored with a virtual thread; NULL: the current one. */
static ledger_ref stored(jvmtiEnv *jvmti, jthread thread)
{
    void *data = NULL;

    if ((*jvmti)->GetThreadLocalStorage(jvmti, thread, &data) != JVMTI_ERROR_NONE)
        return REFUSED;
    return (ledger_ref)(uintptr_t)data;
}

ledger_ref virtual_threads__record(const struct java_threads *threads, jthread thread)
{
    ledger_ref ref = stored(threads->jvmti, thread);

    return ref == REFUSED ? 0 : ref;
}

/* As Thread.toString prints threads without a name. */
static void name_unnamed(char *text, size_t text_bytes, uint64_t java_id)
{
    snprintf(text, text_bytes, "VirtualThread[#%llu]", (unsigned long long)java_id);
}

static int string_length(const struct ledger_string *string)
{
    return string->length < START_NAME_MAX ? (int)string->length : START_NAME_MAX;
}

/* Threads without a name are told apart by where they were started. */
static ledger_ref name_group(struct ledger *ledger, struct java_thread_origin origin)
{
    const struct ledger_method *method = ledger__at(ledger, origin.method);
    const struct ledger_string *class_name, *name;
    char text[2 * START_NAME_MAX + 32];
    int length;

    if (!origin.method)
        return 0;
    class_name = ledger__at(ledger, method->class_name);
    name = ledger__at(ledger, method->name);
    length =
        snprintf(text, sizeof(text), "(started in %.*s.%.*s)", string_length(class_name),
                 ledger_string__bytes(class_name), string_length(name), ledger_string__bytes(name));
    return length > 0 ? ledger__string(ledger, text, (size_t)length) : 0;
}

/* Its name, to be released, or NULL: it has none. */
static const char *get_name(const struct java_threads *threads, JNIEnv *jni, jthread thread,
                            jstring *name)
{
    *name = threads->name_field ? (*jni)->GetObjectField(jni, thread, threads->name_field) : NULL;
    return *name ? (*jni)->GetStringUTFChars(jni, *name, NULL) : NULL;
}

static void release_name(JNIEnv *jni, jstring name, const char *text)
{
    if (text)
        (*jni)->ReleaseStringUTFChars(jni, name, text);
    if (name)
        (*jni)->DeleteLocalRef(jni, name);
}

/* What is known of one that has no record, but for its name. */
static struct java_thread_origin learn(struct java_threads *threads, JNIEnv *jni, jthread thread,
                                       struct java_thread_facts *facts)
{
    struct java_thread_origin origin;

    *facts = (struct java_thread_facts){.kind = THREAD_VIRTUAL, .flags = THREAD_DAEMON};
    if (threads->id_field)
        facts->java_id = (uint64_t)(*jni)->GetLongField(jni, thread, threads->id_field);
    origin = java_thread_table__origin(&threads->table, facts->java_id);
    facts->parent = origin.parent;
    /* Of others nobody saw the start. */
    facts->may_stand =
        !origin.parent && (*threads->epochs > EPOCH_FIRST || threads->ledger->header->attached);
    return origin;
}

/* text: its own name, or NULL; unnamed: room for one. */
static void give_name(struct ledger *ledger, struct java_thread_origin origin,
                      struct java_thread_facts *facts, const char *text, char unnamed[64])
{
    if (!text || !*text) {
        name_unnamed(unnamed, 64, facts->java_id);
        facts->group_name = name_group(ledger, origin);
        text = unnamed;
    }
    facts->name = text;
    facts->name_length = strlen(text);
}

static ledger_ref begin(struct java_threads *threads, JNIEnv *jni, jthread thread,
                        struct kernel_thread *carrier)
{
    struct java_thread_facts facts;
    jvmtiEnv *jvmti = threads->jvmti;
    char unnamed[64];
    jstring name;
    const char *text = get_name(threads, jni, thread, &name);
    struct java_thread_origin origin = learn(threads, jni, thread, &facts);
    ledger_ref ref;

    java_thread_table__ended(&threads->table, facts.java_id);
    give_name(threads->ledger, origin, &facts, text, unnamed);
    ref = virtual_thread__begin(carrier, &facts);
    release_name(jni, name, text);
    (*jvmti)->SetThreadLocalStorage(jvmti, NULL, (void *)(uintptr_t)(ref ? ref : REFUSED));
    return ref;
}

struct placing {
    uint32_t epoch;
    const uint64_t *keys;
    uint32_t count;
    const struct java_thread_facts *facts;
    ledger_ref ref; /* its record; 0: it has none yet */
};

static void place_there(struct kernel_thread *carrier, void *context)
{
    struct placing *placing = context;

    placing->ref = virtual_thread__place(carrier, placing->epoch, placing->ref, placing->facts,
                                         placing->keys, placing->count);
}

/* It may be over by now, and its record another's. */
static bool is_its_record(const struct ledger *ledger, ledger_ref ref, uint64_t java_id)
{
    const struct ledger_thread *thread = ledger__at(ledger, ref);

    return thread->kind == THREAD_VIRTUAL && thread->java_id == java_id &&
           !(thread->flags & (THREAD_TERMINATED | THREAD_GROUP));
}

void virtual_threads__place(struct java_threads *threads, JNIEnv *jni, jthread thread, pid_t tid,
                            uint32_t epoch, const uint64_t *keys, uint32_t count)
{
    struct java_thread_facts facts;
    struct placing placing = {.epoch = epoch, .keys = keys, .count = count, .facts = &facts};
    struct java_thread_origin origin;
    jvmtiEnv *jvmti = threads->jvmti;
    char unnamed[64];
    jstring name;
    const char *text;
    ledger_ref known = stored(jvmti, thread);

    if (known == REFUSED)
        return;
    text = get_name(threads, jni, thread, &name);
    origin = learn(threads, jni, thread, &facts);
    facts.may_stand = true;
    give_name(threads->ledger, origin, &facts, text, unnamed);
    placing.ref = known;
    pthread_mutex_lock(&threads->standing.placing);
    if (!known || is_its_record(threads->ledger, known, facts.java_id))
        kernel_thread_table__visit(threads->kernel_threads, tid, place_there, &placing);
    pthread_mutex_unlock(&threads->standing.placing);
    release_name(jni, name, text);
    if (!known && placing.ref &&
        (*jvmti)->SetThreadLocalStorage(jvmti, thread, (void *)(uintptr_t)placing.ref) !=
            JVMTI_ERROR_NONE)
        ((struct ledger_thread *)ledger__at(threads->ledger, placing.ref))->flags |=
            THREAD_TERMINATED;
}

static bool mount(struct java_threads *threads, JNIEnv *jni, jthread thread,
                  struct kernel_thread *carrier)
{
    ledger_ref ref = stored(threads->jvmti, NULL);

    if (!ref)
        ref = begin(threads, jni, thread, carrier);
    if (ref && ref != REFUSED) {
        if (!virtual_thread__mount(carrier, ref))
            return false;
        lock_waits__runs(threads, carrier);
        return true;
    }
    ledger__count(&threads->ledger->header->unfollowed_mounts, 1);
    kernel_thread__pause(carrier);
    return false;
}

bool virtual_threads__identify(struct java_threads *threads, JNIEnv *jni, jthread thread)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    ledger_ref ref = virtual_threads__record(threads, NULL);

    virtual_thread__identify(mine, ref);
    if (kernel_thread__is_unidentified(mine))
        return false;
    if (kernel_thread__counts(mine) && ref && mine->thread == ledger__at(threads->ledger, ref))
        return true;
    return mount(threads, jni, thread, mine);
}

/* No room for its carrier, and so none for it: each such thread is counted once, however often it
 * mounts. */
static void refuse(struct java_threads *threads)
{
    ledger__count(&threads->ledger->header->unfollowed_mounts, 1);
    if (!kernel_thread_table__refused_me() || stored(threads->jvmti, NULL))
        return;
    ledger__count(&threads->ledger->header->dropped_threads, 1);
    (void)(*threads->jvmti)
        ->SetThreadLocalStorage(threads->jvmti, NULL, (void *)(uintptr_t)REFUSED);
}

/* Nobody tells when a virtual thread gets another name: it is looked up once, at the end. */
static void note_last_name(struct java_threads *threads, JNIEnv *jni, jthread thread,
                           ledger_ref ref)
{
    jstring name;
    const char *text = get_name(threads, jni, thread, &name);

    if (text && *text)
        thread_events__record_name(threads, ref, text);
    release_name(jni, name, text);
}

static bool is_profiling(const struct java_threads *threads)
{
    return __atomic_load_n(&threads->setup->epoch, __ATOMIC_ACQUIRE) != EPOCH_STOPPED;
}

/* Another thread may be placing this virtual thread before an epoch begins. */
static bool end_it(struct java_threads *threads, struct kernel_thread *mine, ledger_ref ref)
{
    bool kept;

    if (is_profiling(threads))
        return virtual_thread__end(mine, ref);
    pthread_mutex_lock(&threads->standing.placing);
    kept = virtual_thread__end(mine, ref);
    pthread_mutex_unlock(&threads->standing.placing);
    return kept;
}

void virtual_threads__end(struct java_threads *threads, JNIEnv *jni, jthread thread)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    ledger_ref ref = virtual_threads__record(threads, NULL);

    if (!atomic_load(threads->active) || !mine || !mine->thread || !ref)
        return;
    if (kernel_thread__is_unidentified(mine))
        virtual_thread__identify(mine, ref);
    lock_waits__ended(threads, jni, mine, ledger__at(threads->ledger, ref));
    if (end_it(threads, mine, ref))
        note_last_name(threads, jni, thread, ref);
}

/* Mounted on a carrier whose start was seen, or that was adopted: the event itself names the
 * virtual thread. When profiling is about to start, the carriers may not be known yet, and no
 * events count. */
void virtual_threads__mount(struct java_threads *threads, JNIEnv *jni, jthread thread)
{
    struct kernel_thread *mine = kernel_thread_table__find_mine(threads->kernel_threads);

    if (!is_profiling(threads))
        return;
    if (!mine || !mine->thread) {
        refuse(threads);
        return;
    }
    if (kernel_thread__is_unidentified(mine))
        virtual_thread__identify(mine, 0);
    if (!kernel_thread__is_unidentified(mine) && mount(threads, jni, thread, mine))
        standing_frames__check_mounted(threads, mine);
}

/* Of one that was mounted since before the start, this may be the first event. */
void virtual_threads__unmount(struct java_threads *threads, JNIEnv *jni, jthread thread)
{
    struct kernel_thread *mine = kernel_thread_table__find_mine(threads->kernel_threads);

    if (!mine || !mine->thread || !is_profiling(threads))
        return;
    if (kernel_thread__is_unidentified(mine))
        (void)virtual_threads__identify(threads, jni, thread);
    if (kernel_thread__is_unidentified(mine))
        return;
    if (mine->paused)
        kernel_thread__resume(mine);
    if (virtual_thread__is_mounted(mine) && kernel_thread__counts(mine))
        standing_frames__check_mounted(threads, mine);
    if (virtual_thread__is_mounted(mine))
        sampler__record_stack(threads->sampler, mine->thread);
    virtual_thread__unmount(mine);
}

/* Returns the calling kernel thread's entry once its Java thread is identified. */
static struct kernel_thread *identified_mine(struct java_threads *threads, JNIEnv *jni)
{
    struct kernel_thread *mine = kernel_thread_table__find_mine(threads->kernel_threads);

    return mine && kernel_thread__is_unidentified(mine) ? thread_events__identify(threads, jni)
                                                        : mine;
}

void virtual_threads__starting(struct java_threads *threads, JNIEnv *jni, jobject thread)
{
    struct java_thread_origin origin;
    uint64_t id;

    if (!is_profiling(threads) || !threads->id_field)
        return;
    origin = thread_events__here(threads, jni);
    if (!origin.parent)
        return;
    id = (uint64_t)(*jni)->GetLongField(jni, thread, threads->id_field);
    java_thread_table__starting(&threads->table, id, origin);
}

void virtual_threads__pinned(struct java_threads *threads, JNIEnv *jni)
{
    struct kernel_thread *mine = is_profiling(threads) ? identified_mine(threads, jni) : NULL;

    if (mine && kernel_thread__counts(mine) && virtual_thread__is_mounted(mine))
        virtual_thread__pinned(mine);
}

/* Of JDK 21 to 25. A virtual thread that waits for a socket parks in Poller.poll. */
static const struct {
    const char *class_name;
    const char *method;
    const char *descriptor;
    struct virtual_thread_hooks hooks;
    bool is_wait;
} hooked_methods[] = {
    {VIRTUAL_THREAD_CLASS,
     "start",
     "(Ljdk/internal/vm/ThreadContainer;)V",
     {"starting", NULL},
     false},
    {VIRTUAL_THREAD_CLASS, "parkOnCarrierThread", "(ZJ)V", {"pinned", NULL}, false},
    {VIRTUAL_THREAD_CLASS, "park", "()V", {"parking", "parked"}, true},
    {VIRTUAL_THREAD_CLASS, "parkNanos", "(J)V", {"parking", "parked"}, true},
    {VIRTUAL_THREAD_CLASS, "sleepNanos", "(J)V", {"sleeping", "slept"}, true},
    {SOCKET_POLLER_CLASS,
     "poll",
     "(IJLjava/util/function/BooleanSupplier;)V",
     {"polling", "polled"},
     true},
};

bool virtual_threads__is_pinning(const char *class_name, const char *method_name)
{
    return strcmp(class_name, "java.lang.VirtualThread") == 0 &&
           strcmp(method_name, "parkOnCarrierThread") == 0;
}

struct virtual_thread_hooks virtual_threads__hooks(const struct class_method *method, bool waits)
{
    const struct virtual_thread_hooks none = {NULL, NULL};

    for (size_t i = 0; i < sizeof(hooked_methods) / sizeof(*hooked_methods); i++)
        if (class_text__is(method->class_name, hooked_methods[i].class_name) &&
            class_text__is(method->name, hooked_methods[i].method) &&
            class_text__is(method->descriptor, hooked_methods[i].descriptor))
            return waits || !hooked_methods[i].is_wait ? hooked_methods[i].hooks : none;
    return none;
}

static void drop(jvmtiEnv *jvmti, jvmtiExtensionEventInfo *info)
{
    for (jint i = 0; i < info->param_count; i++)
        (*jvmti)->Deallocate(jvmti, (unsigned char *)info->params[i].name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info->params);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info->id);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info->short_description);
}

static void note_index(struct java_threads *threads, const jvmtiExtensionEventInfo *info)
{
    if (strcmp(info->id, "com.sun.hotspot.events.VirtualThreadMount") == 0)
        threads->mount.index = info->extension_event_index;
    if (strcmp(info->id, "com.sun.hotspot.events.VirtualThreadUnmount") == 0)
        threads->unmount.index = info->extension_event_index;
}

static void find_function(struct java_threads *threads)
{
    jvmtiEnv *jvmti = threads->jvmti;
    jvmtiExtensionFunctionInfo *infos;
    jint count;

    if ((*jvmti)->GetExtensionFunctions(jvmti, &count, &infos) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        if (strcmp(infos[i].id, "com.sun.hotspot.functions.GetVirtualThread") == 0)
            threads->get_virtual_thread = infos[i].func;
        for (jint j = 0; j < infos[i].param_count; j++)
            (*jvmti)->Deallocate(jvmti, (unsigned char *)infos[i].params[j].name);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)infos[i].params);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)infos[i].id);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)infos[i].short_description);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)infos[i].errors);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)infos);
}

jthread virtual_threads__mounted_on(const struct java_threads *threads, JNIEnv *jni,
                                    jthread carrier)
{
    jthread mounted = NULL;

    if (!threads->get_virtual_thread || !threads->virtual_thread_class ||
        threads->get_virtual_thread(threads->jvmti, carrier, &mounted) != JVMTI_ERROR_NONE ||
        !mounted)
        return NULL;
    if ((*jni)->IsInstanceOf(jni, mounted, threads->virtual_thread_class))
        return mounted;
    (*jni)->DeleteLocalRef(jni, mounted);
    return NULL;
}

void virtual_threads__find_events(struct java_threads *threads)
{
    jvmtiEnv *jvmti = threads->jvmti;
    jvmtiExtensionEventInfo *infos;
    jint count;

    find_function(threads);
    if ((*jvmti)->GetExtensionEvents(jvmti, &count, &infos) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        note_index(threads, &infos[i]);
        drop(jvmti, &infos[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)infos);
}

/* Extension events need to be switched on as well, by their index. False: the JVM refuses. */
static bool hear(jvmtiEnv *jvmti, const struct extension_event *event, bool on)
{
    bool heard = true;

    if (!event->index)
        return true;
    if (on)
        heard = (*jvmti)->SetExtensionEventCallback(jvmti, event->index, event->callback) ==
                JVMTI_ERROR_NONE;
    return heard & jvmti_event__set(jvmti, (jvmtiEvent)event->index, on);
}

void virtual_threads__hear(struct java_threads *threads, bool on)
{
    bool heard = hear(threads->jvmti, &threads->mount, on);

    heard &= hear(threads->jvmti, &threads->unmount, on);
    if (threads->mount.index)
        heard &= jvmti_event__set(threads->jvmti, (jvmtiEvent)EVENT_VIRTUAL_THREAD_END, on);
    if (!heard)
        log__line(LOG_WARN, "this JVM does not tell when virtual threads mount");
}
