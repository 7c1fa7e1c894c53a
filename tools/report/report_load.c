/* From a ledger's records to a report's arrays. */
#include "native/thread_fold.h"
#include "tools/report/memory.h"
#include "tools/report/report_model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RENAMES_MAX 1000u /* a longer list is a circle */

/* A node on the path from the root to where the walk stands. */
struct step {
    uint32_t node;
    ledger_ref ref;
    ledger_ref next_child;
};

struct loader {
    const struct ledger_reader *reader;
    struct report_model *model;
    uint32_t *index_of; /* by ref: 1 + index of the method, thread or node it became; 0: none */
    ledger_ref refs;    /* how many there can be */
    size_t node_room;
    uint32_t *active; /* by method: how often it is on the path */
    struct step *path;
    size_t path_room;
    size_t depth;
};

__attribute__((format(printf, 3, 4))) static void skip(struct loader *loader, ledger_ref ref,
                                                       const char *format, ...)
{
    struct report_model *model = loader->model;
    if (model->skipped++ > 0)
        return;
    int at = snprintf(model->skipped_where, sizeof(model->skipped_where), "byte %" PRIu64 ": ",
                      (uint64_t)ref * LEDGER_CELL_BYTES);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->skipped_where + at, sizeof(model->skipped_where) - (size_t)at, format,
              arguments);
    va_end(arguments);
}

/* What another process is writing this moment may not be all there yet: no damage. */
static bool is_being_written(const struct loader *loader)
{
    return loader->model->life == LEDGER_IS_LIVE;
}

/* Records of threads that are over may be gone, or be those of other threads. */
static bool may_have_folded(const struct loader *loader)
{
    const struct ledger_header *header = &loader->model->header;
    return !header->fold_none && header->kept_threads >= THREADS_KEPT;
}

static struct text load_text(struct loader *loader, ledger_ref ref, ledger_ref user)
{
    size_t length;
    const char *bytes = ledger_reader__string(loader->reader, ref, &length);
    if (bytes)
        return text__from_java(&loader->model->texts, bytes, length);
    if (ref != 0 && !is_being_written(loader))
        skip(loader, user, "ref %" PRIu32 ", expected a string", ref);
    return (struct text){"", 0};
}

static uint32_t count_records(const struct loader *loader, enum ledger_table table,
                              ledger_ref *last)
{
    uint32_t count = 0;
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(loader->reader, table, ref)) != 0) {
        count++;
        *last = ref > *last ? ref : *last;
    }
    return count;
}

static void load_methods(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref last = 0;
    uint32_t count = METHOD_FIRST_REAL + count_records(loader, LEDGER_METHODS, &last);
    model->methods = memory__zeroed(count, sizeof(*model->methods));
    const struct text none = {"", 0};
    const struct text names[METHOD_FIRST_REAL] = {
        [METHOD_OF_THREAD] = {"(thread)", 8},
        [METHOD_OF_GAP] = {"(between Java threads)", 22},
        [METHOD_UNKNOWN] = {"(unknown method)", 16},
    };
    for (uint32_t i = 0; i < METHOD_FIRST_REAL; i++)
        model->methods[i] = (struct report_method){none, names[i], none, none, 0, false};
    model->method_count = METHOD_FIRST_REAL;
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(loader->reader, LEDGER_METHODS, ref)) != 0) {
        const struct ledger_method *record = ledger_reader__method(loader->reader, ref);
        if (record->flags & METHOD_DEAD || record->name == 0)
            continue;
        model->methods[model->method_count++] = (struct report_method){
            .class_name = load_text(loader, record->class_name, ref),
            .name = load_text(loader, record->name, ref),
            .signature = load_text(loader, record->signature, ref),
            .source = load_text(loader, record->source, ref),
            .flags = record->flags,
        };
        loader->index_of[ref] = model->method_count;
    }
    report_methods__find_overloads(model->methods, model->method_count);
    loader->active = memory__zeroed(model->method_count, sizeof(*loader->active));
}

static void load_renames(struct loader *loader, struct report_thread *thread, ledger_ref newest)
{
    ledger_ref names[RENAMES_MAX];
    size_t count = 0;
    while (newest != 0 && count < RENAMES_MAX) {
        const struct ledger_rename *rename = ledger_reader__rename(loader->reader, newest);
        if (!rename) {
            if (!is_being_written(loader))
                skip(loader, newest, "expected a rename");
            break;
        }
        names[count++] = rename->name;
        newest = rename->older;
    }
    if (count == RENAMES_MAX)
        skip(loader, newest, "more than %u renames of one thread", RENAMES_MAX);
    thread->renames = memory__zeroed(count, sizeof(*thread->renames));
    thread->rename_count = count;
    for (size_t i = 0; i < count; i++)
        thread->renames[i] = load_text(loader, names[count - 1 - i], newest);
}

