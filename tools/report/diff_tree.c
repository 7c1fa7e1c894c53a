#include "tools/report/diff_tree.h"

#include "tools/report/index_table.h"
#include "tools/report/memory.h"
#include "tools/report/report_errors.h"

#include <stdlib.h>
#include <string.h>

/* Nodes in the order they are met in: each behind its parent, but no subtree in one piece. */
struct sprout {
    struct diff_node node;
    uint32_t first_child;
    uint32_t next_sibling;
};

struct thicket {
    struct report_diff *diff;
    const struct diff_request *request;
    struct sprout *sprouts;
    size_t room;
    uint32_t count;
    struct index_table children; /* by parent or thread, method and kind */
    uint32_t *roots;             /* by thread of the diff */
};

uint64_t diff_tree__scaled(uint64_t value, const uint64_t total[DIFF_SIDES])
{
    if (total[DIFF_A] == 0)
        return value;
    unsigned __int128 scaled =
        ((unsigned __int128)value * total[DIFF_B] + total[DIFF_A] / 2) / total[DIFF_A];
    return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

static uint32_t find_sprout(const struct thicket *thicket, const struct diff_node *like,
                            uint64_t hash)
{
    size_t probe = 0;
    uint32_t index;

    while ((index = index_table__next(&thicket->children, hash, &probe)) != INDEX_TABLE_NONE) {
        const struct diff_node *node = &thicket->sprouts[index].node;

        if (node->parent == like->parent && node->thread == like->thread &&
            node->method == like->method && node->kind == like->kind)
            break;
    }
    return index;
}

static uint32_t add_sprout(struct thicket *thicket, const struct diff_node *like, uint64_t hash)
{
    uint32_t index = thicket->count++;

    thicket->sprouts =
        memory__grown(thicket->sprouts, &thicket->room, thicket->count, sizeof(*thicket->sprouts));
    uint32_t *first = like->parent == REPORT_NONE ? &thicket->roots[like->thread]
                                                  : &thicket->sprouts[like->parent].first_child;
    thicket->sprouts[index] = (struct sprout){*like, REPORT_NONE, *first};
    *first = index;
    index_table__add(&thicket->children, hash, index);
    return index;
}

static uint32_t sprout_for(struct thicket *thicket, const struct diff_node *like)
{
    uint64_t hash = index_table__hash_number(like->parent, like->thread);

    hash = index_table__hash_number(hash, (uint64_t)like->method << 8 | (uint64_t)like->kind);
    uint32_t index = find_sprout(thicket, like, hash);
    return index == INDEX_TABLE_NONE ? add_sprout(thicket, like, hash) : index;
}

static void add_errors(struct diff_node *sum, unsigned side, const struct report_errors *errors,
                       uint32_t node)
{
    sum->base_squares[side] += (double)errors->base[node] * (double)errors->base[node];
    sum->cum_squares[side] += (double)errors->cum[node] * (double)errors->cum[node];
}

static void add_side(struct thicket *thicket, const struct report_model *model, unsigned side,
                     const uint32_t *method_of, const uint32_t *row_of)
{
    uint32_t *sprout_of = memory__zeroed(model->node_count, sizeof(*sprout_of));
    struct report_errors *errors = report_errors__of_nodes(model, thicket->diff->column);

    thicket->diff->has_errors |= errors != NULL;
    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct report_node *node = &model->nodes[i];
        bool is_root = node->parent == REPORT_NONE;

        if (row_of[node->thread] == REPORT_NONE)
            continue;
        struct diff_node like = {
            .parent = is_root ? REPORT_NONE : sprout_of[node->parent],
            .method = method_of[node->method],
            .thread = row_of[node->thread],
            .depth = node->depth,
            .kind = node->kind,
        };
        sprout_of[i] = sprout_for(thicket, &like);
        struct diff_node *sum = &thicket->sprouts[sprout_of[i]].node;
        sum->present[side] = true;
        sum->base[side] += model->base[thicket->diff->column][i];
        sum->calls[side] += model->base[COLUMN_CALLS][i];
        sum->at_least[side] |= report_node__is_partial(model, i);
        if (errors)
            add_errors(sum, side, errors, i);
    }
    report_errors__free(errors);
    free(sprout_of);
}

