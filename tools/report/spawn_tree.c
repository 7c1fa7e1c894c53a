#include "tools/report/spawn_tree.h"

#include "tools/report/memory.h"

#include <stdlib.h>

#define LEFT_OUT UINT32_MAX       /* a depth: not selected, nor below a thread that is */
#define UNKNOWN  (UINT32_MAX - 1) /* a depth: not worked out yet */

/* A thread on its way into a row. */
struct member {
    struct text folded;
    uint32_t thread;
    uint32_t depth;
    uint32_t parent; /* row */
    enum ledger_thread_kind kind;
};

/* How many threads stand above each one in the tree, by thread: up to one whose depth is known, and
 * down again. */
static uint32_t *find_depths(const struct report_model *model, const bool *selected)
{
    uint32_t *depths = memory__zeroed(model->thread_count, sizeof(*depths));
    uint32_t *path = memory__zeroed(model->thread_count, sizeof(*path));

    for (uint32_t i = 0; i < model->thread_count; i++)
        depths[i] = UNKNOWN;
    for (uint32_t i = 0; i < model->thread_count; i++) {
        uint32_t height = 0;
        uint32_t at = i;

        for (; at != REPORT_NONE && depths[at] == UNKNOWN; at = model->threads[at].parent)
            path[height++] = at;
        uint32_t above = at == REPORT_NONE ? LEFT_OUT : depths[at];
        while (height > 0) {
            uint32_t thread = path[--height];

            above = above != LEFT_OUT ? above + 1 : selected[thread] ? 0 : LEFT_OUT;
            depths[thread] = above;
        }
    }
    free(path);
    return depths;
}

static int by_index(uint32_t x, uint32_t y)
{
    return x < y ? -1 : x > y;
}

static int by_number(uint64_t x, uint64_t y)
{
    return x > y ? -1 : x < y;
}

static int compare_depths(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int order = by_index(x->depth, y->depth);

    return order ? order : by_index(x->thread, y->thread);
}

static int compare_rows(const struct member *x, const struct member *y)
{
    int order = by_index(x->parent, y->parent);

    if (!order)
        order = text__compare(x->folded, y->folded);
    return order ? order : by_index((uint32_t)x->kind, (uint32_t)y->kind);
}

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int order = compare_rows(x, y);

    return order ? order : by_index(x->thread, y->thread);
}

static int compare_parents(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int order = by_index(x->parent, y->parent);

    return order ? order : by_index(x->thread, y->thread);
}

static struct spawn_row *add_row(struct spawn_tree *tree, const struct report_model *model,
                                 const struct member *member)
{
    struct spawn_row *row = &tree->rows[tree->row_count];

    *row = (struct spawn_row){
        .name = model->threads[member->thread].name,
        .parent = member->parent,
        .depth = member->depth,
        .first = member->thread,
    };
    if (member->parent == REPORT_NONE)
        tree->root_count++;
    else if (tree->rows[member->parent].child_count++ == 0)
        tree->rows[member->parent].first_child = tree->row_count;
    tree->row_count++;
    return row;
}

static void add_thread(struct spawn_row *row, const struct report_thread *thread,
                       enum report_column column)
{
    uint64_t value = report_thread__value(thread, column);

    row->own++;
    row->count++;
    row->base += value;
    row->cum += value;
    row->cpu_ns += thread->cpu_ns;
    row->cum_cpu_ns += thread->cpu_ns;
    row->wall_ns += thread->wall_ns;
    row->calls += thread->calls;
    row->is_partial |= thread->is_partial;
}

/* The rows of all threads of one depth; those above have theirs. */
static void add_level(struct spawn_tree *tree, const struct report_model *model,
                      struct member *members, uint32_t count, enum report_column column, bool fold,
                      uint32_t *row_of)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = model->threads[members[i].thread].parent;

        members[i].parent = members[i].depth ? row_of[parent] : REPORT_NONE;
    }
    qsort(members, count, sizeof(*members), fold ? compare_members : compare_parents);
    for (uint32_t i = 0; i < count; i++) {
        const struct member *member = &members[i];
        bool joins = fold && i > 0 && compare_rows(member - 1, member) == 0;
        struct spawn_row *row =
            joins ? &tree->rows[tree->row_count - 1] : add_row(tree, model, member);

        if (joins)
            row->name = member->folded;
        add_thread(row, &model->threads[member->thread], column);
        row_of[member->thread] = tree->row_count - 1;
    }
}

static void sum_up(struct spawn_tree *tree)
{
    for (uint32_t i = tree->row_count; i-- > tree->root_count;) {
        const struct spawn_row *row = &tree->rows[i];
        struct spawn_row *parent = &tree->rows[row->parent];

        parent->count += row->count;
        parent->cum += row->cum;
        parent->cum_cpu_ns += row->cum_cpu_ns;
    }
}

