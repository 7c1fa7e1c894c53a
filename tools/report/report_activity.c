#include "tools/report/report_activity.h"

#include "tools/report/index_table.h"
#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

#define KERNEL(id) ((enum report_column)((unsigned)COLUMN_KERNEL + METRIC_##id))

#define PART_COLUMNS 3u

/* A wait for a monitor, in Object.wait or in a park is one for another thread. */
static const struct {
    const char *key;
    size_t columns; /* 0: the rest */
    enum report_column column[PART_COLUMNS];
} parts[ACTIVITY_PARTS] = {
    [PART_OF_CPU] = {"cpu_ns", 1, {COLUMN_CPU}},
    [PART_OF_RUNNABLE] = {"runnable_ns", 1, {KERNEL(RUN_QUEUE_DELAY)}},
    [PART_OF_LOCK] = {"lock_ns", 3, {KERNEL(PARK), KERNEL(MONITOR_WAIT), KERNEL(OBJECT_WAIT)}},
    [PART_OF_IO] = {"io_ns", 1, {KERNEL(IO_WAIT)}},
    [PART_OF_SLEEP] = {"sleep_ns", 1, {KERNEL(SLEEP)}},
    [PART_OF_UNKNOWN] = {"unknown_ns", 0, {COLUMN_COUNT}},
};

/* The rows while they are made. */
struct growing {
    struct activity_row *rows;
    size_t count;
    size_t room;
    struct index_table table; /* by parent and method */
};

const char *activity_part__key(enum activity_part part)
{
    return parts[part].key;
}

bool report_activity__has(const struct report_model *model, uint32_t thread)
{
    const struct report_thread *row = &model->threads[thread];

    for (uint32_t i = row->first_node; i < row->end_node; i++)
        if (model->nodes[i].kind == NODE_LOGICAL)
            return true;
    return false;
}

static uint64_t hash_of(uint32_t parent, uint32_t method)
{
    return index_table__hash_number(0, (uint64_t)parent << 32 | method);
}

static uint32_t add_row(struct growing *growing, uint32_t parent, uint32_t method)
{
    uint32_t index = (uint32_t)growing->count;

    growing->rows =
        memory__grown(growing->rows, &growing->room, growing->count + 1, sizeof(*growing->rows));
    growing->rows[growing->count++] = (struct activity_row){
        .parent = parent,
        .method = method,
        .depth = parent == REPORT_NONE ? 0 : growing->rows[parent].depth + 1,
        .first_child = REPORT_NONE,
        .next_sibling = REPORT_NONE,
    };
    index_table__add(&growing->table, hash_of(parent, method), index);
    return index;
}

/* There may be as many children as there are parameters. */
static uint32_t child_of(struct growing *growing, uint32_t parent, uint32_t method)
{
    uint64_t hash = hash_of(parent, method);
    size_t probe = 0;
    uint32_t row;

    while ((row = index_table__next(&growing->table, hash, &probe)) != INDEX_TABLE_NONE)
        if (growing->rows[row].parent == parent && growing->rows[row].method == method)
            return row;
    return add_row(growing, parent, method);
}

static void add_node(const struct report_model *model, uint32_t node, struct activity_times *times)
{
    uint64_t left_ns = model->base[COLUMN_WALL] ? model->base[COLUMN_WALL][node] : 0;

    times->samples += model->base[COLUMN_SAMPLES] ? model->base[COLUMN_SAMPLES][node] : 0;
    times->wall_ns += left_ns;
    for (size_t i = 0; i < ACTIVITY_PARTS; i++) {
        uint64_t ns = parts[i].columns ? 0 : left_ns;

        for (size_t j = 0; j < parts[i].columns; j++)
            if (model->base[parts[i].column[j]])
                ns += model->base[parts[i].column[j]][node];
        ns = ns < left_ns ? ns : left_ns;
        times->part_ns[i] += ns;
        left_ns -= ns;
    }
}

