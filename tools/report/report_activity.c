#include "tools/report/report_activity.h"

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
        .next_sibling = parent == REPORT_NONE ? REPORT_NONE : growing->rows[parent].first_child,
    };
    if (parent != REPORT_NONE)
        growing->rows[parent].first_child = index;
    return index;
}

static uint32_t child_of(struct growing *growing, uint32_t parent, uint32_t method)
{
    uint32_t row = growing->rows[parent].first_child;

    while (row != REPORT_NONE && growing->rows[row].method != method)
        row = growing->rows[row].next_sibling;
    return row != REPORT_NONE ? row : add_row(growing, parent, method);
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

/* The child of a row with the most time that was not placed yet; takes it out of the list. */
static uint32_t take_largest(struct growing *growing, uint32_t parent)
{
    uint32_t *best = NULL;

    for (uint32_t *link = &growing->rows[parent].first_child; *link != REPORT_NONE;
         link = &growing->rows[*link].next_sibling)
        if (!best || growing->rows[*link].cum.wall_ns > growing->rows[*best].cum.wall_ns ||
            (growing->rows[*link].cum.wall_ns == growing->rows[*best].cum.wall_ns &&
             growing->rows[*link].cum.samples > growing->rows[*best].cum.samples))
            best = link;
    if (!best)
        return REPORT_NONE;
    uint32_t taken = *best;
    *best = growing->rows[taken].next_sibling;
    return taken;
}

/* Puts the rows in tree order, the largest of siblings first. */
static struct activity_row *in_order(struct growing *growing)
{
    struct activity_row *ordered = memory__zeroed(growing->count, sizeof(*ordered));
    uint32_t *placed = memory__zeroed(growing->count, sizeof(*placed));
    uint32_t at = 0, count = 1;

    ordered[0] = growing->rows[0];
    while (at != REPORT_NONE) {
        uint32_t child = take_largest(growing, at);

        if (child == REPORT_NONE) {
            at = growing->rows[at].parent;
            continue;
        }
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
    free(growing.rows);
    free(row_of);
    return activity;
}

void report_activity__free(struct report_activity *activity)
{
    free(activity->rows);
    free(activity);
}
