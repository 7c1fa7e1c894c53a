/* The call trees, each in one piece, a node before its children. */
#include "tools/report/loader.h"
#include "tools/report/memory.h"
#include "tools/report/sample_shares.h"

#include <inttypes.h>
#include <string.h>

static uint32_t find_method(struct loader *loader, const struct ledger_node *record, ledger_ref ref)
{
    uint32_t kind = ledger_node__kind(record);

    if (kind == NODE_ROOT)
        return METHOD_OF_THREAD;
    if (kind == NODE_GAP)
        return METHOD_OF_GAP;
    if (kind == NODE_FOLDED)
        return METHOD_OF_FOLDED;
    if (kind == NODE_KERNEL && record->method == 0)
        return METHOD_OF_KERNEL;
    uint32_t index = ledger_reader__method(loader->reader, record->method)
                         ? loader__index_or_none(loader, record->method)
                         : REPORT_NONE;
    if (index != REPORT_NONE)
        return index;
    if (!loader__is_being_written(loader))
        loader__skip(loader, ref, "ref %" PRIu32 ", expected a method", record->method);
    return METHOD_UNKNOWN;
}

/* A logical frame and a root have samples instead. */
static bool has_calls(const struct ledger_node *record)
{
    return ledger_node__kind(record) != NODE_LOGICAL && ledger_node__kind(record) != NODE_ROOT;
}

static void load_base(struct loader *loader, const struct ledger_node *record, ledger_ref ref,
                      uint32_t node)
{
    struct report_model *model = loader->model;
    const struct ledger_side *side = NULL;

    if (record->side) {
        side = ledger_reader__side(loader->reader, record->side);
        if (side && side->node != ref)
            side = NULL;
        if (!side && !loader__is_being_written(loader))
            loader__skip(loader, ref, "ref %" PRIu32 ", expected the node's side record",
                         record->side);
    }
    model->base[COLUMN_CPU][node] = record->cpu_ns;
    model->base[COLUMN_CALLS][node] = has_calls(record) ? record->calls : 0;
    for (enum report_column column = COLUMN_SAMPLES; column < COLUMN_KERNEL; column++)
        if (model->base[column])
            model->base[column][node] = 0;
    if (model->base[COLUMN_SAMPLES] && !has_calls(record))
        model->base[COLUMN_SAMPLES][node] = record->samples;
    if (model->base[COLUMN_WALL])
        model->base[COLUMN_WALL][node] = ledger_node__wall_ns(record);
    model->threads[model->nodes[node].thread].wall_ns += ledger_node__wall_ns(record);
    for (size_t metric = 0; metric < METRIC_COUNT; metric++) {
        uint64_t *base = model->base[report_column__of_metric((enum ledger_metric)metric)];

        if (base)
            base[node] = side ? side->value[metric] : 0;
    }
}

/* Loads the samples of a sampled node, or of the exact parent if the record stands for the parent.
 */
static void load_samples(struct loader *loader, const struct ledger_node *record, uint32_t node)
{
    struct report_model *model = loader->model;
    struct report_samples *samples = &model->samples[node];

    samples->cpu += record->cpu_samples;
    samples->wall += record->wall_samples;
    samples->interpreted += record->interpreted;
    samples->seen_ns += record->seen_ns;
    model->base[COLUMN_SAMPLES][node] = samples->cpu + samples->wall;
    if (model->base[COLUMN_CPU_SAMPLES])
        model->base[COLUMN_CPU_SAMPLES][node] = samples->cpu;
    if (model->base[COLUMN_WALL_SAMPLES])
        model->base[COLUMN_WALL_SAMPLES][node] = samples->wall;
}

static void load_sampled(struct loader *loader, const struct ledger_node *record, uint32_t node)
{
    struct report_model *model = loader->model;

    for (size_t column = 0; column < COLUMN_COUNT; column++)
        if (model->base[column])
            model->base[column][node] = 0;
    load_samples(loader, record, node);
}

