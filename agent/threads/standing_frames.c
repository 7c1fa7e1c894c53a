#include "agent/threads/standing_frames.h"

#include "agent/methods/hook_class.h"
#include "agent/threads/thread_waits.h"
#include "agent/threads/virtual_threads.h"
#include "native/thread/virtual_thread.h"
#include "native/thread/wait_bracket.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_AT_ONCE 256
#define FRAMES_MAX     65536    /* of a thread that another one looks at */
#define LOOKS_PART     16u      /* of its CPU time that a thread may look at its stack */
#define LOOKS_FREE_NS  1000000u /* and so much in any case */
#define TRUSTED        64u      /* times the CPU time of a look: so long a place is known */

#define KEY_OF_HOOKS UINT64_MAX /* methods of the hooks' own class */

void standing_frames__init(struct standing_methods *methods)
{
    pthread_mutex_init(&methods->lock, NULL);
    pthread_mutex_init(&methods->placing, NULL);
}

static struct class_text text_of(const char *text, size_t length)
{
    return (struct class_text){(const uint8_t *)text, (uint32_t)length};
}

/* signature: "Ljava/lang/String;". */
static uint64_t number_of(struct java_threads *threads, const char *signature, const char *name,
                          const char *descriptor)
{
    struct method_numbers *methods = threads->methods;
    size_t length = strlen(signature);
    char *class_name = length > 2 ? strndup(signature + 1, length - 2) : NULL;
    struct numbered_class *class;
    uint32_t id = 0;

    if (!class_name)
        return 0;
    if (hook_class__is_ours(class_name)) {
        free(class_name);
        return KEY_OF_HOOKS;
    }
    class = method_numbers__find_class(methods, class_name);
    if (class)
        id = method_numbers__find_id(methods, class, text_of(name, strlen(name)),
                                     text_of(descriptor, strlen(descriptor)));
    free(class_name);
    return id && numbered_method__is_hooked(method_numbers__get(methods, id)) &&
                   hook_quotas__hear(threads->quotas, id)
               ? id
               : 0;
}

static JNIEnv *jni_of(const struct java_threads *threads)
{
    JNIEnv *jni = NULL;

    (*threads->vm)->GetEnv(threads->vm, (void **)&jni, JNI_VERSION_1_8);
    return jni;
}

static uint64_t resolve(struct java_threads *threads, jmethodID method)
{
    jvmtiEnv *jvmti = threads->jvmti;
    JNIEnv *jni = jni_of(threads);
    char *name = NULL, *descriptor = NULL, *signature = NULL;
    jclass class = NULL;
    uint64_t key = 0;

    if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, &class) != JVMTI_ERROR_NONE)
        return 0;
    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) == JVMTI_ERROR_NONE &&
        (*jvmti)->GetMethodName(jvmti, method, &name, &descriptor, NULL) == JVMTI_ERROR_NONE)
        key = number_of(threads, signature, name, descriptor);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)descriptor);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    if (jni)
        (*jni)->DeleteLocalRef(jni, class);
    return key;
}

/* Of its node; 0: it has none. JVMTI's events name all methods, and know which have none. */
static uint64_t key_of(struct java_threads *threads, jmethodID method, uint32_t epoch)
{
    struct standing_methods *methods = &threads->standing;
    size_t slot = ((uintptr_t)method >> 3) % STANDING_METHODS;
    struct standing_method known;

    if (threads->events == LEDGER_EVENTS_JVMTI)
        return (uint64_t)(uintptr_t)method;
    pthread_mutex_lock(&methods->lock);
    known = methods->known[slot];
    pthread_mutex_unlock(&methods->lock);
    if (known.method == method && known.epoch == epoch)
        return known.key;
    known = (struct standing_method){method, epoch, resolve(threads, method)};
    pthread_mutex_lock(&methods->lock);
    methods->known[slot] = known;
    pthread_mutex_unlock(&methods->lock);
    return known.key;
}

/* Keys of frames, which come youngest first, oldest first. How many have nodes. */
static uint32_t keys_of(struct java_threads *threads, uint32_t epoch, const jvmtiFrameInfo *frames,
                        jint count, uint64_t *keys)
{
    uint32_t found = 0;

    while (count > 0) {
        uint64_t key = key_of(threads, frames[--count].method, epoch);

        if (key && key != KEY_OF_HOOKS)
            keys[found++] = key;
    }
    return found;
}

/* The number of frames that a running hook has on top of the stack: its own frame and that of the
 * method that calls it. */
static jint frames_of_hook(struct java_threads *threads)
{
    jvmtiEnv *jvmti = threads->jvmti;
    jvmtiFrameInfo frames[4];
    uint32_t epoch = *threads->epochs;
    jint count = 0, hooks = 0;

    if (threads->events != LEDGER_EVENTS_INSTRUMENT ||
        (*jvmti)->GetStackTrace(jvmti, NULL, 0, 4, frames, &count) != JVMTI_ERROR_NONE)
        return 0;
    while (hooks < count && key_of(threads, frames[hooks].method, epoch) == KEY_OF_HOOKS)
        hooks++;
    return hooks ? hooks + 1 : 0;
}

