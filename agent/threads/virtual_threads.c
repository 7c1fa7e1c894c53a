#include "agent/threads/virtual_threads.h"

#include "agent/agent.h"
#include "agent/host/jvmti_event.h"
#include "agent/host/log.h"
#include "agent/threads/thread_events.h"
#include "native/thread/virtual_thread.h"

#include <stdio.h>
#include <string.h>

/* What jvmti.h of JDK 21 and later has; the one that this is built with may be older. */
#define EVENT_VIRTUAL_THREAD_END    88
#define CAN_SUPPORT_VIRTUAL_THREADS 44 /* a bit of jvmtiCapabilities */

/* In place of the record of a virtual thread that found no room: counted once, not asked again. It
 * is no ref of any record, for it lies in the header. */
#define REFUSED ((ledger_ref)1)

#define START_NAME_MAX 512 /* bytes of a class's or a method's name */

static bool has_bit(const jvmtiCapabilities *capabilities, unsigned bit)
{
    return ((const unsigned char *)capabilities)[bit / 8] >> bit % 8 & 1;
}

void virtual_threads__ask(const struct agent *agent, jvmtiCapabilities *capabilities)
{
    jvmtiCapabilities potential;

    if ((*agent->jvmti)->GetPotentialCapabilities(agent->jvmti, &potential) == JVMTI_ERROR_NONE &&
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

ledger_ref virtual_threads__record(const struct agent *agent, jthread thread)
{
    ledger_ref ref = stored(agent->jvmti, thread);

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
        snprintf(text, sizeof text, "(started in %.*s.%.*s)", string_length(class_name),
                 ledger_string__bytes(class_name), string_length(name), ledger_string__bytes(name));
    return length > 0 ? ledger__string(ledger, text, (size_t)length) : 0;
}

/* Its name, to be released, or NULL: it has none. */
static const char *get_name(const struct agent *agent, JNIEnv *jni, jthread thread, jstring *name)
{
    *name = agent->thread_name_field ? (*jni)->GetObjectField(jni, thread, agent->thread_name_field)
                                     : NULL;
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
static struct java_thread_origin learn(struct agent *agent, JNIEnv *jni, jthread thread,
                                       struct java_thread_facts *facts)
{
    struct java_thread_origin origin;

    *facts = (struct java_thread_facts){.kind = THREAD_VIRTUAL, .flags = THREAD_DAEMON};
    if (agent->thread_id_field)
        facts->java_id = (uint64_t)(*jni)->GetLongField(jni, thread, agent->thread_id_field);
    origin = java_thread_table__origin(&agent->java_threads, facts->java_id);
    facts->parent = origin.parent;
    /* Of others nobody saw the start. */
    facts->may_stand =
        !origin.parent && (agent->epochs > EPOCH_FIRST || agent->ledger.header->attached);
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

static ledger_ref begin(struct agent *agent, JNIEnv *jni, jthread thread,
                        struct kernel_thread *carrier)
{
    struct java_thread_facts facts;
    jvmtiEnv *jvmti = agent->jvmti;
    char unnamed[64];
    jstring name;
    const char *text = get_name(agent, jni, thread, &name);
    struct java_thread_origin origin = learn(agent, jni, thread, &facts);
    ledger_ref ref;

    java_thread_table__ended(&agent->java_threads, facts.java_id);
    give_name(&agent->ledger, origin, &facts, text, unnamed);
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

void virtual_threads__place(struct agent *agent, JNIEnv *jni, jthread thread, pid_t tid,
                            uint32_t epoch, const uint64_t *keys, uint32_t count)
{
    struct java_thread_facts facts;
    struct placing placing = {.epoch = epoch, .keys = keys, .count = count, .facts = &facts};
    struct java_thread_origin origin;
    jvmtiEnv *jvmti = agent->jvmti;
    char unnamed[64];
    jstring name;
    const char *text;
    ledger_ref known = stored(jvmti, thread);

    if (known == REFUSED)
        return;
    text = get_name(agent, jni, thread, &name);
    origin = learn(agent, jni, thread, &facts);
    facts.may_stand = true;
    give_name(&agent->ledger, origin, &facts, text, unnamed);
    placing.ref = known;
    pthread_mutex_lock(&agent->standing.placing);
    if (!known || is_its_record(&agent->ledger, known, facts.java_id))
        kernel_thread_table__visit(&agent->kernel_threads, tid, place_there, &placing);
    pthread_mutex_unlock(&agent->standing.placing);
    release_name(jni, name, text);
    if (!known && placing.ref &&
        (*jvmti)->SetThreadLocalStorage(jvmti, thread, (void *)(uintptr_t)placing.ref) !=
            JVMTI_ERROR_NONE)
        ((struct ledger_thread *)ledger__at(&agent->ledger, placing.ref))->flags |=
            THREAD_TERMINATED;
}

static bool mount(struct agent *agent, JNIEnv *jni, jthread thread, struct kernel_thread *carrier)
{
    ledger_ref ref = stored(agent->jvmti, NULL);

    if (!ref)
        ref = begin(agent, jni, thread, carrier);
    if (ref && ref != REFUSED)
        return virtual_thread__mount(carrier, ref);
    ledger__count(&agent->ledger.header->unfollowed_mounts, 1);
    kernel_thread__pause(carrier);
    return false;
}

bool virtual_threads__identify(struct agent *agent, JNIEnv *jni, jthread thread)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    ledger_ref ref = virtual_threads__record(agent, NULL);

    virtual_thread__identify(mine, ref);
    if (kernel_thread__is_unidentified(mine))
        return false;
    if (kernel_thread__counts(mine) && ref && mine->thread == ledger__at(&agent->ledger, ref))
        return true;
    return mount(agent, jni, thread, mine);
}

/* No room for its carrier, and so none for it: each such thread is counted once, however often it
 * mounts. */
static void refuse(struct agent *agent)
{
    ledger__count(&agent->ledger.header->unfollowed_mounts, 1);
    if (!kernel_thread_table__refused_me() || stored(agent->jvmti, NULL))
        return;
    ledger__count(&agent->ledger.header->dropped_threads, 1);
    (void)(*agent->jvmti)->SetThreadLocalStorage(agent->jvmti, NULL, (void *)(uintptr_t)REFUSED);
}

/* Nobody tells when a virtual thread gets another name: it is looked up once, at the end. */
static void note_last_name(struct agent *agent, JNIEnv *jni, jthread thread, ledger_ref ref)
{
    jstring name;
    const char *text = get_name(agent, jni, thread, &name);

    if (text && *text)
        thread_events__record_name(agent, ref, text);
    release_name(jni, name, text);
}

static bool is_profiling(const struct agent *agent)
{
    return __atomic_load_n(&agent->setup.epoch, __ATOMIC_ACQUIRE) != EPOCH_STOPPED;
}

/* Another thread may be placing this virtual thread before an epoch begins. */
static bool end_it(struct agent *agent, struct kernel_thread *mine, ledger_ref ref)
{
    bool kept;

    if (is_profiling(agent))
        return virtual_thread__end(mine, ref);
    pthread_mutex_lock(&agent->standing.placing);
    kept = virtual_thread__end(mine, ref);
    pthread_mutex_unlock(&agent->standing.placing);
    return kept;
}

static void JNICALL on_end(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    ledger_ref ref = virtual_threads__record(&treadle_agent, NULL);

    (void)jvmti;
    if (!atomic_load(&treadle_agent.active) || !mine || !mine->thread || !ref)
        return;
    if (kernel_thread__is_unidentified(mine))
        virtual_thread__identify(mine, ref);
    if (end_it(&treadle_agent, mine, ref))
        note_last_name(&treadle_agent, jni, thread, ref);
}

void virtual_threads__add_callbacks(union event_callbacks *callbacks)
{
    void(JNICALL * end)(jvmtiEnv * jvmti, JNIEnv * jni, jthread thread) = on_end;

    callbacks->number[EVENT_VIRTUAL_THREAD_END - JVMTI_MIN_EVENT_TYPE_VAL] = (void *)(uintptr_t)end;
}

/* Mounted on a carrier whose start was seen, or that was adopted: the event itself names the
 * virtual thread. When profiling is about to start, the carriers may not be known yet, and no
 * events count. */
static void JNICALL on_mount(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    struct agent *agent = &treadle_agent;
    struct kernel_thread *mine = kernel_thread_table__find_mine(&agent->kernel_threads);

    (void)jvmti;
    if (!is_profiling(agent))
        return;
    if (!mine || !mine->thread) {
        refuse(agent);
        return;
    }
    if (kernel_thread__is_unidentified(mine))
        virtual_thread__identify(mine, 0);
    if (!kernel_thread__is_unidentified(mine) && mount(agent, jni, thread, mine))
        standing_frames__check_mounted(agent, mine);
}

/* Of one that was mounted since before the start, this may be the first event. */
static void JNICALL on_unmount(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    struct agent *agent = &treadle_agent;
    struct kernel_thread *mine = kernel_thread_table__find_mine(&agent->kernel_threads);

    (void)jvmti;
    if (!mine || !mine->thread || !is_profiling(agent))
        return;
    if (kernel_thread__is_unidentified(mine))
        (void)virtual_threads__identify(agent, jni, thread);
    if (kernel_thread__is_unidentified(mine))
        return;
    if (mine->paused)
        kernel_thread__resume(mine);
    if (virtual_thread__is_mounted(mine) && kernel_thread__counts(mine))
        standing_frames__check_mounted(agent, mine);
    if (virtual_thread__is_mounted(mine))
        sampler__record_stack(&agent->sampler, mine->thread);
    virtual_thread__unmount(mine);
}

/* Returns the calling kernel thread's entry once its Java thread is identified. */
static struct kernel_thread *mine_met(struct agent *agent, JNIEnv *jni)
{
    struct kernel_thread *mine = kernel_thread_table__find_mine(&agent->kernel_threads);

    return mine && kernel_thread__is_unidentified(mine) ? thread_events__identify(agent, jni)
                                                        : mine;
}

void JNICALL virtual_threads__starting(JNIEnv *jni, jclass hooks, jobject thread)
{
    struct agent *agent = &treadle_agent;
    struct java_thread_origin origin;
    uint64_t id;

    (void)hooks;
    if (!is_profiling(agent) || !agent->thread_id_field)
        return;
    origin = thread_events__here(agent, jni);
    if (!origin.parent)
        return;
    id = (uint64_t)(*jni)->GetLongField(jni, thread, agent->thread_id_field);
    java_thread_table__starting(&agent->java_threads, id, origin);
}

void JNICALL virtual_threads__pinned(JNIEnv *jni, jclass hooks, jobject thread)
{
    struct agent *agent = &treadle_agent;
    struct kernel_thread *mine = is_profiling(agent) ? mine_met(agent, jni) : NULL;

    (void)hooks, (void)thread;
    if (mine && kernel_thread__counts(mine) && virtual_thread__is_mounted(mine))
        virtual_thread__pinned(mine);
}

/* Of JDK 21 to 25. */
static const struct {
    const char *method;
    const char *descriptor;
    const char *hook;
} first_hooks[] = {
    {"start", "(Ljdk/internal/vm/ThreadContainer;)V", "starting"},
    {"parkOnCarrierThread", "(ZJ)V", "pinned"},
};

bool virtual_threads__is_pinning(const char *class_name, const char *method_name)
{
    return strcmp(class_name, "java.lang.VirtualThread") == 0 &&
           strcmp(method_name, "parkOnCarrierThread") == 0;
}

const char *virtual_threads__first_hook(const struct class_method *method)
{
    if (!class_text__is(method->class_name, VIRTUAL_THREAD_CLASS))
        return NULL;
    for (size_t i = 0; i < sizeof first_hooks / sizeof *first_hooks; i++)
        if (class_text__is(method->name, first_hooks[i].method) &&
            class_text__is(method->descriptor, first_hooks[i].descriptor))
            return first_hooks[i].hook;
    return NULL;
}

static struct {
    const char *id;
    jvmtiExtensionEvent callback;
    jint index; /* this JVM's, 0: it has none */
} events[] = {
    {"com.sun.hotspot.events.VirtualThreadMount", (jvmtiExtensionEvent)on_mount, 0},
    {"com.sun.hotspot.events.VirtualThreadUnmount", (jvmtiExtensionEvent)on_unmount, 0},
};

#define EVENT_COUNT (sizeof events / sizeof *events)

static void drop(jvmtiEnv *jvmti, jvmtiExtensionEventInfo *info)
{
    for (jint i = 0; i < info->param_count; i++)
        (*jvmti)->Deallocate(jvmti, (unsigned char *)info->params[i].name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info->params);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info->id);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info->short_description);
}

static void note_index(const jvmtiExtensionEventInfo *info)
{
    for (size_t i = 0; i < EVENT_COUNT; i++)
        if (strcmp(info->id, events[i].id) == 0)
            events[i].index = info->extension_event_index;
}

/* com.sun.hotspot.functions.GetVirtualThread, or NULL: this JVM has none. */
static jvmtiExtensionFunction get_virtual_thread;

static void find_function(jvmtiEnv *jvmti)
{
    jvmtiExtensionFunctionInfo *infos;
    jint count;

    if ((*jvmti)->GetExtensionFunctions(jvmti, &count, &infos) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        if (strcmp(infos[i].id, "com.sun.hotspot.functions.GetVirtualThread") == 0)
            get_virtual_thread = infos[i].func;
        for (jint j = 0; j < infos[i].param_count; j++)
            (*jvmti)->Deallocate(jvmti, (unsigned char *)infos[i].params[j].name);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)infos[i].params);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)infos[i].id);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)infos[i].short_description);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)infos[i].errors);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)infos);
}