/* Bases are scaled and then added up, so that the sums hold whatever was rounded. */
static void scale(struct thicket *thicket)
{
    uint64_t total[DIFF_SIDES] = {0};
    uint64_t calls[DIFF_SIDES] = {0};

    for (uint32_t i = 0; i < thicket->count; i++)
        for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
            total[side] += thicket->sprouts[i].node.base[side];
            calls[side] += thicket->sprouts[i].node.calls[side];
        }
    double factor = total[DIFF_A] ? (double)total[DIFF_B] / (double)total[DIFF_A] : 1;
    for (uint32_t i = 0; i < thicket->count; i++) {
        struct diff_node *node = &thicket->sprouts[i].node;

        node->base[DIFF_A] = diff_tree__scaled(node->base[DIFF_A], total);
        node->calls[DIFF_A] = diff_tree__scaled(node->calls[DIFF_A], calls);
        node->base_squares[DIFF_A] *= factor * factor;
        node->cum_squares[DIFF_A] *= factor * factor;
    }
}

static void sum_up(struct thicket *thicket)
{
    for (uint32_t i = thicket->count; i-- > 0;) {
        struct diff_node *node = &thicket->sprouts[i].node;

        for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
            node->cum[side] += node->base[side];
            node->cum_at_least[side] |= node->at_least[side];
            if (node->parent == REPORT_NONE)
                continue;
            struct diff_node *parent = &thicket->sprouts[node->parent].node;
            parent->cum[side] += node->cum[side];
            parent->cum_at_least[side] |= node->cum_at_least[side];
        }
    }
}

static int compare_methods(const struct report_diff *diff, uint32_t x, uint32_t y)
{
    const struct report_method *a = &diff->methods[x];
    const struct report_method *b = &diff->methods[y];
    int order = text__compare(a->class_name, b->class_name);

    if (!order)
        order = text__compare(a->name, b->name);
    return order ? order : text__compare(a->signature, b->signature);
}