static void load_thread(struct loader *loader, const struct ledger_thread *record, ledger_ref ref)
{
    struct report_model *model = loader->model;
    struct report_thread *thread = &model->threads[model->thread_count++];
    *thread = (struct report_thread){
        .name = load_text(loader, record->name, ref),
        .group_name = record->group_name ? load_text(loader, record->group_name, ref)
                                         : (struct text){NULL, 0},
        .parent = REPORT_NONE,
        .kind = (enum ledger_thread_kind)record->kind,
        .flags = record->flags,
        .java_id = record->java_id,
        .start_ns = record->start_ns,
        .end_ns = record->end_ns,
        .lost_enters = record->lost_enters,
        .members = record->flags & THREAD_GROUP ? record->members : 1,
        .mounts = record->mounts,
        .pinned = record->pinned,
        .parked_ns = record->parked_ns,
        .tid_count = record->tid_count,
    };
    model->header.dropped_enters += record->lost_enters;
    memcpy(thread->tids, record->tids, sizeof(thread->tids));
    uint64_t known = model->header.metrics_totals | model->header.metrics_charged;
    for (size_t metric = 0; metric < METRIC_COUNT; metric++)
        if (known >> metric & 1)
            thread->totals[metric] = record->totals[metric];
    load_renames(loader, thread, record->renames);
    loader->index_of[ref] = model->thread_count;
}

static void load_threads(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref last = 0;
    uint32_t count = count_records(loader, LEDGER_THREADS, &last);
    model->threads = memory__zeroed(count, sizeof(*model->threads));
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(loader->reader, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *record = ledger_reader__thread(loader->reader, ref);
        if (record->flags & THREAD_HIDDEN)
            continue;
        if (record->kind >= THREAD_PLATFORM && record->kind <= THREAD_NATIVE)
            load_thread(loader, record, ref);
        else if (record->kind || (record->root && !is_being_written(loader)))
            skip(loader, ref, "thread kind %" PRIu32 ", expected 1 to 5", record->kind);
    }
}

/* Refs that the tables' own walk has seen are in index_of; others are no such records. */
static uint32_t index_or_none(const struct loader *loader, ledger_ref ref)
{
    return ref < loader->refs && loader->index_of[ref] ? loader->index_of[ref] - 1 : REPORT_NONE;
}

/* A damaged ref may be a method's, whose index is no thread's. */
static uint32_t thread_or_none(const struct loader *loader, ledger_ref ref)
{
    return ledger_reader__thread(loader->reader, ref) ? index_or_none(loader, ref) : REPORT_NONE;
}

static void load_kernel_threads(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref ref = 0, last = 0;
    uint32_t count = count_records(loader, LEDGER_KERNEL_THREADS, &last);
    model->kernel_threads = memory__zeroed(count, sizeof(*model->kernel_threads));
    while ((ref = ledger_reader__next(loader->reader, LEDGER_KERNEL_THREADS, ref)) != 0) {
        const struct ledger_kernel_thread *record =
            ledger_reader__kernel_thread(loader->reader, ref);
        if (record->tid && record->kernel_cpu_ns)
            model->kernel_threads[model->kernel_thread_count++] = (struct report_kernel_thread){
                .tid = record->tid,
                .thread = thread_or_none(loader, record->thread),
                .kernel_cpu_ns = record->kernel_cpu_ns,
                .charged_cpu_ns = record->charged_cpu_ns,
            };
    }
}

static uint32_t find_method(struct loader *loader, const struct ledger_node *record, ledger_ref ref)
{
    uint32_t kind = ledger_node__kind(record);
    if (kind == NODE_ROOT)
        return METHOD_OF_THREAD;
    if (kind == NODE_GAP)
        return METHOD_OF_GAP;
    uint32_t index = ledger_reader__method(loader->reader, record->method)
                         ? index_or_none(loader, record->method)
                         : REPORT_NONE;
    if (index != REPORT_NONE)
        return index;
    if (!is_being_written(loader))
        skip(loader, ref, "ref %" PRIu32 ", expected a method", record->method);
    return METHOD_UNKNOWN;
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
        if (!side && !is_being_written(loader))
            skip(loader, ref, "ref %" PRIu32 ", expected the node's side record", record->side);
    }
    model->base[COLUMN_CPU][node] = record->cpu_ns;
    model->base[COLUMN_CALLS][node] = record->calls;
    if (model->base[COLUMN_WALL])
        model->base[COLUMN_WALL][node] = ledger_node__wall_ns(record);
    model->threads[model->nodes[node].thread].wall_ns += ledger_node__wall_ns(record);
    for (size_t metric = 0; metric < METRIC_COUNT; metric++) {
        uint64_t *base = model->base[report_column__of_metric((enum ledger_metric)metric)];
        if (base)
            base[node] = side ? side->value[metric] : 0;
    }
}

