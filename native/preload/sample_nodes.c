#include "native/preload/sample_nodes.h"

#include "native/tree/sample_tree.h"
#include "native/tree/sampled_path.h"

#define PARENTS_MOST 1000000u

static void add_frame(struct program_samples *samples, enum ledger_node_kind kind,
                      ledger_ref method)
{
    if (samples->frame_count < NAMED_NATIVE_FRAMES_MAX)
        samples->frames[samples->frame_count++] = (struct named_native_frame){kind, method};
}

/* The kernel's functions, if they are known, and under them one frame for all of it. */
static void name_kernel(struct program_samples *samples, const struct sample *sample)
{
    struct ledger_header *header = samples->ledger->header;
    bool found = sample->frame_count && sample_frame__kind(sample->frames) == FRAME_KERNEL;
    struct kernel_stack stack = {0};

    if (samples->clock == LEDGER_SAMPLE_CLOCK_PERF &&
        preload_threads__kernel_stack(samples->threads, sample->tid,
                                      sample->when_ns + samples->monotonic_ns, &stack))
        found = stack.in_kernel;
    if (!found)
        return;
    for (uint32_t i = 0; i < stack.count; i++) {
        const struct sampled_symbol *symbol =
            sampled_symbols__find_kernel(&samples->names->symbols, stack.frames[i]);

        if (symbol && symbol->method)
            add_frame(samples, NODE_KERNEL, symbol->method);
    }
    ledger__count(&header->kernel_samples, 1);
    ledger__count(&header->kernel_stacks, samples->frame_count != 0);
    add_frame(samples, NODE_KERNEL, 0);
}

static void name_frames(struct program_samples *samples, const struct sample *sample)
{
    samples->frame_count = 0;
    samples->inner_count = UINT32_MAX;
    name_kernel(samples, sample);
    for (uint32_t i = 0; i < sample->frame_count; i++) {
        const struct sample_frame *raw = &sample->frames[i];
        const struct sampled_symbol *symbol =
            sample_frame__kind(raw) == FRAME_NATIVE
                ? sampled_symbols__find(&samples->names->symbols, raw->where)
                : NULL;

        if (i == sample->inner_frames)
            samples->inner_count = samples->frame_count;
        if (symbol && symbol->method)
            add_frame(samples, NODE_NATIVE, symbol->method);
    }
    if (sample->inner_frames == sample->frame_count)
        samples->inner_count = samples->frame_count;
}

/* Where in its function the top frame was. */
static void count_place(const struct program_samples *samples, const struct sample *sample)
{
    const struct sample_frame *top = sample->frames;
    const struct sampled_symbol *symbol;
    struct sample_place place = {.bci = -1};

    if (sample->frame_count && sample_frame__kind(top) == FRAME_KERNEL)
        top++;
    if (top >= sample->frames + sample->frame_count)
        return;
    symbol = sampled_symbols__find(&samples->names->symbols, top->where);
    if (!symbol || !symbol->method)
        return;
    place.owner = symbol->method;
    place.first = &((struct ledger_method *)ledger__at(samples->ledger, symbol->method))->places;
    place.offset = top->where - symbol->begin;
    (void)sample_tree__count_place(samples->ledger, &place, false);
}

/* The node of its function below (folded), or the root: the one that was current has been folded.
 */
static ledger_ref folded_node(const struct program_samples *samples, const struct sample *sample,
                              const struct ledger_thread *thread)
{
    const struct ledger_node *top = ledger__at(samples->ledger, thread->folded), *node;
    ledger_ref ref = thread->folded ? top->first_child : 0;

    for (; ref; ref = node->next_sibling) {
        node = ledger__at(samples->ledger, ref);
        if (node->key == sample->key)
            return ref;
    }
    return thread->root;
}

/* While samples are merged nobody folds. */
static ledger_ref node_of(const struct program_samples *samples, const struct sample *sample,
                          const struct ledger_thread *thread)
{
    const struct ledger_node *node = ledger__at(samples->ledger, sample->node);

    if (!sample->thread)
        return thread->root;
    if (sample->key && (node->key != sample->key || ledger_node__kind(node) != NODE_EXACT ||
                        !sample_tree__is_of(samples->ledger, node, thread, PARENTS_MOST)))
        return folded_node(samples, sample, thread);
    return sample->node;
}

/* No stack has logical frames: the node itself, or the nearest node above it that is none. */
static const struct ledger_node *under_logical(const struct program_samples *samples,
                                               const struct ledger_node *node)
{
    for (unsigned steps = 0; ledger_key__is_logical(node->key) && steps < PARENTS_MOST; steps++)
        node = ledger__at(samples->ledger, node->parent);
    return node;
}

/* How many frames lie above the function's own in which the thread was, or run inside its logical
 * frame. If the walk came to the end and did not meet the function, its exit is about to be heard.
 */
static uint32_t frames_above(const struct program_samples *samples, const struct sample *sample,
                             const struct ledger_node *node)
{
    if (ledger_key__is_logical(node->key) && samples->inner_count != UINT32_MAX)
        return samples->inner_count;
    node = under_logical(samples, node);
    if (!node->method)
        return samples->frame_count;
    for (uint32_t i = 0; i < samples->frame_count; i++)
        if (samples->frames[i].method == node->method)
            return i;
    return sample->failure == SAMPLE_IS_WHOLE ? 0 : samples->frame_count;
}

static ledger_ref descend(struct program_samples *samples, ledger_ref node, uint32_t above)
{
    struct sampled_path path;

    sampled_path__begin(&path, &samples->pool, node);
    for (uint32_t i = above; node && i > 0; i--)
        node =
            sampled_path__call(&path, samples->frames[i - 1].kind, samples->frames[i - 1].method);
    return node;
}

static void add_below(struct program_samples *samples, const struct sample *sample,
                      struct ledger_thread *thread, ledger_ref node)
{
    const struct ledger_node *exact = ledger__at(samples->ledger, node);
    uint32_t above = frames_above(samples, sample, exact);
    ledger_ref top =
        above ? descend(samples, node, above)
              : sample_tree__child(&samples->pool, node, NODE_NATIVE, exact->method, true);

    if (!top) {
        ledger__count(&samples->ledger->header->dropped_samples, 1);
        __atomic_fetch_add(&thread->lost_samples, 1, __ATOMIC_RELAXED);
        return;
    }
    sample_time__count(&samples->merge_time, sample, thread, ledger__at(samples->ledger, top));
    count_place(samples, sample);
}

void sample_nodes__add(struct program_samples *samples, const struct sample *sample)
{
    struct ledger_header *header = samples->ledger->header;
    ledger_ref ref =
        sample->thread ? sample->thread : process_scan__row(samples->scan, sample->tid);
    struct ledger_thread *thread = ref ? ledger__at(samples->ledger, ref) : NULL;

    ledger__count(&header->samples, 1);
    if (sample->failure < WALK_FAILURE_COUNT)
        ledger__count(&header->walk_failures[sample->failure], 1);
    if (!thread || !thread->root) {
        ledger__count(&header->homeless_samples, 1);
    } else {
        name_frames(samples, sample);
        add_below(samples, sample, thread, node_of(samples, sample, thread));
        thread->moded_cpu_ns += sample->modes.cpu_ns;
        thread->moded_system_ns += sample->modes.system_ns;
    }
    if (thread && sample->thread)
        __atomic_store_n(&thread->merged_samples, thread->merged_samples + 1, __ATOMIC_RELEASE);
}
