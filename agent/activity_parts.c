#include "agent/activity_parts.h"

#include "agent/activity_hooks.h"
#include "agent/agent.h"
#include "agent/hooks.h"
#include "native/activity/logical_frames.h"
#include "native/thread/open_calls.h"

#include <sys/random.h>

#define PATH_STEPS 100000u /* nodes that are looked at in search of logical frames */
#define ID_WORDS   2
#define PART_WORDS 3
#define TOKEN_LOW  UINT64_C(0xffffffff)

static ledger_ref name_of(const struct ledger *ledger, const struct ledger_thread *thread)
{
    const struct ledger_rename *rename = ledger__at(ledger, thread->renames);

    return thread->renames ? rename->name : thread->name;
}

/* The logical frames of the current path. */
static void describe_path(const struct call_tree *tree, struct ledger_part *part)
{
    const struct ledger_node *node = tree->current;

    for (unsigned steps = 0; node && steps < PATH_STEPS; steps++) {
        if (ledger_key__is_logical(node->key)) {
            if (part->depth < PART_FRAMES)
                part->path[part->depth] = node->method;
            part->depth++;
        }
        node = node->parent ? call_tree__node(tree, node->parent) : NULL;
    }
}

static void begin_part(struct kernel_thread *mine, uint64_t high, uint64_t low, uint64_t token)
{
    const struct ledger *ledger = &treadle_agent.ledger;
    struct ledger_part part = {
        .id = {high, low},
        .begin_ns = clock_ns(CLOCK_MONOTONIC),
        .java_id = mine->thread->java_id,
        .tid = mine->record->tid,
        .pid = ledger->header->pid,
        .flags = mine->thread->kind == THREAD_VIRTUAL ? PART_VIRTUAL : 0,
        .thread = name_of(ledger, mine->thread),
    };

    describe_path(&mine->tree, &part);
    (void)open_calls__begin_part(mine, &treadle_agent.chain_parts, &part, token);
}

/* Where frames have no tokens, a part has one that says its frame's node. */
static uint64_t token_of(const struct kernel_thread *mine, jlong node)
{
    return (mine->tree.token & ~TOKEN_LOW) | ((uint64_t)node & TOKEN_LOW);
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
        begin_part(mine, (uint64_t)high, (uint64_t)low, (uint64_t)token);
    return token;
}

static jlong JNICALL push_named_part(JNIEnv *jni, jclass class, jint frame, jlong high, jlong low)
{
    struct kernel_thread *mine = look(jni, (uintptr_t)__builtin_frame_address(0));
    jlong token = activity_hooks__push_named(jni, class, frame);

    if (has_part(mine, token, high, low))
        begin_part(mine, (uint64_t)high, (uint64_t)low, token_of(mine, token));
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
static void JNICALL pop_named_part(JNIEnv *jni, jclass class, jlong token)
{
    struct kernel_thread *mine = hooks__ready(jni, (uintptr_t)__builtin_frame_address(0), true);
    uint32_t node = (uint32_t)((uint64_t)token & TOKEN_LOW);

    (void)class;
    if (!mine || !activity_hooks__is_of_epoch(mine, token))
        return;
    kernel_thread__charge_slowly(mine);
    open_calls__end_part(mine, node);
    (void)call_tree__leave_node(&mine->tree, node);
    kernel_thread__publish(mine);
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
