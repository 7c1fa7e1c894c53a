#include "tools/report/report_since.h"

#include "tools/report/interval.h"
#include "tools/report/memory.h"
#include "tools/report/sample_shares.h"

#include <stdlib.h>
#include <string.h>

/* The later reading's nodes by parent, method and kind. */
struct node_table {
    uint32_t *slots; /* 1 + node; 0: free */
    size_t slot_count;
};

struct subtraction {
    struct report_model *model;
    struct report_model *before;
    struct interval *interval;
    struct node_table table;
    uint32_t *method_of; /* the later reading's, by the earlier one's */
    uint32_t *node_of;   /* ditto, of nodes */
};

static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

bool report_since__can_be(const struct report_model *before, const struct report_model *model)
{
    struct interval *interval = interval__new(before, model);

    interval__free(interval);
    return interval != NULL;
}

/* Sampled frames have parts of an exact node's time: it gets them back, for the parts of what is
 * left are others. */
static void take_back_shares(struct report_model *model, uint32_t exact, uint32_t first_sampled)
{
    static const enum report_column columns[] = {COLUMN_CPU, COLUMN_WALL};

    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        uint64_t *base = model->base[columns[i]];

        for (uint32_t node = first_sampled; base && node < model->nodes[exact].end; node++) {
            base[exact] += base[node];
            base[node] = 0;
        }
    }
}

static void share_out(struct report_model *model, uint32_t exact, uint32_t first_sampled)
{
    sample_shares__settle_again(model, exact, first_sampled, model->nodes[exact].end);
}

static void each_with_samples(struct report_model *model,
                              void (*visit)(struct report_model *, uint32_t, uint32_t))
{
    for (uint32_t i = 0; model->samples && i < model->node_count; i++) {
        uint32_t child = i + 1;

        if (ledger_node_kind__is_sampled(model->nodes[i].kind))
            continue;
        while (child < model->nodes[i].end &&
               !ledger_node_kind__is_sampled(model->nodes[child].kind))
            child = model->nodes[child].end;
        if (child < model->nodes[i].end)
            visit(model, i, child);
    }
}

static uint32_t *slot_of(const struct subtraction *subtraction, uint32_t parent, uint32_t method,
                         enum ledger_node_kind kind)
{
    const struct node_table *table = &subtraction->table;
    const struct report_node *nodes = subtraction->model->nodes;
    uint64_t key = ((uint64_t)parent << 32 | method) * UINT64_C(0x9e3779b97f4a7c15) + kind;
    size_t slot = (size_t)(key >> 24) & (table->slot_count - 1);

    for (; table->slots[slot]; slot = (slot + 1) & (table->slot_count - 1)) {
        const struct report_node *node = &nodes[table->slots[slot] - 1];

        if (node->parent == parent && node->method == method && node->kind == kind)
            break;
    }
    return &table->slots[slot];
}

static void make_table(struct subtraction *subtraction)
{
    const struct report_model *model = subtraction->model;
    struct node_table *table = &subtraction->table;

    table->slot_count = 1024;
    while (table->slot_count < 2 * (size_t)model->node_count)
        table->slot_count *= 2;
    table->slots = memory__zeroed(table->slot_count, sizeof(*table->slots));
    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct report_node *node = &model->nodes[i];

        if (node->parent == REPORT_NONE)
            continue;
        uint32_t *slot = slot_of(subtraction, node->parent, node->method, node->kind);
        if (!*slot)
            *slot = i + 1;
    }
}

static int by_ref(const void *a, const void *b)
{
    const struct report_method_record *x = a, *y = b;

    return (x->ref > y->ref) - (x->ref < y->ref);
}

