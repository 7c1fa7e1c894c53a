#include "tools/report/report_fold.h"

#include "tools/report/index_table.h"
#include "tools/report/memory.h"
#include "tools/report/report_errors.h"

#include <stdlib.h>
#include <string.h>

/* A thread on its way into a pool. */
struct member {
    struct text name;
    uint32_t thread;
    enum ledger_thread_kind kind;
    bool selected;
};

/* A node of a merged tree; indices in the order that they were met in. */
struct merged {
    struct report_node node; /* the first of those that it is; its thread is the pool */
    uint32_t first_child;
    uint32_t last_child;
    uint32_t next_sibling;
    uint32_t position; /* in tree order */
};

struct folding {
    struct report_model *model;
    struct member *members;
    uint32_t *pool_of;   /* by thread */
    uint32_t *merged_of; /* by node */
    struct merged *merged;
    size_t room;
    uint32_t count;
    struct index_table table;
};

static int order_of(const struct member *x, const struct member *y)
{
    if (x->selected != y->selected)
        return x->selected ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return text__compare(x->name, y->name);
}

static int compare(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int order = order_of(x, y);

    return order ? order : x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void add_thread(struct report_thread *pool, struct report_thread *thread)
{
    const struct report_thread *more = thread;
    uint64_t *const sums[] = {&pool->wall_ns,     &pool->cpu_ns,       &pool->calls,
                              &pool->samples,     &pool->cpu_samples,  &pool->wall_samples,
                              &pool->lost_enters, &pool->moded_cpu_ns, &pool->moded_system_ns,
                              &pool->members,     &pool->mounts,       &pool->pinned,
                              &pool->parked_ns};
    const uint64_t values[] = {more->wall_ns,     more->cpu_ns,       more->calls,
                               more->samples,     more->cpu_samples,  more->wall_samples,
                               more->lost_enters, more->moded_cpu_ns, more->moded_system_ns,
                               more->members,     more->mounts,       more->pinned,
                               more->parked_ns};

    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
        *sums[i] += values[i];
    for (size_t metric = 0; metric < METRIC_COUNT; metric++)
        pool->totals[metric] += more->totals[metric];
    pool->folded_bound_ns += more->folded_bound_ns;
    pool->foldings += more->foldings;
    pool->unplaced_calls += more->unplaced_calls;
    pool->is_partial |= more->is_partial;
    if (more->start_ns < pool->start_ns)
        pool->start_ns = more->start_ns;
    if (pool->end_ns)
        pool->end_ns = !more->end_ns                 ? 0
                       : more->end_ns > pool->end_ns ? more->end_ns
                                                     : pool->end_ns;
    if (!(more->flags & THREAD_TERMINATED))
        pool->flags &= ~(uint32_t)THREAD_TERMINATED;
    pool->is_idle = pool->is_idle && more->is_idle;
    pool->tid_count = 0;
    free(thread->renames);
    thread->renames = NULL;
}

static void fold_threads(struct folding *folding, bool *selected)
{
    struct report_model *model = folding->model;
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->thread_count; i++)
        folding->members[i] =
            (struct member){.name = report_thread__folded_name(&model->texts, &model->threads[i]),
                            .thread = i,
                            .kind = model->threads[i].kind,
                            .selected = selected[i]};
    qsort(folding->members, model->thread_count, sizeof(*folding->members), compare);
    struct report_thread *pools = memory__zeroed(model->thread_count, sizeof(*pools));
    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct member *member = &folding->members[i];
        bool joins = i > 0 && order_of(member - 1, member) == 0;

        if (joins) {
            pools[count - 1].name = member->name;
            add_thread(&pools[count - 1], &model->threads[member->thread]);
        } else {
            selected[count] = member->selected;
            pools[count++] = model->threads[member->thread];
        }
        pools[count - 1].parent = REPORT_NONE;
        folding->pool_of[member->thread] = count - 1;
    }
    free(model->threads);
    model->threads = pools;
    model->thread_count = count;
    for (uint32_t i = 0; i < model->kernel_thread_count; i++)
        if (model->kernel_threads[i].thread != REPORT_NONE)
            model->kernel_threads[i].thread = folding->pool_of[model->kernel_threads[i].thread];
}

static uint32_t add_merged(struct folding *folding, const struct report_node *node)
{
    folding->merged = memory__grown(folding->merged, &folding->room, folding->count + 1,
                                    sizeof(*folding->merged));
    uint32_t index = folding->count++;
    folding->merged[index] = (struct merged){*node, REPORT_NONE, REPORT_NONE, REPORT_NONE, 0};
    if (node->parent == REPORT_NONE)
        return index;
    struct merged *parent = &folding->merged[node->parent];
    if (parent->last_child == REPORT_NONE)
        parent->first_child = index;
    else
        folding->merged[parent->last_child].next_sibling = index;
    parent->last_child = index;
    return index;
}

static uint32_t merge(struct folding *folding, const struct report_node *old)
{
    struct report_node node = *old;
    uint32_t found;
    size_t probe = 0;

    node.thread = folding->pool_of[old->thread];
    if (old->parent != REPORT_NONE)
        node.parent = folding->merged_of[old->parent];
    uint64_t hash = index_table__hash_number(node.thread, node.parent);
    hash = index_table__hash_number(hash, (uint64_t)node.method << 8 | (uint64_t)node.kind);
    while (folding->merged &&
           (found = index_table__next(&folding->table, hash, &probe)) != INDEX_TABLE_NONE) {
        struct report_node *other = &folding->merged[found].node;

        if (other->thread != node.thread || other->parent != node.parent ||
            other->method != node.method || other->kind != node.kind)
            continue;
        other->contexts += node.contexts;
        if (other->level_max < node.level_max)
            other->level_max = node.level_max;
        return found;
    }
    found = add_merged(folding, &node);
    index_table__add(&folding->table, hash, found);
    return found;
}