static int compare_siblings(const void *a, const void *b, void *context)
{
    const struct thicket *thicket = context;
    const struct diff_node *x = &thicket->sprouts[*(const uint32_t *)a].node;
    const struct diff_node *y = &thicket->sprouts[*(const uint32_t *)b].node;
    int order = 0;

    if (!thicket->request->steady)
        order = diff_change__compare(diff_change__of(x->cum), diff_change__of(y->cum));
    if (!order)
        order = diff_change__compare(diff_change__of(x->calls), diff_change__of(y->calls));
    if (!order)
        order = compare_methods(thicket->diff, x->method, y->method);
    return order ? order : x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* The walk that puts the sprouts into tree order. */
struct layout {
    struct thicket *thicket;
    uint32_t *stack;  /* to do: every node once at most, the next one on top */
    uint32_t *placed; /* by sprout: its index in the diff */
    uint32_t *active; /* by method: how often it is on the path */
    uint32_t *path;   /* nodes of the diff, from the root */
    size_t height;
    size_t depth;
};

static void leave_to(struct layout *layout, size_t depth)
{
    struct report_diff *diff = layout->thicket->diff;

    while (layout->depth > depth) {
        struct diff_node *node = &diff->nodes[layout->path[--layout->depth]];

        node->end = diff->node_count;
        layout->active[node->method]--;
    }
}

static void push_children(struct layout *layout, uint32_t child)
{
    struct thicket *thicket = layout->thicket;
    size_t bottom = layout->height;

    for (; child != REPORT_NONE; child = thicket->sprouts[child].next_sibling)
        layout->stack[layout->height++] = child;
    qsort_r(layout->stack + bottom, layout->height - bottom, sizeof(*layout->stack),
            compare_siblings, thicket);
    for (size_t low = bottom, high = layout->height; low + 1 < high; low++) {
        uint32_t swapped = layout->stack[low];

        layout->stack[low] = layout->stack[--high];
        layout->stack[high] = swapped;
    }
}

static void place(struct layout *layout, uint32_t index)
{
    struct thicket *thicket = layout->thicket;
    struct report_diff *diff = thicket->diff;
    const struct sprout *sprout = &thicket->sprouts[index];

    leave_to(layout, sprout->node.depth);
    uint32_t at = diff->node_count++;
    struct diff_node *node = &diff->nodes[at];
    *node = sprout->node;
    if (node->parent != REPORT_NONE)
        node->parent = layout->placed[node->parent];
    node->level = layout->active[node->method]++;
    layout->placed[index] = at;
    layout->path[layout->depth++] = at;
    push_children(layout, sprout->first_child);
}

static void lay_out(struct thicket *thicket)
{
    struct report_diff *diff = thicket->diff;
    struct layout layout = {.thicket = thicket};

    layout.stack = memory__zeroed(thicket->count, sizeof(*layout.stack));
    layout.placed = memory__zeroed(thicket->count, sizeof(*layout.placed));
    layout.path = memory__zeroed(thicket->count, sizeof(*layout.path));
    layout.active = memory__zeroed(diff->method_count, sizeof(*layout.active));
    diff->nodes = memory__zeroed(thicket->count, sizeof(*diff->nodes));
    for (uint32_t thread = 0; thread < diff->thread_count; thread++) {
        diff->threads[thread].first_node = diff->node_count;
        push_children(&layout, thicket->roots[thread]);
        while (layout.height > 0)
            place(&layout, layout.stack[--layout.height]);
        leave_to(&layout, 0);
        diff->threads[thread].end_node = diff->node_count;
    }
    free(layout.stack);
    free(layout.placed);
    free(layout.path);
    free(layout.active);
}

void diff_tree__build(struct report_diff *diff, const struct report_model *const models[DIFF_SIDES],
                      uint32_t *const method_of[DIFF_SIDES], uint32_t *const row_of[DIFF_SIDES],
                      const struct diff_request *request)
{
    struct thicket thicket = {.diff = diff, .request = request};

    thicket.sprouts = memory__grown(NULL, &thicket.room, 1, sizeof(*thicket.sprouts));
    thicket.roots = memory__zeroed(diff->thread_count, sizeof(*thicket.roots));
    for (uint32_t i = 0; i < diff->thread_count; i++)
        thicket.roots[i] = REPORT_NONE;
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
        add_side(&thicket, models[side], side, method_of[side], row_of[side]);
    if (request->normalize)
        scale(&thicket);
    sum_up(&thicket);
    lay_out(&thicket);
    index_table__release(&thicket.children);
    free(thicket.sprouts);
    free(thicket.roots);
}

static bool differs(const struct diff_node *node)
{
    return node->base[DIFF_A] != node->base[DIFF_B] || node->cum[DIFF_A] != node->cum[DIFF_B] ||
           node->calls[DIFF_A] != node->calls[DIFF_B] ||
           node->present[DIFF_A] != node->present[DIFF_B];
}

static int compare_changes(const void *a, const void *b, void *context)
{
    const struct report_diff *diff = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    int order = diff_change__compare(diff_change__of(diff->nodes[x].cum),
                                     diff_change__of(diff->nodes[y].cum));

    return order ? order : x < y ? -1 : x > y;
}

bool *report_diff__changed(const struct report_diff *diff, uint32_t top)
{
    bool *shown = memory__zeroed(diff->node_count, sizeof(*shown));
    uint32_t *nodes = memory__zeroed(diff->node_count, sizeof(*nodes));
    uint32_t count = 0;

    for (uint32_t i = 0; i < diff->node_count; i++)
        if (differs(&diff->nodes[i]))
            nodes[count++] = i;
    if (top && top < count)
        qsort_r(nodes, count, sizeof(*nodes), compare_changes, (void *)diff);
    for (uint32_t i = 0; i < count && (!top || i < top); i++)
        shown[nodes[i]] = true;
    for (uint32_t i = diff->node_count; i-- > 0;)
        if (shown[i] && diff->nodes[i].parent != REPORT_NONE)
            shown[diff->nodes[i].parent] = true;
    free(nodes);
    return shown;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct report_diff *diff = context;
    const struct diff_flat_row *x = a;
    const struct diff_flat_row *y = b;
    int order = diff_change__compare(diff_change__of(x->base), diff_change__of(y->base));

    if (!order)
        order = diff_change__compare(diff_change__of(x->cum), diff_change__of(y->cum));
    if (!order)
        order = diff_change__compare(diff_change__of(x->calls), diff_change__of(y->calls));
    return order ? order : compare_methods(diff, x->method, y->method);
}

uint64_t diff_change__error(const double squares[DIFF_SIDES])
{
    return report_errors__of_squares(squares[DIFF_A] + squares[DIFF_B]);
}

struct diff_flat_row *report_diff__flat(const struct report_diff *diff, uint32_t *count)
{
    struct diff_flat_row *rows = memory__zeroed(diff->method_count, sizeof(*rows));

    for (uint32_t i = 0; i < diff->node_count; i++) {
        const struct diff_node *node = &diff->nodes[i];
        struct diff_flat_row *row = &rows[node->method];

        for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
            row->present[side] |= node->present[side];
            row->base[side] += node->base[side];
            row->calls[side] += node->calls[side];
            row->at_least[side] |= node->at_least[side];
            row->cum_at_least[side] |= node->cum_at_least[side];
            row->base_squares[side] += node->base_squares[side];
            row->cum_squares[side] += node->level == 0 ? node->cum_squares[side] : 0;
            if (node->level == 0)
                row->cum[side] += node->cum[side];
        }
    }
    *count = 0;
    for (uint32_t method = 0; method < diff->method_count; method++) {
        if (!rows[method].present[DIFF_A] && !rows[method].present[DIFF_B])
            continue;
        rows[method].method = method;
        rows[(*count)++] = rows[method];
    }
    qsort_r(rows, *count, sizeof(*rows), compare_rows, (void *)diff);
    return rows;
}