jthread virtual_threads__mounted_on(const struct agent *agent, JNIEnv *jni, jthread carrier)
{
    jthread mounted = NULL;

    if (!get_virtual_thread || !agent->virtual_thread_class ||
        get_virtual_thread(agent->jvmti, carrier, &mounted) != JVMTI_ERROR_NONE || !mounted)
        return NULL;
    if ((*jni)->IsInstanceOf(jni, mounted, agent->virtual_thread_class))
        return mounted;
    (*jni)->DeleteLocalRef(jni, mounted);
    return NULL;
}

void virtual_threads__find_events(struct agent *agent)
{
    jvmtiEnv *jvmti = agent->jvmti;
    jvmtiExtensionEventInfo *infos;
    jint count;

    find_function(jvmti);
    if ((*jvmti)->GetExtensionEvents(jvmti, &count, &infos) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        note_index(&infos[i]);
        drop(jvmti, &infos[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)infos);
}

/* Extension events need to be switched on as well, by their index. */
void virtual_threads__hear(struct agent *agent, bool on)
{
    jvmtiEnv *jvmti = agent->jvmti;
    bool heard = true;

    for (size_t i = 0; i < EVENT_COUNT; i++) {
        if (!events[i].index)
            continue;
        if (on)
            heard &= (*jvmti)->SetExtensionEventCallback(jvmti, events[i].index,
                                                         events[i].callback) == JVMTI_ERROR_NONE;
        heard &= jvmti_event__set(jvmti, (jvmtiEvent)events[i].index, on);
    }
    if (events[0].index)
        heard &= jvmti_event__set(jvmti, (jvmtiEvent)EVENT_VIRTUAL_THREAD_END, on);
    if (!heard)
        log__line(LOG_WARN, "this JVM does not tell when virtual threads mount");
}
