#include "agent/sampling/sample_merge.h"

#include "agent/sampling/sample_places.h"
#include "native/tree/sample_tree.h"
#include "native/tree/sampled_path.h"

#include <stddef.h>
#include <string.h>

#define HOOK_CLASS_NAME "java.lang.TreadleHooks"
#define PARENTS_MOST    1000000u /* of a node; trees are as deep as stacks get */

void sample_merge__init(struct sample_merge *merge, struct ledger *ledger,
                        const struct process_scan *scan, const struct stack_walker *walker,
                        struct java_methods *methods, struct compiled_code *code)
{
    memset(merge, 0, offsetof(struct sample_merge, room));
    merge->ledger = ledger;
    merge->scan = scan;
    merge->pool.ledger = ledger;
    merge->positions.ledger = ledger;
    merge->tallies.ledger = ledger;
    merge->stacks.ledger = ledger;
    frame_names__init(&merge->names, ledger, walker, methods, code);
}

/* The record of a sample's thread. If neither the sample nor the scan has one, the thread may be
 * adopted and have had no event since: the sample then gets the position where it was placed. */
static struct ledger_thread *row_of(const struct sample_merge *merge, struct sample *sample)
{
    ledger_ref ref = sample->thread ? sample->thread : process_scan__row(merge->scan, sample->tid);
    struct absent_place place;
    struct ledger_thread *absent;

    if (ref)
        return ledger__at(merge->ledger, ref);
    if (!merge->threads || !kernel_thread_table__absent(merge->threads, sample->tid, &place))
        return NULL;
    sample->flags |= SAMPLE_OF_ABSENT;
    sample->thread = place.thread;
    sample->node = place.node;
    sample->charged_ns = place.charged_ns;
    sample->event_ns = unprofiled__less(
        unprofiled__cpu_ns(place.unprofiled, true, sample->event_ns), place.charged_ns);
    absent = ledger__at(merge->ledger, place.thread);
    __atomic_fetch_add(&absent->samples, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&absent->merged_samples, absent->merged_samples + 1, __ATOMIC_RELEASE);
    return absent;
}

static bool tells_position(const struct sample *sample)
{
    return sample->thread && (sample->charged_ns || sample->flags & SAMPLE_OF_ABSENT);
}

static bool is_method(const struct ledger_node *node)
{
    return ledger_node__kind(node) == NODE_EXACT && node->method;
}

/* No stack has logical frames: the node itself, or the nearest node above it that is none. */
static ledger_ref under_logical(const struct sample_merge *merge, ledger_ref ref)
{
    const struct ledger_node *node = ledger__at(merge->ledger, ref);

    for (; is_method(node) && ledger_key__is_logical(node->key);
         node = ledger__at(merge->ledger, ref))
        ref = node->parent;
    return ref;
}

/* Does the sample have all frames of its thread? */
static bool is_whole(const struct sample_merge *merge, const struct sample *sample)
{
    return sample->failure == SAMPLE_IS_WHOLE && !merge->room.frames.lacks_rest;
}

/* How many frames lie above the exact node's own: those of deeper recursion included. Above a
 * logical frame lie those that its pusher called, where that is known, or those above the method
 * that the frame stands below. */
static uint32_t frames_above(struct sample_merge *merge, const struct sample *sample,
                             ledger_ref ref)
{
    const struct named_frames *frames = &merge->room.frames;
    const struct ledger_node *node = ledger__at(merge->ledger, ref);
    struct java_method *method;

    if (frames->inner != UINT32_MAX && ref == sample->node && ledger_key__is_logical(node->key))
        return frames->inner;
    node = ledger__at(merge->ledger, under_logical(merge, ref));
    method = is_method(node) ? frame_names__method_of(&merge->names, node->method) : NULL;

    if (!method)
        return frames->count;
    for (uint32_t i = 0; i < frames->count; i++)
        if (frames->frame[i].java == method)
            return i;
    if (frames->above_unnamed <= frames->count)
        return frames->above_unnamed; /* that frame is the node's, as far as one can tell */
    /* The walk did not come so far: what it saw lies above. If it came to the end, an exit of the
     * node is about to be heard. */
    return is_whole(merge, sample) ? 0 : frames->count;
}