/* In what order children stand: exact ones, sampled ones, what was not sampled. */
static unsigned rank_of(const struct merged *merged)
{
    return merged->node.kind == NODE_UNSEEN                  ? 2
           : ledger_node_kind__is_sampled(merged->node.kind) ? 1
                                                             : 0;
}

static uint32_t stack_children(const struct folding *folding, uint32_t parent, uint32_t *stack)
{
    uint32_t count = 0;

    for (unsigned rank = 3; rank-- > 0;) {
        uint32_t bottom = count;

        for (uint32_t child = folding->merged[parent].first_child; child != REPORT_NONE;
             child = folding->merged[child].next_sibling)
            if (rank_of(&folding->merged[child]) == rank)
                stack[count++] = child;
        for (uint32_t low = bottom, high = count; low + 1 < high; low++) {
            uint32_t swapped = stack[low];

            stack[low] = stack[--high];
            stack[high] = swapped;
        }
    }
    return count;
}

static void lay_out(struct folding *folding)
{
    struct report_model *model = folding->model;
    uint32_t *stack = memory__zeroed(folding->count, sizeof(*stack));
    uint32_t position = 0;

    for (uint32_t i = 0; i < model->thread_count; i++)
        model->threads[i].first_node = model->threads[i].end_node = 0;
    for (uint32_t root = 0; root < folding->count; root++) {
        struct report_thread *pool = &model->threads[folding->merged[root].node.thread];
        uint32_t height = 0;

        if (folding->merged[root].node.parent != REPORT_NONE)
            continue;
        pool->first_node = position;
        stack[height++] = root;
        while (height > 0) {
            uint32_t top = stack[--height];

            folding->merged[top].position = position++;
            height += stack_children(folding, top, stack + height);
        }
        pool->end_node = position;
    }
    free(stack);
}

static void place_nodes(struct folding *folding)
{
    struct report_model *model = folding->model;
    struct report_node *nodes = memory__zeroed(folding->count, sizeof(*nodes));

    for (uint32_t i = 0; i < folding->count; i++) {
        struct report_node node = folding->merged[i].node;
        uint32_t position = folding->merged[i].position;

        if (node.parent != REPORT_NONE)
            node.parent = folding->merged[node.parent].position;
        node.end = position + 1;
        nodes[position] = node;
    }
    for (uint32_t i = folding->count; i-- > 0;)
        if (nodes[i].parent != REPORT_NONE && nodes[nodes[i].parent].end < nodes[i].end)
            nodes[nodes[i].parent].end = nodes[i].end;
    free(model->nodes);
    model->nodes = nodes;
}

static uint64_t *summed(const struct folding *folding, const uint64_t *values)
{
    uint64_t *sums = memory__zeroed(folding->count, sizeof(*sums));

    for (uint32_t i = 0; i < folding->model->node_count; i++)
        sums[folding->merged[folding->merged_of[i]].position] += values[i];
    return sums;
}

/* How far rows of what was not sampled may be off adds up by squares. */
static void fold_samples(struct folding *folding)
{
    struct report_model *model = folding->model;
    struct report_samples *sums = memory__zeroed(folding->count, sizeof(*sums));
    double *squares = memory__zeroed(folding->count, sizeof(*squares));

    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct report_samples *more = &model->samples[i];
        uint32_t to = folding->merged[folding->merged_of[i]].position;

        sums[to].cpu += more->cpu;
        sums[to].wall += more->wall;
        sums[to].interpreted += more->interpreted;
        sums[to].seen_ns += more->seen_ns;
        squares[to] += (double)more->seen_ns * (double)more->seen_ns;
    }
    for (uint32_t i = 0; i < folding->count; i++)
        if (folding->merged[i].node.kind == NODE_UNSEEN)
            sums[folding->merged[i].position].seen_ns =
                report_errors__of_squares(squares[folding->merged[i].position]);
    free(squares);
    free(model->samples);
    model->samples = sums;
}

static void fold_columns(struct folding *folding)
{
    struct report_model *model = folding->model;

    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        if (!model->base[column])
            continue;
        uint64_t *base = summed(folding, model->base[column]);
        uint64_t *cum = summed(folding, model->cum[column]);
        free(model->base[column]);
        free(model->cum[column]);
        model->base[column] = base;
        model->cum[column] = cum;
    }
}

void report_fold__pools(struct report_model *model, bool *selected)
{
    struct folding folding = {.model = model};

    folding.members = memory__zeroed(model->thread_count, sizeof(*folding.members));
    folding.pool_of = memory__zeroed(model->thread_count, sizeof(*folding.pool_of));
    folding.merged_of = memory__zeroed(model->node_count, sizeof(*folding.merged_of));
    fold_threads(&folding, selected);
    for (uint32_t i = 0; i < model->node_count; i++)
        folding.merged_of[i] = merge(&folding, &model->nodes[i]);
    lay_out(&folding);
    fold_columns(&folding);
    if (model->samples)
        fold_samples(&folding);
    place_nodes(&folding);
    model->node_count = folding.count;
    index_table__release(&folding.table);
    free(folding.members);
    free(folding.pool_of);
    free(folding.merged_of);
    free(folding.merged);
}
