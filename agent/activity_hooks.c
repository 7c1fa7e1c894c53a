#include "agent/activity_hooks.h"

#include "agent/activity_parts.h"
#include "agent/agent.h"
#include "agent/hooks.h"
#include "agent/host/log.h"
#include "native/activity/logical_frames.h"
#include "native/thread/kernel_thread_events.h"

#include <string.h>

#define API_CLASS       "Ltreadle/Activity;"
#define TEXT_CHARS_MAX  120
#define TEXT_BYTES_MAX  (3 * TEXT_CHARS_MAX + 1)
#define STACK_MAX       64
#define NAMED_PARENTS   100000u /* nodes that are looked at in search of logical frames */
#define TOKEN_REF_MASK  UINT64_C(0xffffffff)
#define TOKEN_EPOCH_MAX 0x7fffffffu
#define NATIVES         4

static __attribute__((noinline, cold)) jlong push_slowly(JNIEnv *jni, jint frame)
{
    uintptr_t place = (uintptr_t)__builtin_frame_address(0) ^ (uintptr_t)(uint32_t)frame << 20;
    struct kernel_thread *mine;

    if (!logical_frames__has(&treadle_agent.pushed_frames.frames, frame))
        return HOOK_TOKEN_NONE;
    mine = hooks__ready(jni, place, true);
    return mine ? (jlong)kernel_thread__push(mine, logical_frame__key(frame)) : HOOK_TOKEN_NONE;
}

/* A frame is on top of the stack until it is popped, unless frames above it were forgotten, or it
 * was popped with a frame outside it: both are unmatched exits. One of an earlier epoch is none. */
__attribute__((noinline, cold)) void activity_hooks__pop_slowly(struct kernel_thread *mine,
                                                                uint64_t token)
{
    const struct call_tree *tree = &mine->tree;

    if (token == CALL_TOKEN_NONE || token >> 32 != tree->token >> 32 ||
        !kernel_thread__counts(mine))
        return;
    if (token + 1 != tree->token && !(tree->floor && token + 2 == tree->token))
        ledger__count(&treadle_agent.ledger.header->resynchronised, 1);
    kernel_thread__pop_slowly(mine, token);
}

jlong JNICALL activity_hooks__push(JNIEnv *jni, jclass class, jint frame)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    uint64_t token;

    (void)class;
    /* A frame that does not exist is no node's. */
    if (__builtin_expect(mine != NULL, 1) &&
        __builtin_expect(kernel_thread__push_fast(mine, logical_frame__key(frame), &token), 1)) {
        logical_frame__count(treadle_agent.ledger.header, frame);
        return (jlong)token;
    }
    if ((token = (uint64_t)push_slowly(jni, frame)) != CALL_TOKEN_NONE)
        logical_frame__count(treadle_agent.ledger.header, frame);
    return (jlong)token;
}

static void JNICALL pop(JNIEnv *jni, jclass class, jlong token)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jni, (void)class;
    if (__builtin_expect(mine != NULL, 1) &&
        __builtin_expect(!kernel_thread__pop_fast(mine, (uint64_t)token), 0))
        activity_hooks__pop_slowly(mine, (uint64_t)token);
}

/* events=jvmti: the tree has no tokens. A token is then the frame's node and the epoch; without a
 * node for a frame that found no room. */
jlong JNICALL activity_hooks__push_named(JNIEnv *jni, jclass class, jint frame)
{
    struct kernel_thread *mine;
    ledger_ref node = 0;

    (void)class;
    if (!logical_frames__has(&treadle_agent.pushed_frames.frames, frame))
        return HOOK_TOKEN_NONE;
    mine = hooks__ready(jni, (uintptr_t)__builtin_frame_address(0), true);
    if (!mine)
        return HOOK_TOKEN_NONE;
    kernel_thread__enter(mine, logical_frame__key(frame));
    logical_frame__count(treadle_agent.ledger.header, frame);
    if (!(mine->tree.lost_depth & ~CALL_TREE_FLAGS))
        node = ledger__ref(&treadle_agent.ledger, mine->tree.current);
    return (jlong)((uint64_t)(mine->epoch & TOKEN_EPOCH_MAX) << 32 | node);
}

bool activity_hooks__is_of_epoch(const struct kernel_thread *mine, jlong token)
{
    return (uint64_t)token >> 32 == (mine->epoch & TOKEN_EPOCH_MAX);
}

static void JNICALL pop_named(JNIEnv *jni, jclass class, jlong token)
{
    struct kernel_thread *mine = hooks__ready(jni, (uintptr_t)__builtin_frame_address(0), true);

    (void)class;
    if (mine && activity_hooks__is_of_epoch(mine, token))
        kernel_thread__leave_node(mine, (ledger_ref)((uint64_t)token & TOKEN_REF_MASK));
}

static void read_text(JNIEnv *jni, jstring string, char text[TEXT_BYTES_MAX])
{
    jsize chars = string ? (*jni)->GetStringLength(jni, string) : 0;

    text[0] = '\0';
    if (!chars)
        return;
    if (chars > TEXT_CHARS_MAX)
        chars = TEXT_CHARS_MAX;
    (*jni)->GetStringUTFRegion(jni, string, 0, chars, text);
}

static jint JNICALL find_number(JNIEnv *jni, jclass class, jstring identifier, jstring parameter,
                                jint other)
{
    static const int32_t flags[] = {0, LOGICAL_OTHER_PARAMETER, LOGICAL_OTHER_IDENTIFIER};
    char texts[2][TEXT_BYTES_MAX] = {{0}};

    (void)class;
    if (other < 0 || other >= (jint)(sizeof(flags) / sizeof(*flags)))
        return LOGICAL_FRAME_NONE;
    read_text(jni, identifier, texts[0]);
    read_text(jni, parameter, texts[1]);
    if ((*jni)->ExceptionCheck(jni))
        return LOGICAL_FRAME_NONE;
    return logical_frames__number(&treadle_agent.pushed_frames.frames, texts[0], texts[1],
                                  flags[other]);
}

