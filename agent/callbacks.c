#include "agent/callbacks.h"

#include "agent/agent.h"
#include "agent/dump.h"
#include "agent/host/jvmti_event.h"
#include "agent/host/log.h"
#include "agent/housekeeping.h"
#include "agent/io_wrappers.h"
#include "agent/method_events.h"
#include "agent/native_frames.h"
#include "agent/profiling.h"
#include "agent/threads/lasting_calls.h"
#include "agent/threads/thread_events.h"
#include "agent/threads/thread_waits.h"
#include "agent/threads/virtual_threads.h"
#include "agent/timeline_request.h"

#include <errno.h>

static void JNICALL on_vm_init(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    struct agent *agent = &treadle_agent;

    (void)jvmti;
    if (profiling__begin(agent, jni, thread) != 0)
        profiling__give_up(agent);
    else
        log__answer("profiling \n");
    if (atomic_load(&agent->active) && agent->options.timeline_bytes)
        (void)timeline_request__begin(agent, &agent->options);
    log__end_answer();
}

static void JNICALL on_vm_death(jvmtiEnv *jvmti, JNIEnv *jni)
{
    struct agent *agent = &treadle_agent;

    (void)jvmti;
    if (!atomic_load(&agent->active))
        return;
    timeline_request__end_with_jvm(agent);
    dump__at_exit(agent, jni);
    housekeeping__stop(agent);
}

static void JNICALL on_data_dump(jvmtiEnv *jvmti)
{
    struct agent *agent = &treadle_agent;

    (void)jvmti;
    if (atomic_load(&agent->active))
        (void)dump__now(agent, agent__jni(agent), NULL);
}

static void JNICALL on_class_file(jvmtiEnv *jvmti, JNIEnv *jni, jclass redefined, jobject loader,
                                  const char *name, jobject domain, jint length,
                                  const unsigned char *bytes, jint *new_length,
                                  unsigned char **new_bytes)
{
    (void)jvmti, (void)domain;
    class_hooks__file_loaded(&treadle_agent.class_hooks, jni, redefined != NULL, loader, name,
                             length, bytes, new_length, new_bytes);
}

static void JNICALL on_generated_code(jvmtiEnv *jvmti, const char *name, const void *address,
                                      jint bytes)
{
    (void)jvmti;
    sampler__code_generated(&treadle_agent.sampler, name, address, bytes);
}

static void JNICALL on_thread_start(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    (void)jvmti;
    thread_events__start(&treadle_agent.java_threads, jni, thread);
    native_frames__note_thread(&treadle_agent);
}

/* Of the ending thread itself. */
static void end_counting(JNIEnv *jni, jthread thread)
{
    jfieldID id_field = treadle_agent.java_threads.id_field;

    if (id_field && thread_counters__has_owners(&treadle_agent.quotas.counters))
        thread_counters__release(&treadle_agent.quotas.counters,
                                 (uint64_t)(*jni)->GetLongField(jni, thread, id_field));
}

static void JNICALL on_thread_end(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    (void)jvmti;
    end_counting(jni, thread);
    thread_events__end(&treadle_agent.java_threads, jni, thread);
}

static void JNICALL on_native_bound(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                                    void *address, void **new_address)
{
    (void)jvmti, (void)jni, (void)thread;
    thread_events__native_bound(&treadle_agent.java_threads, method, address, new_address);
    native_locks__look(&treadle_agent.native_locks); /* it may be the first one of a library */
}

static void JNICALL on_virtual_thread_end(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    (void)jvmti;
    virtual_threads__end(&treadle_agent.java_threads, jni, thread);
}

static void JNICALL on_mount(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    (void)jvmti;
    virtual_threads__mount(&treadle_agent.java_threads, jni, thread);
}

static void JNICALL on_unmount(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    (void)jvmti;
    virtual_threads__unmount(&treadle_agent.java_threads, jni, thread);
}

static void JNICALL on_contended_enter(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jobject object)
{
    (void)jvmti, (void)thread;
    thread_waits__enter(&treadle_agent.java_threads, jni, object);
}

static void JNICALL on_contended_entered(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread,
                                         jobject object)
{
    (void)jvmti, (void)thread;
    thread_waits__entered(&treadle_agent.java_threads, jni, object);
}

static void JNICALL on_object_wait(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jobject object,
                                   jlong timeout)
{
    (void)jvmti, (void)thread, (void)timeout;
    thread_waits__object_wait(&treadle_agent.java_threads, jni, object);
}

static void JNICALL on_object_waited(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jobject object,
                                     jboolean timed_out)
{
    (void)jvmti, (void)thread, (void)object, (void)timed_out;
    thread_waits__object_waited(&treadle_agent.java_threads, jni);
}

static void JNICALL on_pause_begin(jvmtiEnv *jvmti)
{
    (void)jvmti;
    timeline_request__pause_begins(&treadle_agent);
}