/* A method's record stays where it is. */
static void match_methods(struct subtraction *subtraction)
{
    const struct report_model *model = subtraction->model;
    const struct report_model *before = subtraction->before;

    subtraction->method_of = memory__zeroed(before->method_count, sizeof(uint32_t));
    for (uint32_t i = 0; i < before->method_count; i++)
        subtraction->method_of[i] = i < METHOD_FIRST_REAL ? i : REPORT_NONE;
    for (uint32_t i = 0; i < before->method_record_count; i++) {
        const struct report_method_record *record = &before->method_records[i];
        const struct report_method_record *found =
            model->method_record_count ? bsearch(record, model->method_records,
                                                 model->method_record_count, sizeof(*found), by_ref)
                                       : NULL;

        if (found && record->method < before->method_count)
            subtraction->method_of[record->method] = found->method;
    }
}

static void subtract_node(struct subtraction *subtraction, uint32_t now, uint32_t before)
{
    struct report_model *model = subtraction->model;

    for (size_t column = 0; column < COLUMN_COUNT; column++)
        if (model->base[column] && subtraction->before->base[column])
            model->base[column][now] =
                growth(model->base[column][now], subtraction->before->base[column][before]);
    if (!model->samples || !subtraction->before->samples)
        return;
    struct report_samples *samples = &model->samples[now];
    const struct report_samples *old = &subtraction->before->samples[before];
    if (model->nodes[now].kind != NODE_UNSEEN)
        samples->seen_ns = growth(samples->seen_ns, old->seen_ns);
    samples->cpu = growth(samples->cpu, old->cpu);
    samples->wall = growth(samples->wall, old->wall);
    samples->interpreted = growth(samples->interpreted, old->interpreted);
}

static void subtract_tree(struct subtraction *subtraction, const struct report_thread *now,
                          const struct report_thread *old)
{
    const struct report_model *before = subtraction->before;

    if (now->first_node == now->end_node)
        return;
    for (uint32_t i = old->first_node; i < old->end_node; i++) {
        const struct report_node *node = &before->nodes[i];
        uint32_t method = subtraction->method_of[node->method];
        uint32_t found = now->first_node + 1;

        if (node->parent != REPORT_NONE) {
            uint32_t parent = subtraction->node_of[node->parent];
            bool known = parent != REPORT_NONE && method != REPORT_NONE;

            found = known ? *slot_of(subtraction, parent, method, node->kind) : 0;
        }
        subtraction->node_of[i] = found ? found - 1 : REPORT_NONE;
        if (found)
            subtract_node(subtraction, found - 1, i);
    }
}

/* What was folded meanwhile is in the row of its group. */
static const struct report_thread *group_of(const struct report_model *model,
                                            const struct report_thread *thread)
{
    struct text_store store = {0};
    struct text name = report_thread__folded_name(&store, thread);
    const struct report_thread *found = NULL;

    for (uint32_t i = 0; model->threads && i < model->thread_count && !found; i++) {
        const struct report_thread *group = &model->threads[i];

        if (group->flags & THREAD_GROUP && group->kind == thread->kind &&
            text__compare(group->name, name) == 0)
            found = group;
    }
    text_store__release(&store);
    return found;
}

static void subtract_trees(struct subtraction *subtraction)
{
    const struct report_model *model = subtraction->model;
    const struct report_model *before = subtraction->before;
    uint32_t *now_of = memory__zeroed(before->thread_count, sizeof(*now_of));

    for (uint32_t i = 0; i < subtraction->interval->rows; i++)
        if (subtraction->interval->row[i].before != REPORT_NONE)
            now_of[subtraction->interval->row[i].before] = subtraction->interval->row[i].now + 1;
    for (uint32_t now = 0, i = 0; i < before->thread_count; i++) {
        const struct report_thread *old = &before->threads[i];
        const struct report_thread *thread = now_of[i] ? &model->threads[now_of[i] - 1] : NULL;

        /* Threads that were over have no row; most stand where they stood. */
        for (uint32_t tried = 0; model->threads && !thread && tried < model->thread_count;
             tried++, now++) {
            const struct report_thread *other = &model->threads[now % model->thread_count];
            bool same = old->flags & THREAD_LAST_MOMENTS ? other->flags & THREAD_LAST_MOMENTS
                                                         : report_thread__is_same(old, other);

            if (same)
                thread = other;
        }
        if (!thread)
            thread = group_of(model, old);
        if (thread)
            subtract_tree(subtraction, thread, old);
    }
    free(now_of);
}

