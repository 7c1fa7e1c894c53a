/*
 * CPU that is burnt on carriers, and what the kernel says of them; see 21/SharedCarriers.java.
 *
 * The JVM tells its agents of an event in the order of their loading. With the option `before` this
 * library is told of mounts and unmounts before another agent, with `after` behind it: loaded both
 * ways, it has the carrier's CPU clock from both sides of the other agent's work, at each of them.
 */
#include <inttypes.h>
#include <jvmti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64

#define CARRIERS_MAX 64
#define REST_NS      20000000
#define RESTS_MAX    250

/* The kernel's own encoding of the CPU clock of a thread (CPUCLOCK_PERTHREAD_MASK |
 * CPUCLOCK_SCHED). */
#define CLOCK_OF_THREAD 6u

/* A bit of jvmtiCapabilities in jvmti.h of JDK 21 and later. */
#define CAN_SUPPORT_VIRTUAL_THREADS 44

enum stage { UNMOUNTED, MOUNTS, MOUNTED, UNMOUNTS };

/* A virtual thread; the one that is mounted has its carrier write here. */
struct virtual_thread {
    enum stage stage;
    uint64_t mounts_ns, mounted_ns, unmounts_ns; /* the carrier's CPU clock at these events */
    uint64_t least_ns, most_ns; /* CPU while mounted: without the events, and with them */
    uint64_t mounts, disorders;
};

struct noted {
    struct virtual_thread *thread;
    jlong burnt_ns;
};

static _Atomic int32_t carriers[CARRIERS_MAX];
static struct virtual_thread threads[THREADS_MAX];
static atomic_uint thread_count;
static struct noted noted[THREADS_MAX]; /* by number */
static _Thread_local struct virtual_thread *mounted;

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void note_carrier(void)
{
    int32_t tid = gettid();
    for (int i = 0; i < CARRIERS_MAX; i++) {
        int32_t known = 0;
        if (atomic_compare_exchange_strong(&carriers[i], &known, tid) || known == tid)
            return;
    }
}

static uint64_t carriers_cpu_ns(void)
{
    uint64_t sum_ns = 0;
    for (int i = 0; i < CARRIERS_MAX && atomic_load(&carriers[i]) != 0; i++)
        sum_ns += read_ns((clockid_t)(~(uint32_t)atomic_load(&carriers[i]) << 3 | CLOCK_OF_THREAD));
    return sum_ns;
}

static jlong burn(JNIEnv *env, jclass self, jlong ns)
{
    uint64_t start_ns = read_ns(CLOCK_THREAD_CPUTIME_ID), burnt_ns;
    (void)env, (void)self;
    note_carrier();
    do
        burnt_ns = read_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
    while (burnt_ns < (uint64_t)ns);
    return (jlong)burnt_ns;
}

static void note(JNIEnv *env, jclass self, jint number, jlong burnt_ns)
{
    (void)env, (void)self;
    note_carrier();
    if (number >= 0 && number < THREADS_MAX)
        noted[number] = (struct noted){mounted, burnt_ns};
}

static void print_thread(int number, const struct noted *of)
{
    char name[16] = "warm-up";

    if (number > 0)
        snprintf(name, sizeof(name), "vt-%d", number);
    printf("expect burnt %s %" PRId64 "\n", name, (int64_t)of->burnt_ns);
    if (of->thread)
        printf("expect mounted %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name,
               of->thread->least_ns, of->thread->most_ns, of->thread->mounts,
               of->thread->disorders);
}

static void print_carriers(JNIEnv *env, jclass self)
{
    const struct timespec rest = {.tv_nsec = REST_NS};
    uint64_t sum_ns = carriers_cpu_ns(), before_ns = 0;
    (void)env, (void)self;
    for (int i = 0; i < RESTS_MAX && sum_ns != before_ns; i++) {
        before_ns = sum_ns;
        nanosleep(&rest, NULL);
        sum_ns = carriers_cpu_ns();
    }
    printf("expect carriers-cpu all %" PRIu64 "\nexpect carriers-tids all", sum_ns);
    for (int i = 0; i < CARRIERS_MAX && atomic_load(&carriers[i]) != 0; i++)
        printf(" %" PRId32, atomic_load(&carriers[i]));
    printf("\n");
    for (int i = 0; i < THREADS_MAX; i++)
        if (noted[i].burnt_ns)
            print_thread(i, &noted[i]);
    fflush(stdout);
}

