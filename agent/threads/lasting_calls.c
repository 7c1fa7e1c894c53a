#include "agent/threads/lasting_calls.h"

#include "agent/classfile/bytecode.h"
#include "agent/hotspot/method_code.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOKS        3
#define BUSY_PERCENT 1 /* a thread is busy that uses so much of a processor */
#define FRAMES_MAX   512
#define NS_PER_S     1000000000u

/* What a look is made with. */
struct looking {
    jvmtiEnv *jvmti;
    JNIEnv *jni;
    struct vm_structs structs;
    enum lasting_doubt doubt;
    uint64_t turn_ns; /* between two looks, and before the first one */
    struct lasting_calls *found;
    jvmtiFrameInfo frames[FRAMES_MAX];
};

struct watched_call {
    jmethodID method;
    jlocation location[LOOKS];
};

struct watched_thread {
    jthread thread;
    jlong cpu_ns;
    struct watched_call *calls; /* those that were there at all looks, oldest first */
    jint count;
};

void lasting_calls__add_capabilities(jvmtiCapabilities *capabilities)
{
    capabilities->can_get_thread_cpu_time = 1;
    capabilities->can_get_bytecodes = 1;
}

static void wait_ns(uint64_t ns)
{
    const struct timespec pause = {.tv_sec = (time_t)(ns / NS_PER_S),
                                   .tv_nsec = (long)(ns % NS_PER_S)};

    (void)nanosleep(&pause, NULL);
}

/* The oldest frames, oldest first. How many; 0: the thread has none, or has gone. */
static jint oldest_frames(jvmtiEnv *jvmti, jthread thread, jvmtiFrameInfo *frames)
{
    jint depth = 0, count = 0;

    if ((*jvmti)->GetFrameCount(jvmti, thread, &depth) != JVMTI_ERROR_NONE)
        return 0;
    /* The stack may have become shorter. */
    if ((*jvmti)->GetStackTrace(jvmti, thread, depth > FRAMES_MAX ? -FRAMES_MAX : 0, FRAMES_MAX,
                                frames, &count) != JVMTI_ERROR_NONE)
        return 0;
    for (jint i = 0; i < count / 2; i++) {
        jvmtiFrameInfo frame = frames[i];

        frames[i] = frames[count - 1 - i];
        frames[count - 1 - i] = frame;
    }
    return count;
}

static void watch(struct looking *looking, struct watched_thread *watched)
{
    jvmtiEnv *jvmti = looking->jvmti;
    jlong cpu_ns = 0;
    jint count;

    if ((*jvmti)->GetThreadCpuTime(jvmti, watched->thread, &cpu_ns) != JVMTI_ERROR_NONE ||
        (uint64_t)(cpu_ns - watched->cpu_ns) < looking->turn_ns * BUSY_PERCENT / 100)
        return;
    count = oldest_frames(jvmti, watched->thread, looking->frames);
    if (count)
        watched->calls = calloc((size_t)count, sizeof(*watched->calls));
    if (!watched->calls)
        return;
    watched->count = count;
    for (jint i = 0; i < count; i++) {
        watched->calls[i].method = looking->frames[i].method;
        watched->calls[i].location[0] = looking->frames[i].location;
    }
}

/* As long as the callers stand where they stood, a frame of the same method is the same call. */
static void watch_again(struct looking *looking, struct watched_thread *watched, unsigned look)
{
    const jvmtiFrameInfo *now = looking->frames;
    jint count = oldest_frames(looking->jvmti, watched->thread, looking->frames);
    bool is_same = true;

    count = count < watched->count ? count : watched->count;
    watched->count = 0;
    for (jint i = 0; i < count && is_same && now[i].method == watched->calls[i].method; i++) {
        jlocation *location = watched->calls[i].location;

        location[look] = now[i].location;
        is_same = location[look] == location[look - 1];
        watched->count++;
    }
}

static void add_name(struct lasting_calls *calls, const char *name)
{
    char **classes;

    if (lasting_calls__has(calls, name))
        return;
    classes = realloc(calls->classes, (calls->count + 1) * sizeof(*classes));
    if (!classes)
        return;
    calls->classes = classes;
    classes[calls->count] = strdup(name);
    if (classes[calls->count])
        calls->count++;
}