struct spawn_tree *spawn_tree__new(const struct report_model *model, const bool *selected,
                                   enum report_column column, bool fold)
{
    struct spawn_tree *tree = memory__zeroed(1, sizeof(*tree));
    struct member *members = memory__zeroed(model->thread_count, sizeof(*members));
    uint32_t *row_of = memory__zeroed(model->thread_count, sizeof(*row_of));
    uint32_t *depths = find_depths(model, selected);

    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct report_thread *thread = &model->threads[i];

        if (depths[i] == LEFT_OUT)
            continue;
        members[tree->thread_count++] = (struct member){
            .folded = fold ? report_thread__folded_name(&tree->texts, thread) : thread->name,
            .thread = i,
            .depth = depths[i],
            .kind = thread->kind,
        };
    }
    tree->rows = memory__zeroed(tree->thread_count, sizeof(*tree->rows));
    qsort(members, tree->thread_count, sizeof(*members), compare_depths);
    for (uint32_t begin = 0, end; begin < tree->thread_count; begin = end) {
        for (end = begin + 1; end < tree->thread_count; end++)
            if (members[end].depth != members[begin].depth)
                break;
        add_level(tree, model, &members[begin], end - begin, column, fold, row_of);
    }
    sum_up(tree);
    free(depths);
    free(row_of);
    free(members);
    return tree;
}

void spawn_tree__free(struct spawn_tree *tree)
{
    text_store__release(&tree->texts);
    free(tree->rows);
    free(tree);
}

struct sorting {
    const struct spawn_tree *tree;
    enum spawn_sort sort;
};

static int compare(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    uint32_t x_index = *(const uint32_t *)a;
    uint32_t y_index = *(const uint32_t *)b;
    const struct spawn_row *x = &sorting->tree->rows[x_index];
    const struct spawn_row *y = &sorting->tree->rows[y_index];
    int order = 0;

    switch (sorting->sort) {
    case SPAWN_BY_CUM:
        order = by_number(x->cum, y->cum);
        break;
    case SPAWN_BY_BASE:
        order = by_number(x->base, y->base);
        break;
    case SPAWN_BY_CALLS:
        order = by_number(x->calls, y->calls);
        break;
    case SPAWN_BY_NAME:
        order = text__compare(x->name, y->name);
        break;
    }
    if (!order)
        order = by_index(x->depth, y->depth);
    return order ? order : by_index(x->first, y->first);
}

/* A parent's cum is never less than its child's, and of two equals the upper one comes first: so
 * the heaviest rows hang together. */
static bool *find_heaviest(const struct spawn_tree *tree, uint32_t top)
{
    struct sorting sorting = {tree, SPAWN_BY_CUM};
    bool *kept = memory__zeroed(tree->row_count, sizeof(*kept));
    uint32_t *rows = memory__zeroed(tree->row_count, sizeof(*rows));

    for (uint32_t i = 0; i < tree->row_count; i++)
        rows[i] = i;
    if (top && top < tree->row_count)
        qsort_r(rows, tree->row_count, sizeof(*rows), compare, &sorting);
    for (uint32_t i = 0; i < tree->row_count && (!top || i < top); i++)
        kept[rows[i]] = true;
    free(rows);
    return kept;
}

/* Puts rows on a stack so that the first by the key is on top. */
static uint32_t push(uint32_t *stack, uint32_t height, uint32_t first, uint32_t count,
                     struct sorting *sorting)
{
    for (uint32_t i = 0; i < count; i++)
        stack[height + i] = first + i;
    qsort_r(stack + height, count, sizeof(*stack), compare, sorting);
    for (uint32_t low = height, high = height + count; low + 1 < high; low++) {
        uint32_t swapped = stack[low];

        stack[low] = stack[--high];
        stack[high] = swapped;
    }
    return height + count;
}

uint32_t *spawn_tree__order(const struct spawn_tree *tree, enum spawn_sort sort, uint32_t top,
                            uint32_t *count)
{
    struct sorting sorting = {tree, sort};
    bool *kept = find_heaviest(tree, top);
    uint32_t *order = memory__zeroed(tree->row_count, sizeof(*order));
    uint32_t *stack = memory__zeroed(tree->row_count, sizeof(*stack));
    uint32_t height = push(stack, 0, 0, tree->root_count, &sorting);

    *count = 0;
    while (height > 0) {
        uint32_t index = stack[--height];
        const struct spawn_row *row = &tree->rows[index];

        if (!kept[index])
            continue;
        order[(*count)++] = index;
        height = push(stack, height, row->first_child, row->child_count, &sorting);
    }
    free(stack);
    free(kept);
    return order;
}
