/* CPU that is burnt on carriers, and what the kernel says of them; see 21/SharedCarriers.java. */
#include <inttypes.h>
#include <jni.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define CARRIERS_MAX 64
#define REST_NS      20000000
#define RESTS_MAX    250

/* The kernel's own encoding of the CPU clock of a thread (CPUCLOCK_PERTHREAD_MASK |
 * CPUCLOCK_SCHED). */
#define CLOCK_OF_THREAD 6u

static _Atomic int32_t carriers[CARRIERS_MAX];

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

static void note(JNIEnv *env, jclass self)
{
    (void)env, (void)self;
    note_carrier();
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
    fflush(stdout);
}

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)reserved;
    static char burn_name[] = "burn", note_name[] = "note", print_name[] = "printCarriers",
                with_ns[] = "(J)J", nothing[] = "()V";
    const JNINativeMethod methods[] = {{burn_name, with_ns, (void *)burn},
                                       {note_name, nothing, (void *)note},
                                       {print_name, nothing, (void *)print_carriers}};
    JNIEnv *env;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    jclass self = (*env)->FindClass(env, "SharedCarriers");
    if (!self || (*env)->RegisterNatives(env, self, methods, 3) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_6;
}