/* The youngest frame of an exact node's method, from frame `from` on; or frames->walked. */
static uint32_t frame_of(struct sample_merge *merge, const struct ledger_node *node, uint32_t from)
{
    const struct named_frames *frames = &merge->room.frames;
    const struct java_method *method = frame_names__method_of(&merge->names, node->method);
    uint32_t at = from;

    while (method && at < frames->walked && frames->frame[at].java != method)
        at++;
    return at < frames->walked ? at : frames->walked;
}

/* True if the path above a node fits a part of the stack. The part ends somewhere: if a node is not
 * in it, no node above that node may be in it either. The node's own frame is `at`. */
static bool is_path_to(struct sample_merge *merge, const struct ledger_node *node, uint32_t at)
{
    const uint32_t walked = merge->room.frames.walked;
    uint32_t depth = 0;
    bool is_beyond = false;

    for (node = ledger__at(merge->ledger, node->parent);
         is_method(node) && at + 1 < walked && depth < NAMED_FRAMES_MAX;
         node = ledger__at(merge->ledger, node->parent), depth++) {
        bool is_named = frame_names__method_of(&merge->names, node->method) != NULL;
        uint32_t found = is_named ? frame_of(merge, node, at + 1) : walked;

        if (found < walked && is_beyond)
            return false;
        is_beyond |= is_named && found == walked;
        at = found < walked ? found : at;
    }
    return true;
}

/* For a part of a stack: the sample's node, or the nearest node above it whose method is on the
 * stack and whose path fits. */
static ledger_ref standing_in_part(struct sample_merge *merge, ledger_ref ref, uint32_t *at)
{
    const struct named_frames *frames = &merge->room.frames;
    ledger_ref standing = under_logical(merge, ref);
    const struct ledger_node *node = ledger__at(merge->ledger, standing);

    while (is_method(node)) {
        *at = frame_of(merge, node, 0);
        if (*at < frames->walked && is_path_to(merge, node, *at))
            return ref;
        ref = node->parent;
        standing = under_logical(merge, ref);
        node = ledger__at(merge->ledger, standing);
    }
    return standing;
}

/* For a whole stack, which must have the whole path, oldest frame first: the sample's node, or the
 * parent of the first node that is not on the stack. Frames without a node may stand anywhere
 * between. */
static ledger_ref standing_in_whole(struct sample_merge *merge, ledger_ref ref, uint32_t *at)
{
    const struct named_frames *frames = &merge->room.frames;
    ledger_ref *path = merge->room.nodes;
    const struct ledger_node *node = ledger__at(merge->ledger, ref);
    uint32_t depth = 0;

    for (; is_method(node) && depth < NAMED_FRAMES_MAX; depth++) {
        path[depth] = ref;
        ref = node->parent;
        node = ledger__at(merge->ledger, ref);
    }
    for (*at = frames->walked; depth > 0; ref = path[--depth]) {
        const struct java_method *method;
        uint32_t below = *at;

        node = ledger__at(merge->ledger, path[depth - 1]);
        method = frame_names__method_of(&merge->names, node->method);
        while (method && below > 0 && frames->frame[below - 1].java != method)
            below--;
        if (method && below == 0)
            break;
        *at = method ? below - 1 : *at;
    }
    return ref;
}

/* The sample's node, or the nearest node above it that is on the stack. None: the walk reached
 * neither a node nor the end of the stack, or the stack has frames that cannot be named. */
static ledger_ref standing(struct sample_merge *merge, const struct sample *sample)
{
    const struct named_frames *frames = &merge->room.frames;
    bool whole = is_whole(merge, sample);
    uint32_t at = 0;
    ledger_ref ref = whole && frames->count < NAMED_FRAMES_MAX
                         ? standing_in_whole(merge, sample->node, &at)
                         : standing_in_part(merge, sample->node, &at);
    const struct ledger_node *node = ledger__at(merge->ledger, ref);

    if (!node->method && !whole)
        return 0;
    /* The frame without a name may be that of a node between `ref` and the sample's node. */
    if (ref != sample->node && frames->above_unnamed <= at)
        return 0;
    /* The methods inlined at the place where compiled code was interrupted are not certain. */
    if (ref != sample->node && frames->top_code && node->method && at < frames->top_count)
        return sample->node;
    return ref;
}