/* A few at a time: a stack may be deep. */
void standing_frames__find(struct java_threads *threads, struct kernel_thread *mine, jint top)
{
    jvmtiEnv *jvmti = threads->jvmti;
    jvmtiFrameInfo frames[FRAMES_AT_ONCE];
    uint64_t keys[FRAMES_AT_ONCE];
    jint left, got;

    if ((*jvmti)->GetFrameCount(jvmti, NULL, &left) != JVMTI_ERROR_NONE) {
        kernel_thread__stand_on_nothing(mine);
        return;
    }
    kernel_thread__stand_at_root(mine);
    while (left > top) {
        jint from = left - FRAMES_AT_ONCE > top ? left - FRAMES_AT_ONCE : top;

        if ((*jvmti)->GetStackTrace(jvmti, NULL, from, left - from, frames, &got) !=
                JVMTI_ERROR_NONE ||
            got != left - from)
            break;
        kernel_thread__stand_on(mine, keys, keys_of(threads, mine->epoch, frames, got, keys),
                                false);
        left = from;
    }
    kernel_thread__stand_on(mine, keys, 0, true);
}

/* What that costs is bounded. */
static bool may_look(const struct kernel_thread *mine)
{
    uint64_t used_ns = mine->record->charged_cpu_ns - mine->look.begin_ns;

    return mine->look.cost_ns < LOOKS_FREE_NS + used_ns / LOOKS_PART;
}

/* Its cost by the CPU clock: on a busy machine the thread may wait for a processor meanwhile. Where
 * it stands as before, the places that were looked at before are as good as they were. */
static void look(struct java_threads *threads, struct kernel_thread *mine, jint top)
{
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const struct ledger_node *node = mine->tree.current;
    uintptr_t callers[FLOOR_CALLERS];

    memcpy(callers, mine->look.callers, sizeof(callers));
    standing_frames__find(threads, mine, top);
    if (mine->tree.current == node)
        memcpy(mine->look.callers, callers, sizeof(callers));
    mine->look.last_ns = mine->record->charged_cpu_ns;
    mine->look.last_cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    mine->look.cost_ns += mine->look.last_cost_ns;
}

/* Calls from two frames may come to one place on the stack: of a method that was inlined into its
 * caller, say, and of the same method by itself. */
static bool is_trusted(const struct kernel_thread *mine)
{
    return mine->record->charged_cpu_ns - mine->look.last_ns < TRUSTED * mine->look.last_cost_ns;
}

static jint top_frames(struct java_threads *threads, bool stays)
{
    jint top = threads->events == LEDGER_EVENTS_JVMTI ? 1 : frames_of_hook(threads);

    return top && stays ? top - 1 : top;
}

static bool is_on_floor(const struct kernel_thread *mine)
{
    return mine->setup->names_exits ? call_tree__is_on_seed(&mine->tree)
                                    : call_tree__is_on_floor(&mine->tree);
}

void standing_frames__check(struct java_threads *threads, struct kernel_thread *mine,
                            uintptr_t place, bool stays)
{
    uintptr_t *known = &mine->look.callers[(place >> 4) % FLOOR_CALLERS];

    if (call_tree__is_unseen(&mine->tree)) {
        look(threads, mine, top_frames(threads, stays));
    } else if (is_on_floor(mine) && (*known != place || !is_trusted(mine)) && may_look(mine)) {
        look(threads, mine, top_frames(threads, stays));
        *known = place;
    }
}

void standing_frames__check_mounted(struct java_threads *threads, struct kernel_thread *mine)
{
    if (call_tree__is_unseen(&mine->tree))
        standing_frames__find(threads, mine, 0);
    else if (is_on_floor(mine) && may_look(mine))
        look(threads, mine, 0);
}

/* The key of the method that calls the running hook. */
static uint64_t key_of_caller(struct java_threads *threads, const struct kernel_thread *mine,
                              jint top)
{
    jvmtiFrameInfo frame;
    jint count = 0;

    if (!top ||
        (*threads->jvmti)->GetStackTrace(threads->jvmti, NULL, top - 1, 1, &frame, &count) !=
            JVMTI_ERROR_NONE ||
        count != 1)
        return 0;
    return key_of(threads, frame.method, mine->epoch);
}

/* As a rule it is the floor's youngest; one whose method has no hooks any more is not of it. */
void standing_frames__leave_old(struct java_threads *threads, struct kernel_thread *mine)
{
    jint top = frames_of_hook(threads);

    if (!call_tree__is_unseen(&mine->tree)) {
        uint64_t key = key_of_caller(threads, mine, top);

        if (!key || kernel_thread__leave_floor(mine, key) || !may_look(mine))
            return;
    }
    look(threads, mine, top);
}