static void make_room(struct loader *loader)
{
    struct report_model *model = loader->model;
    if (model->node_count < loader->node_room)
        return;
    size_t needed = (size_t)model->node_count + 1;
    size_t room = loader->node_room;
    model->nodes = memory__grown(model->nodes, &room, needed, sizeof(*model->nodes));
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        size_t column_room = loader->node_room;
        if (model->columns >> column & 1)
            model->base[column] = memory__grown(model->base[column], &column_room, needed,
                                                sizeof(*model->base[column]));
    }
    loader->node_room = room;
}

static void enter(struct loader *loader, const struct ledger_node *record, ledger_ref ref,
                  uint32_t thread)
{
    struct report_model *model = loader->model;
    uint32_t method = find_method(loader, record, ref);
    make_room(loader);
    uint32_t node = model->node_count++;
    model->nodes[node] = (struct report_node){
        .parent = loader->depth ? loader->path[loader->depth - 1].node : REPORT_NONE,
        .method = method,
        .thread = thread,
        .depth = (uint32_t)loader->depth,
        .level = loader->active[method]++,
        .kind = (enum ledger_node_kind)ledger_node__kind(record),
    };
    load_base(loader, record, ref, node);
    loader->index_of[ref] = node + 1;
    loader->path =
        memory__grown(loader->path, &loader->path_room, loader->depth + 1, sizeof(*loader->path));
    loader->path[loader->depth++] = (struct step){node, ref, record->first_child};
}

static void leave(struct loader *loader)
{
    struct report_model *model = loader->model;
    struct report_node *node = &model->nodes[loader->path[--loader->depth].node];
    node->end = model->node_count;
    loader->active[node->method]--;
}

/* The record of a node that may be entered below `parent` (none: as a root), or NULL. */
static const struct ledger_node *check_node(struct loader *loader, ledger_ref ref,
                                            ledger_ref parent)
{
    const struct ledger_node *record = ledger_reader__node(loader->reader, ref);
    uint32_t kind = record ? ledger_node__kind(record) : 0;
    if (kind == 0 && is_being_written(loader))
        return NULL;
    if (!record)
        skip(loader, ref, "expected a node");
    else if (kind < NODE_ROOT || kind > NODE_NATIVE || (kind == NODE_ROOT) != (parent == 0))
        skip(loader, ref, "node kind %" PRIu32 " where it cannot be", kind);
    else if (loader->index_of[ref])
        skip(loader, ref, "a node that was met before");
    else if (record->parent != parent)
        skip(loader, ref, "a node with parent %" PRIu32 ", expected %" PRIu32, record->parent,
             parent);
    else
        return record;
    return NULL;
}

static void load_tree(struct loader *loader, uint32_t thread, ledger_ref root)
{
    struct report_model *model = loader->model;
    model->threads[thread].first_node = model->node_count;
    const struct ledger_node *record = root ? check_node(loader, root, 0) : NULL;
    if (record)
        enter(loader, record, root, thread);
    while (loader->depth > 0) {
        struct step *top = &loader->path[loader->depth - 1];
        ledger_ref ref = top->next_child;
        if (!ref) {
            leave(loader);
            continue;
        }
        record = check_node(loader, ref, top->ref);
        top->next_child = record ? record->next_sibling : 0;
        if (record)
            enter(loader, record, ref, thread);
    }
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

static void load_trees(struct loader *loader)
{
    struct report_model *model = loader->model;
    uint64_t asof_ns = report_model__profiled_to_ns(model);
    make_room(loader);
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(loader->reader, LEDGER_THREADS, ref)) != 0) {
        uint32_t thread = index_or_none(loader, ref);
        if (thread == REPORT_NONE)
            continue;
        const struct ledger_thread *record = ledger_reader__thread(loader->reader, ref);
        load_tree(loader, thread, record->root);
        const struct ledger_thread *parent = ledger_reader__thread(loader->reader, record->parent);
        model->threads[thread].parked_ns += still_parked_ns(model, record, asof_ns);
        if (parent && parent->java_id == record->parent_id)
            model->threads[thread].parent = thread_or_none(loader, record->parent);
        else if (record->parent && !is_being_written(loader) && !may_have_folded(loader))
            skip(loader, ref, "ref %" PRIu32 ", expected the thread that started it",
                 record->parent);
    }
}