/* The logical frames on the path, the youngest ones if there are too many. */
static jintArray JNICALL open_frames(JNIEnv *jni, jclass class)
{
    struct kernel_thread *mine = hooks__ready(jni, (uintptr_t)__builtin_frame_address(0), true);
    const struct ledger_node *node = mine ? mine->tree.current : NULL;
    jint found[STACK_MAX], at = STACK_MAX;
    jintArray frames;

    (void)class;
    for (unsigned steps = 0; node && at > 0 && steps < NAMED_PARENTS; steps++) {
        if (ledger_key__is_logical(node->key))
            found[--at] = logical_frame__number(node->key);
        node = node->parent ? call_tree__node(&mine->tree, node->parent) : NULL;
    }
    if (at == STACK_MAX)
        return NULL;
    frames = (*jni)->NewIntArray(jni, STACK_MAX - at);
    if (frames)
        (*jni)->SetIntArrayRegion(jni, frames, 0, STACK_MAX - at, found + at);
    return frames;
}

static bool is_api_class(const struct agent *agent, jobject object)
{
    char *signature = NULL;
    bool is_api;

    if (!object || (*agent->jvmti)->GetClassSignature(agent->jvmti, object, &signature, NULL) !=
                       JVMTI_ERROR_NONE)
        return false; /* no class */
    is_api = strcmp(signature, API_CLASS) == 0;
    (*agent->jvmti)->Deallocate(agent->jvmti, (unsigned char *)signature);
    return is_api;
}

static bool bind_natives(const struct agent *agent, JNIEnv *jni, jclass class)
{
    bool is_named = agent->options.events == LEDGER_EVENTS_JVMTI;
    const JNINativeMethod natives[NATIVES] = {
        {"push0", "(I)J",
         (void *)(uintptr_t)(is_named ? activity_hooks__push_named : activity_hooks__push)},
        {"pop0", "(J)V", (void *)(uintptr_t)(is_named ? pop_named : pop)},
        {"register0", "(Ljava/lang/String;Ljava/lang/String;I)I", (void *)(uintptr_t)find_number},
        {"stack0", "()[I", (void *)(uintptr_t)open_frames},
    };

    if ((*jni)->RegisterNatives(jni, class, natives, NATIVES) == 0) {
        activity_parts__bind(jni, class, is_named);
        return true;
    }
    (*jni)->ExceptionClear(jni);
    log__line(LOG_WARN, "this treadle.Activity is not of this version of Treadle: its frames are "
                        "not recorded");
    return false;
}

/* False: there is no room. One whose class is gone makes room. */
static bool note(struct activity_classes *classes, JNIEnv *jni, jclass class)
{
    jweak mine = (*jni)->NewWeakGlobalRef(jni, class);

    for (unsigned i = 0; mine && i < ACTIVITY_CLASSES_MAX; i++) {
        jweak there = atomic_load(&classes->known[i]);

        if (there && !(*jni)->IsSameObject(jni, there, NULL))
            continue;
        /* What was there is not deleted: another thread may be using it. */
        if (atomic_compare_exchange_strong(&classes->known[i], &there, mine))
            return true;
    }
    if (mine)
        (*jni)->DeleteWeakGlobalRef(jni, mine);
    return false;
}

static bool is_known(const struct activity_classes *classes, JNIEnv *jni, jclass class)
{
    for (unsigned i = 0; i < ACTIVITY_CLASSES_MAX; i++) {
        jweak there = atomic_load(&classes->known[i]);

        if (there && (*jni)->IsSameObject(jni, there, class))
            return true;
    }
    return false;
}

/* Profiling may be started or stopped meanwhile, by another thread, which may have come to this
 * class before. */
static void turn(const struct agent *agent, JNIEnv *jni, jclass class)
{
    jmethodID method = (*jni)->GetStaticMethodID(jni, class, "turn", "(Z)V");
    bool on = !atomic_load(&agent->profiling);

    while (method && on != atomic_load(&agent->profiling)) {
        on = !on;
        (*jni)->CallStaticVoidMethod(jni, class, method, (jboolean)on);
        if ((*jni)->ExceptionCheck(jni))
            break;
    }
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
}

void activity_hooks__bind(struct agent *agent, JNIEnv *jni, jobject class)
{
    if (!is_api_class(agent, class) || is_known(&agent->activity_classes, jni, class) ||
        !bind_natives(agent, jni, class))
        return;
    if (note(&agent->activity_classes, jni, class))
        turn(agent, jni, class);
    else
        log__line(LOG_WARN, "too many class loaders have a treadle.Activity: the frames of one "
                            "more are not recorded");
}

void activity_hooks__find(struct agent *agent, JNIEnv *jni)
{
    jclass *classes = NULL;
    jint count = 0;

    if ((*agent->jvmti)->GetLoadedClasses(agent->jvmti, &count, &classes) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        activity_hooks__bind(agent, jni, classes[i]);
        (*jni)->DeleteLocalRef(jni, classes[i]);
    }
    (*agent->jvmti)->Deallocate(agent->jvmti, (unsigned char *)classes);
}

void activity_hooks__turn(struct agent *agent, JNIEnv *jni)
{
    for (unsigned i = 0; i < ACTIVITY_CLASSES_MAX; i++) {
        jweak there = atomic_load(&agent->activity_classes.known[i]);
        jclass class = there ? (*jni)->NewLocalRef(jni, there) : NULL;

        if (class)
            turn(agent, jni, class);
        (*jni)->DeleteLocalRef(jni, class);
    }
}