static void add_thread(struct growing *growing, const struct report_model *model, uint32_t thread,
                       uint32_t *row_of)
{
    const struct report_thread *row = &model->threads[thread];

    for (uint32_t i = row->first_node; i < row->end_node; i++) {
        const struct report_node *node = &model->nodes[i];
        uint32_t above = node->parent == REPORT_NONE ? 0 : row_of[node->parent];

        row_of[i] = node->kind == NODE_LOGICAL ? child_of(growing, above, node->method) : above;
        add_node(model, i, &growing->rows[row_of[i]].base);
        if (node->kind == NODE_LOGICAL)
            growing->rows[row_of[i]].calls += model->base[COLUMN_CALLS][i];
    }
}

static void add_times(struct activity_times *to, const struct activity_times *from)
{
    to->samples += from->samples;
    to->wall_ns += from->wall_ns;
    for (size_t i = 0; i < ACTIVITY_PARTS; i++)
        to->part_ns[i] += from->part_ns[i];
}

/* A row's parent stands before it. */
static void sum_up(struct growing *growing)
{
    for (size_t i = growing->count; i-- > 0;) {
        struct activity_row *row = &growing->rows[i];

        add_times(&row->cum, &row->base);
        if (row->parent != REPORT_NONE)
            add_times(&growing->rows[row->parent].cum, &row->cum);
    }
}

static int descending(uint64_t x, uint64_t y)
{
    return (x < y) - (x > y);
}

/* Of siblings the one with the most time comes first. */
static int by_time(const void *a, const void *b, void *context)
{
    const struct activity_row *rows = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = descending(rows[left].cum.wall_ns, rows[right].cum.wall_ns);

    if (!order)
        order = descending(rows[left].cum.samples, rows[right].cum.samples);
    return order ? order : descending(left, right);
}

/* Links the children of each row in their order. */
static void link_children(struct growing *growing)
{
    uint32_t *sorted = memory__zeroed(growing->count, sizeof(*sorted));

    for (uint32_t i = 0; i < growing->count; i++)
        sorted[i] = i;
    qsort_r(sorted, growing->count, sizeof(*sorted), by_time, growing->rows);
    for (size_t i = growing->count; i-- > 0;) {
        struct activity_row *row = &growing->rows[sorted[i]];

        if (row->parent == REPORT_NONE)
            continue;
        row->next_sibling = growing->rows[row->parent].first_child;
        growing->rows[row->parent].first_child = sorted[i];
    }
    free(sorted);
}

/* Puts the rows in tree order. */
static struct activity_row *in_order(struct growing *growing)
{
    struct activity_row *ordered = memory__zeroed(growing->count, sizeof(*ordered));
    uint32_t *placed = memory__zeroed(growing->count, sizeof(*placed));
    uint32_t at = 0, count = 1;

    link_children(growing);
    ordered[0] = growing->rows[0];
    while (at != REPORT_NONE) {
        uint32_t child = growing->rows[at].first_child;

        if (child == REPORT_NONE) {
            at = growing->rows[at].parent;
            continue;
        }
        growing->rows[at].first_child = growing->rows[child].next_sibling;
        ordered[count] = growing->rows[child];
        ordered[count].parent = placed[at];
        placed[child] = count++;
        at = child;
    }
    free(placed);
    return ordered;
}

struct report_activity *report_activity__new(const struct report_model *model, const bool *selected)
{
    struct report_activity *activity = memory__zeroed(1, sizeof(*activity));
    uint32_t *row_of = memory__zeroed((size_t)model->node_count + 1, sizeof(*row_of));
    struct growing growing = {0};

    add_row(&growing, REPORT_NONE, METHOD_OF_THREAD);
    for (uint32_t thread = 0; thread < model->thread_count; thread++)
        if (selected[thread] && report_activity__has(model, thread)) {
            add_thread(&growing, model, thread, row_of);
            activity->threads++;
        }
    sum_up(&growing);
    activity->rows = in_order(&growing);
    activity->count = (uint32_t)growing.count;
    index_table__release(&growing.table);
    free(growing.rows);
    free(row_of);
    return activity;
}

void report_activity__free(struct report_activity *activity)
{
    free(activity->rows);
    free(activity);
}