static bool is_hook(const struct named_frame *frame)
{
    return frame->java && strcmp(frame->java->class_name, HOOK_CLASS_NAME) == 0;
}

static bool is_coarse(const struct sample_merge *merge, const struct ledger_node *node)
{
    uint64_t calls;

    while (ledger_key__is_logical(node->key) && node->parent)
        node = ledger__at(merge->ledger, node->parent);
    calls = __atomic_load_n(&node->calls, __ATOMIC_RELAXED);
    return !node->method || !calls ||
           __atomic_load_n(&node->cpu_ns, __ATOMIC_RELAXED) / calls >= COARSE_CALL_NS;
}

/* The methods on the stack, and those on the exact path, for whoever compares the two. */
static void tally(struct sample_merge *merge, const struct sample *sample)
{
    const struct named_frames *frames = &merge->room.frames;
    const struct ledger_node *node = ledger__at(merge->ledger, sample->node);
    struct tallied_sample tallied = {.thread = sample->thread,
                                     .seen_ns = sample->seen_ns,
                                     .walked = merge->room.walked,
                                     .path = merge->room.path,
                                     .room = merge->room.standing,
                                     .is_coarse = is_coarse(merge, node),
                                     .is_whole = is_whole(merge, sample) &&
                                                 frames->count < NAMED_FRAMES_MAX};

    for (uint32_t i = 0; tallied.is_whole && i < frames->count; i++) {
        tallied.is_whole = !is_hook(&frames->frame[i]);
        if (frames->top_code && i + 1 == frames->top_count)
            tallied.inlined = tallied.walked_count;
        tallied.is_compiled |=
            frames->top_code && i + 1 == frames->top_count && frames->frame[i].java;
        if (frames->frame[i].java)
            tallied.walked[tallied.walked_count++] = frames->frame[i].java;
    }
    for (; tallied.is_whole && node->parent; node = ledger__at(merge->ledger, node->parent)) {
        struct java_method *method =
            node->method ? frame_names__method_of(&merge->names, node->method) : NULL;

        if (ledger_key__is_logical(node->key))
            continue;
        tallied.is_whole = tallied.path_count < NAMED_FRAMES_MAX && (method || !node->method);
        if (tallied.is_whole && method)
            tallied.path[tallied.path_count++] = method;
    }
    frame_tallies__add(&merge->tallies, &tallied);
}

static ledger_ref descend(struct sample_merge *merge, ledger_ref node, uint32_t above)
{
    const struct named_frames *frames = &merge->room.frames;
    struct sampled_path path;

    sampled_path__begin(&path, &merge->pool, node);
    for (uint32_t i = above; node && i > 0; i--) {
        const struct named_frame *frame = &frames->frame[i - 1];
        ledger_ref method = frame->java     ? frame_names__record_of(&merge->names, frame->java)
                            : frame->symbol ? frame->symbol->method
                                            : 0;

        if (!method && frame->kind != NODE_KERNEL)
            return 0;
        node = sampled_path__call(&path, frame->kind, method);
        if (node && frame->interpreted && !path.is_folded)
            sample_tree__add(&((struct ledger_node *)ledger__at(merge->ledger, node))->interpreted,
                             1);
    }
    return node;
}

static void add_below(struct sample_merge *merge, const struct sample *sample,
                      struct ledger_thread *thread, ledger_ref node)
{
    const struct named_frames *frames = &merge->room.frames;
    const struct ledger_node *exact = ledger__at(merge->ledger, node);
    uint32_t above = frames_above(merge, sample, node);
    struct ledger_node *top;

    node = above ? descend(merge, node, above)
                 : sample_tree__child(&merge->pool, node, NODE_SAMPLED, exact->method, true);
    if (!node) {
        ledger__count(&merge->ledger->header->dropped_samples, 1);
        __atomic_fetch_add(&thread->lost_samples, !(sample->flags & SAMPLE_IS_WALL),
                           __ATOMIC_RELAXED);
        return;
    }
    top = ledger__at(merge->ledger, node);
    sample_time__count(&merge->time, sample, thread, top);
    if (!above && frames->count && frames->frame[0].interpreted)
        sample_tree__add(&top->interpreted, 1);
    sample_places__count(&merge->names, frames, sample);
}