void loader__make_room(struct loader *loader, uint32_t count)
{
    struct report_model *model = loader->model;
    size_t needed = (size_t)model->node_count + count;

    if (needed <= loader->node_room)
        return;
    size_t room = loader->node_room;
    model->nodes = memory__grown(model->nodes, &room, needed, sizeof(*model->nodes));
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        size_t column_room = loader->node_room;

        if (model->columns >> column & 1)
            model->base[column] = memory__grown(model->base[column], &column_room, needed,
                                                sizeof(*model->base[column]));
    }
    size_t samples_room = loader->node_room;
    if (model->samples) {
        model->samples =
            memory__grown(model->samples, &samples_room, needed, sizeof(*model->samples));
        memset(&model->samples[loader->node_room], 0,
               (room - loader->node_room) * sizeof(*model->samples));
    }
    loader->node_room = room;
}

static uint32_t contexts_of(const struct ledger_node *record)
{
    if (ledger_node__kind(record) != NODE_FOLDED)
        return 0;
    return record->contexts;
}

/* The level of the deepest frame that a node stands for, where recursion was folded. */
static uint32_t level_max(const struct loader *loader, const struct ledger_node *record,
                          uint32_t level)
{
    uint32_t highest = ledger_node__level(record);

    if (ledger_node__is_sampled(record))
        return level + highest;
    bool is_known = loader->model->header.recursion && ledger_node__kind(record) == NODE_EXACT &&
                    highest != NODE_LEVEL_MAX;

    return is_known && highest > level ? highest : level;
}

/* Logical frames of a process with the agent are among its exact nodes. */
static enum ledger_node_kind kind_of(const struct ledger_node *record,
                                     const struct report_method *method)
{
    enum ledger_node_kind kind = (enum ledger_node_kind)ledger_node__kind(record);

    return kind == NODE_EXACT && report_method__is_logical(method) ? NODE_LOGICAL : kind;
}

static void enter(struct loader *loader, const struct ledger_node *record, ledger_ref ref,
                  uint32_t thread)
{
    struct report_model *model = loader->model;
    uint32_t method = find_method(loader, record, ref);

    loader__make_room(loader, 1);
    uint32_t node = model->node_count++;
    model->nodes[node] = (struct report_node){
        .parent = loader->depth ? loader->path[loader->depth - 1].node : REPORT_NONE,
        .method = method,
        .thread = thread,
        .depth = (uint32_t)loader->depth,
        .level = loader->active[method],
        .level_max = level_max(loader, record, loader->active[method]),
        .kind = kind_of(record, &model->methods[method]),
        .contexts = contexts_of(record),
    };
    loader->active[method]++;
    if (ledger_node__is_sampled(record))
        load_sampled(loader, record, node);
    else
        load_base(loader, record, ref, node);
    loader->index_of[ref] = node + 1;
    loader->path =
        memory__grown(loader->path, &loader->path_room, loader->depth + 1, sizeof(*loader->path));
    bool may_have_samples = model->samples && !ledger_node__is_sampled(record);
    loader->path[loader->depth++] = (struct load_step){
        .node = node,
        .ref = ref,
        .next_child = record->first_child,
        .next_sampled = may_have_samples ? record->sampled : 0,
    };
}

static void leave(struct loader *loader)
{
    struct report_model *model = loader->model;
    const struct load_step *step = &loader->path[--loader->depth];
    struct report_node *node = &model->nodes[step->node];

    node->end = model->node_count;
    loader->active[node->method]--;
    if (step->first_sampled && !sample_shares__note(loader, step->node, step->first_sampled))
        loader__skip(loader, step->ref, "more samples than can be counted");
}

/* True if a node of that kind may stand below the parent. Exact nodes hang under exact nodes.
 * Sampled nodes hang under exact nodes, in a list of their own, or under sampled nodes. */
static bool fits(const struct load_step *parent, const struct ledger_node *record, bool sampled)
{
    uint32_t kind = ledger_node__kind(record);

    if (kind < NODE_ROOT || (kind > NODE_KERNEL && kind != NODE_LOGICAL) ||
        (kind == NODE_ROOT) != !parent)
        return false;
    return ledger_node__is_sampled(record) == sampled;
}

/* The record of a node that may be entered below `parent` (NULL: as a root), or NULL. */
static const struct ledger_node *check_node(struct loader *loader, ledger_ref ref,
                                            const struct load_step *parent, bool sampled)
{
    const struct ledger_node *record = ledger_reader__node(loader->reader, ref);
    ledger_ref parent_ref = parent ? parent->ref : 0;
    uint32_t kind = record ? ledger_node__kind(record) : 0;

    if (kind == 0 && loader__is_being_written(loader))
        return NULL;
    if (!record)
        loader__skip(loader, ref, "expected a node");
    else if (!fits(parent, record, sampled))
        loader__skip(loader, ref, "node kind %" PRIu32 " where it cannot be", kind);
    else if (loader->index_of[ref])
        loader__skip(loader, ref, "a node that was met before");
    else if (record->parent != parent_ref)
        loader__skip(loader, ref, "a node with parent %" PRIu32 ", expected %" PRIu32,
                     record->parent, parent_ref);
    else
        return record;
    return NULL;
}