static void go_on(struct virtual_thread *thread, enum stage from, enum stage to)
{
    if (thread->stage != from)
        thread->disorders++;
    thread->stage = to;
}

static void JNICALL before_mount(jvmtiEnv *jvmti, ...)
{
    void *known = NULL;
    unsigned i;

    (*jvmti)->GetThreadLocalStorage(jvmti, NULL, &known);
    if (!known && (i = atomic_fetch_add(&thread_count, 1)) < THREADS_MAX) {
        known = &threads[i];
        (*jvmti)->SetThreadLocalStorage(jvmti, NULL, known);
    }
    mounted = known;
    if (!mounted)
        return;
    go_on(mounted, UNMOUNTED, MOUNTS);
    mounted->mounts_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void JNICALL after_mount(jvmtiEnv *jvmti, ...)
{
    uint64_t now_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);

    (void)jvmti;
    if (!mounted)
        return;
    go_on(mounted, MOUNTS, MOUNTED);
    mounted->mounted_ns = now_ns;
}

static void JNICALL before_unmount(jvmtiEnv *jvmti, ...)
{
    (void)jvmti;
    if (!mounted)
        return;
    go_on(mounted, MOUNTED, UNMOUNTS);
    mounted->unmounts_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void JNICALL after_unmount(jvmtiEnv *jvmti, ...)
{
    uint64_t now_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);

    (void)jvmti;
    if (!mounted)
        return;
    go_on(mounted, UNMOUNTS, UNMOUNTED);
    mounted->least_ns += mounted->unmounts_ns - mounted->mounted_ns;
    mounted->most_ns += now_ns - mounted->mounts_ns;
    mounted->mounts++;
    mounted = NULL;
}

static jvmtiError hear(jvmtiEnv *jvmti, jint index, jvmtiExtensionEvent callback)
{
    jvmtiError error = (*jvmti)->SetExtensionEventCallback(jvmti, index, callback);

    return error ? error
                 : (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, (jvmtiEvent)index, NULL);
}

/* What the JVM says of its events is not freed: it is asked twice. */
static jvmtiError hear_mounts(jvmtiEnv *jvmti, jvmtiExtensionEvent mount,
                              jvmtiExtensionEvent unmount)
{
    jvmtiExtensionEventInfo *infos;
    jint count;
    jvmtiError error = (*jvmti)->GetExtensionEvents(jvmti, &count, &infos);

    for (jint i = 0; !error && i < count; i++)
        if (strcmp(infos[i].id, "com.sun.hotspot.events.VirtualThreadMount") == 0)
            error = hear(jvmti, infos[i].extension_event_index, mount);
        else if (strcmp(infos[i].id, "com.sun.hotspot.events.VirtualThreadUnmount") == 0)
            error = hear(jvmti, infos[i].extension_event_index, unmount);
    return error;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities capabilities = {0};
    bool before = strcmp(options, "before") == 0;
    jvmtiEnv *jvmti;

    (void)reserved;
    ((unsigned char *)&capabilities)[CAN_SUPPORT_VIRTUAL_THREADS / 8] =
        1u << CAN_SUPPORT_VIRTUAL_THREADS % 8;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
        (*jvmti)->AddCapabilities(jvmti, &capabilities))
        return JNI_ERR;
    return hear_mounts(jvmti, before ? before_mount : after_mount,
                       before ? before_unmount : after_unmount)
               ? JNI_ERR
               : JNI_OK;
}

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)reserved;
    static char burn_name[] = "burn", note_name[] = "note", print_name[] = "printCarriers",
                with_ns[] = "(J)J", with_both[] = "(IJ)V", nothing[] = "()V";
    const JNINativeMethod methods[] = {{burn_name, with_ns, (void *)burn},
                                       {note_name, with_both, (void *)note},
                                       {print_name, nothing, (void *)print_carriers}};
    JNIEnv *env;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    jclass self = (*env)->FindClass(env, "SharedCarriers");
    if (!self || (*env)->RegisterNatives(env, self, methods, 3) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_6;
}