/* A thread whose stack another thread looks at. */
struct placing {
    uint32_t epoch;
    jvmtiFrameInfo *frames;
    uint64_t *keys;
    uint32_t count;
    unsigned wait_reason; /* see thread_waits__reason */
    ledger_ref mounted;   /* the record of the virtual thread on a carrier, or none */
    bool is_silent;
};

/* The oldest frames of a stack deeper than FRAMES_MAX are not known: such a stack counts as unseen.
 */
static void look_at(struct java_threads *threads, struct placing *placing, jthread thread)
{
    jvmtiEnv *jvmti = threads->jvmti;
    jint count = 0;

    if ((*jvmti)->GetStackTrace(jvmti, thread, 0, FRAMES_MAX, placing->frames, &count) !=
            JVMTI_ERROR_NONE ||
        count == FRAMES_MAX)
        count = 0;
    placing->count = keys_of(threads, placing->epoch, placing->frames, count, placing->keys);
    placing->wait_reason = thread_waits__reason(threads, thread);
}

static void stand_there(struct kernel_thread *kernel_thread, void *context)
{
    const struct placing *placing = context;

    kernel_thread__place(kernel_thread, placing->epoch, placing->keys, placing->count);
}

static void stand_there_again(struct kernel_thread *kernel_thread, void *context)
{
    const struct placing *placing = context;

    virtual_thread__place_again(kernel_thread, placing->epoch, placing->mounted, placing->keys,
                                placing->count);
}

static void wait_there(struct kernel_thread *kernel_thread, void *context)
{
    const struct placing *placing = context;

    wait_bracket__place(kernel_thread, placing->epoch, placing->wait_reason);
}

static void ask_if_silent(struct kernel_thread *kernel_thread, void *context)
{
    struct placing *placing = context;

    placing->is_silent = kernel_thread__is_silent(kernel_thread, placing->epoch);
}

/* As long as the kernel thread has had no event, the virtual thread mounted there has been mounted
 * since the epoch began. A mounted virtual thread without a record is charged to the carrier until
 * the virtual thread's first event. */
static void place_if_silent(struct java_threads *threads, JNIEnv *jni, jthread thread,
                            void *context)
{
    struct placing *placing = context;
    pid_t tid = java_tid__of(&threads->java_tid, jni, thread);
    jthread mounted = tid > 0 ? virtual_threads__mounted_on(threads, jni, thread) : NULL;

    placing->is_silent = false;
    placing->mounted = mounted ? virtual_threads__record(threads, mounted) : 0;
    if (tid > 0)
        kernel_thread_table__visit(threads->kernel_threads, tid, ask_if_silent, placing);
    if (placing->is_silent) {
        look_at(threads, placing, placing->mounted ? mounted : thread);
        kernel_thread_table__visit(threads->kernel_threads, tid, stand_there_again, placing);
        kernel_thread_table__visit(threads->kernel_threads, tid, wait_there, placing);
    }
    (*jni)->DeleteLocalRef(jni, mounted);
}

static void place(struct java_threads *threads, JNIEnv *jni, jthread thread, void *context)
{
    struct placing *placing = context;
    pid_t tid = java_tid__of(&threads->java_tid, jni, thread);
    jthread mounted = tid > 0 ? virtual_threads__mounted_on(threads, jni, thread) : NULL;

    if (tid <= 0)
        return;
    look_at(threads, placing, mounted ? mounted : thread);
    if (mounted) {
        virtual_threads__place(threads, jni, mounted, tid, placing->epoch, placing->keys,
                               placing->count);
        (*jni)->DeleteLocalRef(jni, mounted);
    } else {
        kernel_thread_table__visit(threads->kernel_threads, tid, stand_there, placing);
    }
    kernel_thread_table__visit(threads->kernel_threads, tid, wait_there, placing);
}

static void visit_all(struct java_threads *threads, JNIEnv *jni, uint32_t epoch,
                      visit_java_thread visit)
{
    struct placing placing = {.epoch = epoch,
                              .frames = malloc(FRAMES_MAX * sizeof(*placing.frames)),
                              .keys = malloc(FRAMES_MAX * sizeof(*placing.keys))};

    if (placing.frames && placing.keys)
        java_threads__each(threads, jni, visit, &placing);
    free(placing.frames);
    free(placing.keys);
}

void standing_frames__place_all(struct java_threads *threads, JNIEnv *jni, uint32_t epoch)
{
    visit_all(threads, jni, epoch, place);
}

void standing_frames__place_silent(struct java_threads *threads, JNIEnv *jni, uint32_t epoch)
{
    visit_all(threads, jni, epoch, place_if_silent);
}