static bool has_any(const struct report_model *model, uint32_t node)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        if (model->cum[column] && model->cum[column][node])
            return true;
    return model->nodes[node].parent == REPORT_NONE;
}

static void sum_up(struct report_model *model)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        uint64_t *cum = model->cum[column];

        if (!cum || !model->node_count)
            continue;
        memcpy(cum, model->base[column], model->node_count * sizeof(*cum));
        for (uint32_t i = model->node_count; i-- > 0;)
            if (model->nodes[i].parent != REPORT_NONE)
                cum[model->nodes[i].parent] += cum[i];
    }
}

static void move_node(struct report_model *model, uint32_t to, uint32_t from)
{
    model->nodes[to] = model->nodes[from];
    if (model->samples)
        model->samples[to] = model->samples[from];
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        if (!model->base[column])
            continue;
        model->base[column][to] = model->base[column][from];
        model->cum[column][to] = model->cum[column][from];
    }
}

/* A node without a part has none below it either. */
static void remove_idle_nodes(struct report_model *model)
{
    uint32_t *moved = memory__zeroed((size_t)model->node_count + 1, sizeof(*moved));
    uint32_t kept = 0;

    for (uint32_t i = 0; i < model->node_count; i++) {
        moved[i] = kept;
        if (has_any(model, i))
            move_node(model, kept++, i);
    }
    moved[model->node_count] = kept;
    for (uint32_t i = 0; i < kept; i++) {
        model->nodes[i].end = moved[model->nodes[i].end];
        if (model->nodes[i].parent != REPORT_NONE)
            model->nodes[i].parent = moved[model->nodes[i].parent];
    }
    for (uint32_t i = 0; i < model->thread_count; i++) {
        model->threads[i].first_node = moved[model->threads[i].first_node];
        model->threads[i].end_node = moved[model->threads[i].end_node];
    }
    model->node_count = kept;
    free(moved);
}

static void set_row(struct report_model *model, const struct interval_row *row)
{
    struct report_thread *thread = &model->threads[row->now];

    for (unsigned metric = 0; metric < METRIC_COUNT; metric++)
        thread->totals[metric] = row->value[report_column__of_metric((enum ledger_metric)metric)];
    if (!(thread->flags & THREAD_GROUP))
        thread->wall_ns = row->wall_ns;
    thread->mounts = row->mounts;
    thread->pinned = row->pinned;
    thread->parked_ns = row->parked_ns;
    thread->is_idle = false;
}

static void set_threads(struct report_model *model, const struct interval *interval)
{
    for (uint32_t i = 0; i < model->thread_count; i++)
        model->threads[i].is_idle = !(model->threads[i].flags & THREAD_LAST_MOMENTS);
    for (uint32_t i = 0; i < interval->rows; i++)
        set_row(model, &interval->row[i]);
    for (uint32_t i = 0; i < model->thread_count; i++) {
        struct report_thread *thread = &model->threads[i];
        bool has_tree = thread->first_node < thread->end_node;

        thread->cpu_ns = has_tree ? model->cum[COLUMN_CPU][thread->first_node] : 0;
        thread->calls = has_tree ? model->cum[COLUMN_CALLS][thread->first_node] : 0;
        report_thread__count_samples(model, thread);
    }
}