/* No thread starts one of those that it comes from: who is said to has no known parent. */
static void open_circles(struct loader *loader)
{
    struct report_model *model = loader->model;
    /* By thread: 1 + the thread whose line of parents passed here first. */
    uint32_t *passed = memory__zeroed(model->thread_count, sizeof(*passed));
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(loader->reader, LEDGER_THREADS, ref)) != 0) {
        uint32_t first = index_or_none(loader, ref);
        for (uint32_t at = first; at != REPORT_NONE && !passed[at];) {
            uint32_t parent = model->threads[at].parent;
            passed[at] = first + 1;
            if (parent != REPORT_NONE && passed[parent] == first + 1) {
                skip(loader, ref, "threads that started each other in a circle");
                model->threads[parent].parent = REPORT_NONE;
                break;
            }
            at = parent;
        }
    }
    free(passed);
}

/* From a thread's begin to its end, without the time that nothing was profiled. How much of that
 * came before the thread began is known only if it began after the last start: else this is the
 * least that it can be. */
static uint64_t profiled_life_ns(const struct report_model *model,
                                 const struct report_thread *thread, uint64_t asof_ns)
{
    const struct ledger_header *header = &model->header;
    bool stopped = ledger_header__is_stopped(header);
    bool after_pauses = !stopped && thread->start_ns >= header->since_ns;
    uint64_t pauses_ns = after_pauses ? 0 : header->unprofiled_wall_ns;
    uint64_t end_ns = thread->end_ns ? thread->end_ns : asof_ns;
    if (stopped && end_ns > asof_ns)
        end_ns = asof_ns;
    uint64_t life_ns = end_ns > thread->start_ns ? end_ns - thread->start_ns : 0;
    return life_ns > pauses_ns ? life_ns - pauses_ns : 0;
}

static void sum_up(struct report_model *model)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        if (!model->base[column])
            continue;
        uint64_t *cum = memory__zeroed(model->node_count, sizeof(*cum));
        if (model->node_count)
            memcpy(cum, model->base[column], model->node_count * sizeof(*cum));
        for (uint32_t i = model->node_count; i-- > 0;)
            if (model->nodes[i].parent != REPORT_NONE)
                cum[model->nodes[i].parent] += cum[i];
        model->cum[column] = cum;
    }
    uint64_t asof_ns = report_model__profiled_to_ns(model);
    for (uint32_t i = 0; i < model->thread_count; i++) {
        struct report_thread *thread = &model->threads[i];
        uint64_t life_ns = profiled_life_ns(model, thread, asof_ns);
        /* The tree's sum has what came after the thread's end too; a killed process's has not what
         * was never charged. */
        if (life_ns > thread->wall_ns)
            thread->wall_ns = life_ns;
        if (thread->first_node < thread->end_node) {
            thread->cpu_ns = model->cum[COLUMN_CPU][thread->first_node];
            thread->calls = model->cum[COLUMN_CALLS][thread->first_node];
        }
    }
}

/* One more than the last ref of any record that index_of must know. */
static ledger_ref count_refs(const struct loader *loader)
{
    ledger_ref last = 0;
    count_records(loader, LEDGER_METHODS, &last);
    count_records(loader, LEDGER_THREADS, &last);
    count_records(loader, LEDGER_NODES, &last);
    return last + 1;
}

struct report_model *report_model__load(const struct ledger_reader *reader, uint64_t columns)
{
    struct report_model *model = memory__zeroed(1, sizeof(*model));
    model->header = *ledger_reader__header(reader);
    model->life = ledger_reader__life(reader);
    model->columns = (columns | COLUMN_BIT(COLUMN_CPU) | COLUMN_BIT(COLUMN_CALLS)) &
                     report_columns__of_nodes(&model->header);
    model->skipped = ledger_reader__skipped(reader);
    snprintf(model->skipped_where, sizeof(model->skipped_where), "%s",
             ledger_reader__skipped_where(reader));

    struct loader loader = {.reader = reader, .model = model};
    loader.refs = count_refs(&loader);
    loader.index_of = memory__zeroed(loader.refs, sizeof(*loader.index_of));
    model->machine = load_text(&loader, model->header.machine, 0);
    model->jvm = load_text(&loader, model->header.jvm, 0);
    model->command = load_text(&loader, model->header.command, 0);
    model->options = load_text(&loader, model->header.options, 0);
    load_methods(&loader);
    load_threads(&loader);
    load_kernel_threads(&loader);
    load_trees(&loader);
    open_circles(&loader);
    sum_up(model);
    free(loader.index_of);
    free(loader.active);
    free(loader.path);
    return model;
}