static void JNICALL on_pause_end(jvmtiEnv *jvmti)
{
    (void)jvmti;
    timeline_request__pause_ended(&treadle_agent);
}

static void JNICALL park_wrapper(JNIEnv *jni, jobject unsafe, jboolean is_absolute, jlong time)
{
    thread_waits__park(&treadle_agent.java_threads, jni, unsafe, is_absolute, time);
}

static void JNICALL sleep_wrapper(JNIEnv *jni, jclass thread_class, jlong time)
{
    thread_waits__sleep(&treadle_agent.java_threads, jni, thread_class, time);
}

static void JNICALL start_wrapper(JNIEnv *jni, jobject thread)
{
    thread_events__start_native(&treadle_agent.java_threads, jni, thread);
}

static void JNICALL set_name_wrapper(JNIEnv *jni, jobject thread, jstring name)
{
    thread_events__set_native_name(&treadle_agent.java_threads, jni, thread, name);
}

static void on_sample_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    sample_signal__take(&treadle_agent.sampler, info, context);
}

static void before_end(void *context)
{
    housekeeping__look(context);
}

static int add_capabilities(struct agent *agent)
{
    bool by_jvmti = agent->options.events == LEDGER_EVENTS_JVMTI;
    jvmtiCapabilities capabilities = {
        .can_generate_method_entry_events = by_jvmti,
        .can_generate_method_exit_events = by_jvmti,
        .can_get_source_file_name = by_jvmti,
        .can_generate_all_class_hook_events = 1,
        .can_retransform_classes = 1,
        .can_generate_native_method_bind_events = 1,
    };

    virtual_threads__add_capabilities(agent->jvmti, &capabilities);
    lasting_calls__add_capabilities(&capabilities);
    thread_waits__add_capabilities(&agent->java_threads, &capabilities);
    if (agent->options.sample != LEDGER_SAMPLE_NONE)
        sampler__add_capabilities(&capabilities);
    thread_waits__add_optional_capabilities(&agent->java_threads);
    return (int)(*agent->jvmti)->AddCapabilities(agent->jvmti, &capabilities);
}

static int add_callbacks(struct agent *agent)
{
    void(JNICALL * virtual_thread_end)(jvmtiEnv *, JNIEnv *, jthread) = on_virtual_thread_end;
    union event_callbacks callbacks = {.named = {
                                           .VMInit = on_vm_init,
                                           .VMDeath = on_vm_death,
                                           .DataDumpRequest = on_data_dump,
                                           .ThreadStart = on_thread_start,
                                           .ThreadEnd = on_thread_end,
                                           .NativeMethodBind = on_native_bound,
                                           .MethodEntry = method_events__entry,
                                           .MethodExit = method_events__exit,
                                           .ClassFileLoadHook = on_class_file,
                                           .DynamicCodeGenerated = on_generated_code,
                                           .MonitorContendedEnter = on_contended_enter,
                                           .MonitorContendedEntered = on_contended_entered,
                                           .MonitorWait = on_object_wait,
                                           .MonitorWaited = on_object_waited,
                                           .GarbageCollectionStart = on_pause_begin,
                                           .GarbageCollectionFinish = on_pause_end,
                                       }};

    callbacks.number[EVENT_VIRTUAL_THREAD_END - JVMTI_MIN_EVENT_TYPE_VAL] =
        (void *)(uintptr_t)virtual_thread_end;
    agent->java_threads.mount.callback = (jvmtiExtensionEvent)on_mount;
    agent->java_threads.unmount.callback = (jvmtiExtensionEvent)on_unmount;
    agent->java_threads.start_wrapper = start_wrapper;
    agent->java_threads.set_name_wrapper = set_name_wrapper;
    agent->java_threads.park_wrapper = park_wrapper;
    agent->java_threads.sleep_wrapper = sleep_wrapper;
    agent->java_threads.io_natives = &io_wrappers__table;
    agent->java_threads.before_end = before_end;
    agent->java_threads.context = agent;
    agent->sampler.on_signal = on_sample_signal;
    agent->sampler.place = native_frames__place;
    return (int)(*agent->jvmti)
        ->SetEventCallbacks(agent->jvmti, &callbacks.named, (jint)sizeof(callbacks));
}

int callbacks__set(struct agent *agent)
{
    int error = add_capabilities(agent);

    if (!error)
        error = add_callbacks(agent);
    if (error) {
        log__line(LOG_ERROR, "the JVM refuses the events (JVMTI error %d); not profiling", error);
        return -ENOTSUP;
    }
    (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_VM_INIT, true);
    (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_VM_DEATH, true);
    (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_DATA_DUMP_REQUEST, true);
    (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_NATIVE_METHOD_BIND, true);
    virtual_threads__find_events(&agent->java_threads);
    return 0;
}