static void subtract_kernel_threads(struct report_model *model, const struct report_model *before)
{
    for (uint32_t i = 0; i < model->kernel_thread_count; i++) {
        struct report_kernel_thread *row = &model->kernel_threads[i];
        const struct report_kernel_thread *old = before->kernel_threads;
        const struct report_kernel_thread *end = old + before->kernel_thread_count;

        while (old < end && old->tid != row->tid)
            old++;
        if (old == end || old->kernel_cpu_ns > row->kernel_cpu_ns)
            continue; /* a new one, under an old number perhaps */
        row->kernel_cpu_ns -= old->kernel_cpu_ns;
        row->charged_cpu_ns = growth(row->charged_cpu_ns, old->charged_cpu_ns);
    }
}

static void subtract_header(struct ledger_header *now, const struct ledger_header *before)
{
    uint64_t *const fields[] = {
        &now->process_cpu_ns,
        &now->process_user_ns,
        &now->process_system_ns,
        &now->dropped_enters,
        &now->dropped_threads,
        &now->dropped_side_values,
        &now->resynchronised,
        &now->unfollowed_mounts,
        &now->unprofiled_wall_ns,
        &now->unprofiled_cpu_ns,
        &now->samples,
        &now->dropped_samples,
        &now->homeless_samples,
        &now->lost_tallies,
        &now->lost_blocks,
        &now->lost_blocks_ns,
        &now->unmeasured_calls,
        &now->other_parameters,
        &now->cut_parameters,
        &now->cut_identifiers,
        &now->lost_frames,
        &now->lost_slots,
        &now->lost_identifiers,
        &now->torn_stacks,
        &now->late_samples,
        &now->lost_hazards,
        &now->unwatched_waits,
        &now->lost_holds,
        &now->unseen_holds,
        &now->other_parts,
        &now->other_parts_unended,
        &now->other_parts_cpu_ns,
        &now->other_parts_ns,
        &now->lost_parts,
        &now->torn_parts,
        &now->unprofiled_user_ns,
        &now->unprofiled_system_ns,
        &now->own_cost.hooks_ns,
        &now->own_cost.samples_ns,
        &now->own_cost.threads_ns,
        &now->own_cost.classes_ns,
        &now->own_cost.jvm_ns,
        &now->own_cost.waits_ns,
        &now->heard_waits,
        &now->unheard_waits,
        &now->timed_waits,
        &now->unheard_virtual,
        &now->positions_corrected,
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        size_t offset = (size_t)((const char *)fields[i] - (const char *)now);
        uint64_t old;

        memcpy(&old, (const char *)before + offset, sizeof(old));
        *fields[i] = growth(*fields[i], old);
    }
    for (size_t i = 0; i < LEDGER_WALK_FAILURE_SLOTS; i++)
        now->walk_failures[i] = growth(now->walk_failures[i], before->walk_failures[i]);
}

void report_since__subtract(struct report_model *model, struct report_model *before)
{
    struct subtraction subtraction = {
        .model = model,
        .before = before,
        .interval = interval__new(before, model),
        .node_of = memory__zeroed(before->node_count, sizeof(uint32_t)),
    };

    each_with_samples(model, take_back_shares);
    each_with_samples(before, take_back_shares);
    match_methods(&subtraction);
    make_table(&subtraction);
    subtract_trees(&subtraction);
    each_with_samples(model, share_out);
    sum_up(model);
    remove_idle_nodes(model);
    set_threads(model, subtraction.interval);
    subtract_kernel_threads(model, before);
    report_hookings__subtract(model, before, subtraction.method_of);
    report_blocks__subtract(model, before);
    report_chains__subtract(model, before);
    report_latencies__subtract(model, before, subtraction.method_of);
    report_latencies__count_calls(model);
    model->before_present_bytes = before->present_bytes;
    model->before_missing_bytes = before->missing_bytes;
    model->since_ns = report_model__asof_ns(before);
    model->profiled_since_ns = report_model__profiled_to_ns(before);
    subtract_header(&model->header, &before->header);
    interval__free(subtraction.interval);
    free(subtraction.table.slots);
    free(subtraction.method_of);
    free(subtraction.node_of);
}
