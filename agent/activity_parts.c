#include "agent/activity_parts.h"

#include "agent/activity_hooks.h"
#include "agent/agent.h"
#include "agent/hooks.h"
#include "native/thread/kernel_thread_events.h"
#include "native/thread/open_calls.h"
#include "native/thread/thread_parts.h"

#include <sys/random.h>

#define ID_WORDS   2
#define PART_WORDS 3
#define TOKEN_LOW  UINT64_C(0xffffffff)

/* events=jvmti: a token names the frame's node, which a frame around it may have, too, that has a
 * part where this one has none. */
#define TOKEN_HAS_PART (UINT64_C(1) << 63)

uint64_t activity_parts__token_of(const struct kernel_thread *mine, jlong node)
{
    return (mine->tree.token & ~TOKEN_LOW) | ((uint64_t)node & TOKEN_LOW);
}

static bool begin_part(struct kernel_thread *mine, jlong high, jlong low, uint64_t token)
{
    const uint64_t id[ID_WORDS] = {(uint64_t)high, (uint64_t)low};

    return thread_parts__begin(mine, &treadle_agent.chain_parts, id, 0, token);
}

/* Between two looks at the kernel's clock a node may be charged too much, which the next look takes
 * back: with a look before a part and one at its end, a part has what its node has. */
static struct kernel_thread *look(JNIEnv *jni, uintptr_t place)
{
    struct kernel_thread *mine = hooks__ready(jni, place, true);

    if (mine)
        kernel_thread__charge_slowly(mine);
    return mine;
}

static bool has_part(const struct kernel_thread *mine, jlong token, jlong high, jlong low)
{
    return mine && mine->thread && token != HOOK_TOKEN_NONE && (high | low) != 0;
}

static jlong JNICALL push_part(JNIEnv *jni, jclass class, jint frame, jlong high, jlong low)
{
    struct kernel_thread *mine = look(jni, (uintptr_t)__builtin_frame_address(0));
    jlong token = activity_hooks__push(jni, class, frame);

    if (has_part(mine, token, high, low))
        (void)begin_part(mine, high, low, (uint64_t)token);
    return token;
}

static jlong JNICALL push_named_part(JNIEnv *jni, jclass class, jint frame, jlong high, jlong low)
{
    struct kernel_thread *mine = look(jni, (uintptr_t)__builtin_frame_address(0));
    jlong token = activity_hooks__push_named(jni, class, frame);

    if (has_part(mine, token, high, low) &&
        begin_part(mine, high, low, activity_parts__token_of(mine, token)))
        token = (jlong)((uint64_t)token | TOKEN_HAS_PART);
    return token;
}

/* The slow way, which looks at parts. */
static void JNICALL pop_part(JNIEnv *jni, jclass class, jlong token)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jni, (void)class;
    if (!mine)
        return;
    if (kernel_thread__counts(mine))
        kernel_thread__charge_slowly(mine);
    activity_hooks__pop_slowly(mine, (uint64_t)token);
}

/* As kernel_thread__leave_node: the part and its node end with one charge. */
void activity_parts__leave_node(struct kernel_thread *mine, ledger_ref node)
{
    kernel_thread__charge_slowly(mine);
    open_calls__end_part(mine, node);
    (void)call_tree__leave_node(&mine->tree, node);
    kernel_thread__publish(mine);
}

static void JNICALL pop_named_part(JNIEnv *jni, jclass class, jlong token)
{
    struct kernel_thread *mine = hooks__ready(jni, (uintptr_t)__builtin_frame_address(0), true);

    (void)class;
    if (!mine || !activity_hooks__is_of_epoch(mine, (jlong)((uint64_t)token & ~TOKEN_HAS_PART)))
        return;
    if ((uint64_t)token & TOKEN_HAS_PART)
        activity_parts__leave_node(mine, (ledger_ref)((uint64_t)token & TOKEN_LOW));
    else
        kernel_thread__leave_node(mine, (ledger_ref)((uint64_t)token & TOKEN_LOW));
}

static jlongArray array_of(JNIEnv *jni, const jlong *values, jsize count)
{
    jlongArray array = (*jni)->NewLongArray(jni, count);

    if (array)
        (*jni)->SetLongArrayRegion(jni, array, 0, count, values);
    return array;
}

/* The id of the thread's innermost frame that has one, and how many logical frames there are down
 * to it; NULL: none has an id. */
static jlongArray JNICALL innermost_part(JNIEnv *jni, jclass class)
{
    struct kernel_thread *mine = hooks__ready(jni, (uintptr_t)__builtin_frame_address(0), true);
    const struct ledger_part *part = mine ? open_calls__part(mine) : NULL;

    (void)class;
    return part ? array_of(jni,
                           (const jlong[PART_WORDS]){(jlong)part->id[0], (jlong)part->id[1],
                                                     (jlong)part->depth},
                           PART_WORDS)
                : NULL;
}

static jlongArray JNICALL new_id(JNIEnv *jni, jclass class)
{
    jlong id[ID_WORDS] = {0};

    (void)class;
    if (getrandom(id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id) || (id[0] | id[1]) == 0)
        return NULL;
    return array_of(jni, id, ID_WORDS);
}

void activity_parts__bind(JNIEnv *jni, jclass class, jboolean named)
{
    const JNINativeMethod natives[] = {
        {"pushPart0", "(IJJ)J", (void *)(uintptr_t)(named ? push_named_part : push_part)},
        {"popPart0", "(J)V", (void *)(uintptr_t)(named ? pop_named_part : pop_part)},
        {"part0", "()[J", (void *)(uintptr_t)innermost_part},
        {"newId0", "()[J", (void *)(uintptr_t)new_id},
    };

    if ((*jni)->RegisterNatives(jni, class, natives, sizeof(natives) / sizeof(*natives)) != 0)
        (*jni)->ExceptionClear(jni); /* a class from before there were ids */
}