/* At so many looks the call stood in a loop. */
static unsigned looks_in_loop(jvmtiEnv *jvmti, const struct watched_call *call)
{
    unsigned char *code = NULL;
    jint length = 0;
    unsigned looks = 0;

    if ((*jvmti)->GetBytecodes(jvmti, call->method, &length, &code) != JVMTI_ERROR_NONE)
        return 0; /* a native method */
    for (unsigned i = 0; i < LOOKS; i++)
        looks += bytecode__is_in_loop(code, (uint32_t)length, (uint32_t)call->location[i]);
    (*jvmti)->Deallocate(jvmti, code);
    return looks;
}

/* Returns whether the call stood in a loop. */
static bool judge(const struct looking *looking, const struct watched_call *call)
{
    jvmtiEnv *jvmti = looking->jvmti;
    jclass class = NULL;
    char *signature = NULL;
    unsigned looks;

    /* The class is not unloaded as long as there is a reference to it. */
    if ((*jvmti)->GetMethodDeclaringClass(jvmti, call->method, &class) != JVMTI_ERROR_NONE)
        return false;
    looks = looks_in_loop(jvmti, call);
    if (looks == LOOKS && method_code__may_run(&looking->structs, call->method) &&
        (*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) == JVMTI_ERROR_NONE) {
        signature[strlen(signature) - 1] = '\0'; /* L…; */
        add_name(looking->found, signature + 1);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    (*looking->jni)->DeleteLocalRef(looking->jni, class);
    return looks > 0;
}

/* What a loop calls at one place may be another call at each look. */
static void judge_all(const struct looking *looking, const struct watched_thread *watched)
{
    bool is_certain = true;

    for (jint i = 0; i < watched->count && (is_certain || looking->doubt == LASTING_PROBABLY); i++)
        if (judge(looking, &watched->calls[i]))
            is_certain = false;
}

static void look_again_and_again(struct looking *looking, struct watched_thread *watched,
                                 jint count)
{
    wait_ns(looking->turn_ns);
    for (jint i = 0; i < count; i++)
        watch(looking, &watched[i]);
    for (unsigned look = 1; look < LOOKS; look++) {
        wait_ns(looking->turn_ns);
        for (jint i = 0; i < count; i++)
            if (watched[i].count)
                watch_again(looking, &watched[i], look);
    }
    for (jint i = 0; i < count; i++)
        judge_all(looking, &watched[i]);
}

static void look(struct looking *looking, const jthread *threads, jint count)
{
    jvmtiEnv *jvmti = looking->jvmti;
    struct watched_thread *watched = calloc((size_t)count, sizeof(*watched));

    if (!watched)
        return;
    for (jint i = 0; i < count; i++) {
        watched[i].thread = threads[i];
        (void)(*jvmti)->GetThreadCpuTime(jvmti, threads[i], &watched[i].cpu_ns);
    }
    look_again_and_again(looking, watched, count);
    for (jint i = 0; i < count; i++)
        free(watched[i].calls);
    free(watched);
}

void lasting_calls__find(struct lasting_calls *calls, jvmtiEnv *jvmti, JNIEnv *jni,
                         enum lasting_doubt doubt, uint64_t look_ns)
{
    struct looking *looking = malloc(sizeof(*looking));
    const char *missing;
    jthread *threads = NULL;
    jint count = 0;

    *calls = (struct lasting_calls){0};
    if (!looking)
        return;
    looking->jvmti = jvmti;
    looking->jni = jni;
    looking->found = calls;
    looking->doubt = doubt;
    looking->turn_ns = look_ns / LOOKS;
    if (!vm_structs__read(&looking->structs, &missing))
        looking->structs.vm_major_version = NULL;
    if ((*jvmti)->GetAllThreads(jvmti, &count, &threads) == JVMTI_ERROR_NONE)
        look(looking, threads, count);
    for (jint i = 0; i < count; i++)
        (*jni)->DeleteLocalRef(jni, threads[i]);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
    free(looking);
}

bool lasting_calls__has(const struct lasting_calls *calls, const char *class_name)
{
    for (size_t i = 0; i < calls->count; i++)
        if (strcmp(calls->classes[i], class_name) == 0)
            return true;
    return false;
}

void lasting_calls__release(struct lasting_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        free(calls->classes[i]);
    free(calls->classes);
    *calls = (struct lasting_calls){0};
}