static bool stands_for_parent(const struct loader *loader, const struct load_step *parent,
                              const struct ledger_node *record)
{
    return ledger_node__is_self(record) &&
           !ledger_node_kind__is_sampled(loader->model->nodes[parent->node].kind);
}

/* The next child of the node on top of the path, exact ones first; false if there is none left. */
static bool step_down(struct loader *loader, uint32_t thread)
{
    struct report_model *model = loader->model;
    struct load_step *top = &loader->path[loader->depth - 1];
    bool below_sampled = ledger_node_kind__is_sampled(model->nodes[top->node].kind);
    bool sampled = !top->next_child;
    ledger_ref *link = sampled ? &top->next_sampled : &top->next_child;
    ledger_ref ref = *link;

    if (!ref)
        return false;
    const struct ledger_node *record = check_node(loader, ref, top, sampled || below_sampled);
    *link = record ? record->next_sibling : 0;
    if (!record)
        return true;
    if (sampled && !top->first_sampled)
        top->first_sampled = model->node_count;
    if (stands_for_parent(loader, top, record)) {
        load_samples(loader, record, top->node);
        loader->index_of[ref] = top->node + 1;
    } else {
        enter(loader, record, ref, thread);
    }
    return true;
}

static void load_tree(struct loader *loader, uint32_t thread, ledger_ref root,
                      uint64_t seen_wall_ns)
{
    struct report_model *model = loader->model;

    model->threads[thread].first_node = model->node_count;
    const struct ledger_node *record = root ? check_node(loader, root, NULL, false) : NULL;
    if (record)
        enter(loader, record, root, thread);
    while (loader->depth > 0)
        if (!step_down(loader, thread))
            leave(loader);
    sample_shares__settle(loader, thread, seen_wall_ns);
    model->threads[thread].end_node = model->node_count;
}

/* A killed process's virtual threads wait where they were last unmounted; in a ledger that was
 * settled this is in parked_ns. */
static uint64_t still_parked_ns(const struct report_model *model,
                                const struct ledger_thread *record, uint64_t asof_ns)
{
    uint64_t unprofiled_ns = model->header.unprofiled_wall_ns - record->unprofiled_wall_ns;
    uint64_t since_ns = record->unmounted_ns + unprofiled_ns;
    bool waits = record->kind == THREAD_VIRTUAL && record->unmounted_ns && !record->end_ns;

    return model->life == LEDGER_IS_ORPHAN && waits && asof_ns > since_ns ? asof_ns - since_ns : 0;
}

/* Records of threads that are over may be gone, or be those of other threads. */
static bool may_have_folded(const struct loader *loader)
{
    return loader->model->header.folded_threads != 0;
}

void loader__load_trees(struct loader *loader)
{
    struct report_model *model = loader->model;
    uint64_t asof_ns = report_model__profiled_to_ns(model);

    if (model->columns & COLUMN_BIT(COLUMN_SAMPLES))
        model->samples = memory__zeroed(1, sizeof(*model->samples));
    loader__make_room(loader, 1);
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(loader->reader, LEDGER_THREADS, ref)) != 0) {
        uint32_t thread = loader__index_or_none(loader, ref);

        if (thread == REPORT_NONE)
            continue;
        const struct ledger_thread *record = ledger_reader__thread(loader->reader, ref);
        load_tree(loader, thread, record->root, record->seen_wall_ns);
        const struct ledger_thread *parent = ledger_reader__thread(loader->reader, record->parent);
        model->threads[thread].parked_ns += still_parked_ns(model, record, asof_ns);
        if (parent && parent->java_id == record->parent_id)
            model->threads[thread].parent = loader__thread_or_none(loader, record->parent);
        else if (record->parent && !loader__is_being_written(loader) && !may_have_folded(loader))
            loader__skip(loader, ref, "ref %" PRIu32 ", expected the thread that started it",
                         record->parent);
    }
}