/* The node of its method below (folded), or the root: the one that was current has been folded. */
static ledger_ref folded_node(const struct sample_merge *merge, const struct sample *sample,
                              const struct ledger_thread *thread)
{
    const struct ledger_node *top = ledger__at(merge->ledger, thread->folded), *node;
    ledger_ref ref = thread->folded ? top->first_child : 0;

    for (; ref; ref = node->next_sibling) {
        node = ledger__at(merge->ledger, ref);
        if (node->key == sample->key)
            return ref;
    }
    return thread->root;
}

/* While this thread merges nobody folds. */
static void find_node(const struct sample_merge *merge, struct sample *sample,
                      const struct ledger_thread *thread)
{
    const struct ledger_node *node = ledger__at(merge->ledger, sample->node);

    if (sample->thread && sample->key &&
        (node->key != sample->key || ledger_node__kind(node) != NODE_EXACT ||
         !sample_tree__is_of(merge->ledger, node, thread, PARENTS_MOST)))
        sample->node = folded_node(merge, sample, thread);
}

/* True if the node stands below (folded): the position of its calls is not known. */
static bool is_folded(const struct sample_merge *merge, const struct sample *sample)
{
    const struct ledger_node *node = ledger__at(merge->ledger, sample->node);
    const struct ledger_node *parent = ledger__at(merge->ledger, node->parent);

    return node->parent && ledger_node__kind(parent) == NODE_FOLDED;
}

/* The exact node that a sample belongs to. */
static ledger_ref node_of(struct sample_merge *merge, const struct sample *sample,
                          const struct ledger_thread *thread)
{
    ledger_ref stands;

    if (!tells_position(sample) || is_folded(merge, sample))
        return sample->thread ? sample->node : thread->root;
    stands = standing(merge, sample);
    return stands && position_watch__note(&merge->positions, sample, stands) ? stands
                                                                             : sample->node;
}

/* `sample` has the frames. `facts` is a copy without them, whose thread and node were brought up to
 * date since. */
static void read_frames(struct sample_merge *merge, const struct sample *facts,
                        const struct sample *sample, bool is_virtual)
{
    struct named_frames *frames = &merge->room.frames;

    frame_names__read(&merge->names, sample, is_virtual, frames);
    if (facts->thread && frames->lacks_rest)
        virtual_stacks__complete(&merge->stacks, &merge->names, facts, frames);
    else if (facts->thread && is_virtual && facts->failure == SAMPLE_IS_WHOLE)
        virtual_stacks__note_sampled(&merge->stacks, facts, frames);
}

void sample_merge__add(void *context, const struct sample *sample)
{
    struct sample_merge *merge = context;
    struct ledger_header *header = merge->ledger->header;
    struct sample facts = *sample; /* but for its frames */
    struct ledger_thread *thread = row_of(merge, &facts);

    if (sample->flags & SAMPLE_IS_STACK) {
        virtual_stacks__note_recorded(&merge->stacks, sample);
        __atomic_store_n(&thread->merged_samples, thread->merged_samples + 1, __ATOMIC_RELEASE);
        return;
    }
    ledger__count(&header->samples, 1);
    if (sample->failure < WALK_FAILURE_COUNT)
        ledger__count(&header->walk_failures[sample->failure], 1);
    if (!thread || !thread->root) {
        ledger__count(&header->homeless_samples, 1);
    } else {
        compiled_code__tidy(merge->names.code);
        find_node(merge, &facts, thread);
        read_frames(merge, &facts, sample, thread->kind == THREAD_VIRTUAL);
        if (tells_position(&facts) && !(facts.flags & SAMPLE_IS_WALL) && !is_folded(merge, &facts))
            tally(merge, &facts);
        merge->positions.threads = merge->threads;
        add_below(merge, sample, thread, node_of(merge, &facts, thread));
        thread->moded_cpu_ns += sample->modes.cpu_ns;
        thread->moded_system_ns += sample->modes.system_ns;
    }
    if (thread && sample->thread)
        __atomic_store_n(&thread->merged_samples, thread->merged_samples + 1, __ATOMIC_RELEASE);
}

size_t sample_merge__bytes(struct sample_merge *merge)
{
    return frame_names__bytes(&merge->names) + virtual_stacks__bytes(&merge->stacks);
}
