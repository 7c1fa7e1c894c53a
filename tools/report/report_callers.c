#include "tools/report/report_callers.h"

#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

enum edge_part { PART_BASE, PART_PARENT, PART_CHILD, EDGE_PARTS };

/* Edges while they are being found: an open-addressing hash table from (caller, callee) to the
 * edge's number, and the values of each edge behind each other. */
struct edge_table {
    struct edge_slot {
        uint64_t pair; /* caller << 32 | callee */
        uint32_t edge; /* 1 + number; 0: free */
    } * slots;
    size_t slot_count; /* a power of two */
    size_t column_count;
    uint64_t *pairs;
    size_t pair_room;
    uint64_t *values; /* an edge: base, parent_cum, child_cum, each of column_count */
    size_t value_room;
    double *squares; /* an edge: of the errors of its three parts */
    size_t square_room;
    uint32_t edge_count;
};

static size_t slot_of(const struct edge_table *table, uint64_t pair)
{
    size_t slot = (size_t)((pair * 0x9e3779b97f4a7c15u) >> 20) & (table->slot_count - 1);

    while (table->slots[slot].edge && table->slots[slot].pair != pair)
        slot = (slot + 1) & (table->slot_count - 1);
    return slot;
}

static void grow_slots(struct edge_table *table)
{
    free(table->slots);
    table->slot_count = table->slot_count ? table->slot_count * 2 : 1024;
    table->slots = memory__zeroed(table->slot_count, sizeof(*table->slots));
    for (uint32_t edge = 0; edge < table->edge_count; edge++)
        table->slots[slot_of(table, table->pairs[edge])] =
            (struct edge_slot){table->pairs[edge], edge + 1};
}

/* A new edge, all of whose values are zero. */
static void add_edge(struct edge_table *table, uint64_t pair)
{
    uint32_t edge = table->edge_count++;
    size_t count = table->edge_count;
    size_t width = EDGE_PARTS * table->column_count;

    table->pairs = memory__grown(table->pairs, &table->pair_room, count, sizeof(*table->pairs));
    table->values =
        memory__grown(table->values, &table->value_room, count * width, sizeof(*table->values));
    table->squares = memory__grown(table->squares, &table->square_room, count * EDGE_PARTS,
                                   sizeof(*table->squares));
    memset(table->values + edge * width, 0, width * sizeof(*table->values));
    for (size_t part = 0; part < EDGE_PARTS; part++)
        table->squares[edge * EDGE_PARTS + part] = 0;
    table->pairs[edge] = pair;
}

static uint32_t edge_of(struct edge_table *table, uint32_t caller, uint32_t callee)
{
    uint64_t pair = (uint64_t)caller << 32 | callee;

    if ((size_t)table->edge_count * 2 >= table->slot_count)
        grow_slots(table);
    struct edge_slot *slot = &table->slots[slot_of(table, pair)];
    if (!slot->edge) {
        add_edge(table, pair);
        *slot = (struct edge_slot){pair, table->edge_count};
    }
    return slot->edge - 1;
}

/* Good until the next edge is found. */
static uint64_t *values_of(struct edge_table *table, uint32_t edge, enum edge_part part)
{
    return table->values + ((size_t)edge * EDGE_PARTS + part) * table->column_count;
}

static void add_error(struct edge_table *table, uint32_t edge, enum edge_part part,
                      const uint64_t *errors, uint32_t node)
{
    double error = errors ? (double)errors[node] : 0;

    table->squares[(size_t)edge * EDGE_PARTS + part] += error * error;
}

/* The walk down one thread's tree: which node stands at each depth of the current path, and which
 * node of each method is the deepest on it. */
struct path {
    uint32_t *node_at; /* by depth */
    size_t room;
    uint32_t depth;
    uint32_t *deepest;  /* by method, REPORT_NONE if not on the path */
    uint32_t *shadowed; /* by node: what deepest was before the node was entered */
};

static void leave_to(struct path *path, const struct report_model *model, uint32_t depth)
{
    while (path->depth > depth) {
        uint32_t node = path->node_at[--path->depth];

        path->deepest[model->nodes[node].method] = path->shadowed[node];
    }
}

static void enter(struct path *path, const struct report_model *model, uint32_t node)
{
    uint32_t method = model->nodes[node].method;

    path->shadowed[node] = path->deepest[method];
    path->deepest[method] = node;
    path->node_at =
        memory__grown(path->node_at, &path->room, (size_t)path->depth + 1, sizeof(*path->node_at));
    path->node_at[path->depth++] = node;
}

static void add_errors(struct edge_table *table, uint32_t edge, const struct report_model *model,
                       const struct report_errors *errors, uint32_t node)
{
    const struct report_node *callee = &model->nodes[node];

    add_error(table, edge, PART_BASE, errors->base, node);
    if (callee->level == 0)
        add_error(table, edge, PART_PARENT, errors->cum, node);
    if (callee->method != model->nodes[callee->parent].method)
        add_error(table, edge, PART_CHILD, errors->cum, node);
}

static void add_call(struct edge_table *table, const struct report_callers *callers,
                     const struct report_model *model, const struct report_errors *errors,
                     uint32_t node)
{
    const struct report_node *callee = &model->nodes[node];
    uint32_t edge = edge_of(table, model->nodes[callee->parent].method, callee->method);
    uint64_t *base = values_of(table, edge, PART_BASE);
    uint64_t *parent_cum = values_of(table, edge, PART_PARENT);
    uint64_t *child_cum = values_of(table, edge, PART_CHILD);

    for (size_t i = 0; i < callers->column_count; i++) {
        enum report_column column = callers->columns[i];

        base[i] += model->base[column][node];
        child_cum[i] += model->cum[column][node];
        if (callee->level == 0)
            parent_cum[i] += model->cum[column][node];
    }
    if (errors)
        add_errors(table, edge, model, errors, node);
}

/* A nested instance: all of it went into the cum of the child through which the outer instance of
 * its method called it. */
static void take_out_nested(struct edge_table *table, const struct report_callers *callers,
                            const struct report_model *model, const struct report_errors *errors,
                            const struct path *path, uint32_t node)
{
    uint32_t method = model->nodes[node].method;
    uint32_t outer = path->shadowed[node];
    uint32_t child = path->node_at[model->nodes[outer].depth + 1];
    uint32_t edge = edge_of(table, method, model->nodes[child].method);
    uint64_t *child_cum = values_of(table, edge, PART_CHILD);

    for (size_t i = 0; i < callers->column_count; i++)
        child_cum[i] -= model->cum[callers->columns[i]][node];
    if (errors && child != node)
        add_error(table, edge, PART_CHILD, errors->cum, node);
}

static void find_edges(struct edge_table *table, const struct report_callers *callers,
                       const struct report_model *model, const bool *selected,
                       const struct report_errors *errors)
{
    struct path path = {0};

    path.deepest = memory__zeroed(model->method_count, sizeof(*path.deepest));
    path.shadowed = memory__zeroed(model->node_count, sizeof(*path.shadowed));
    memset(path.deepest, 0xff, model->method_count * sizeof(*path.deepest));
    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct report_node *node = &model->nodes[i];

        leave_to(&path, model, node->depth);
        enter(&path, model, i);
        if (!selected[node->thread] || node->parent == REPORT_NONE)
            continue;
        add_call(table, callers, model, errors, i);
        if (path.shadowed[i] != REPORT_NONE)
            take_out_nested(table, callers, model, errors, &path, i);
    }
    free(path.node_at);
    free(path.deepest);
    free(path.shadowed);
}

static int compare_callee(const void *a, const void *b)
{
    const struct caller_edge *x = a;
    const struct caller_edge *y = b;

    if (x->callee != y->callee)
        return x->callee < y->callee ? -1 : 1;
    return x->caller < y->caller ? -1 : x->caller > y->caller;
}

static int compare_caller(const void *a, const void *b)
{
    const struct caller_edge *x = a;
    const struct caller_edge *y = b;

    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static uint64_t error_of(const struct edge_table *table, uint32_t edge, enum edge_part part)
{
    return report_errors__of_squares(table->squares[(size_t)edge * EDGE_PARTS + part]);
}

static void lay_out(struct report_callers *callers, const struct edge_table *table,
                    uint32_t method_count)
{
    uint32_t count = table->edge_count;
    size_t width = callers->column_count;

    callers->edge_count = count;
    callers->by_callee = memory__zeroed(count, sizeof(*callers->by_callee));
    callers->by_caller = memory__zeroed(count, sizeof(*callers->by_caller));
    callers->first_parent = memory__zeroed((size_t)method_count + 1, sizeof(uint32_t));
    callers->first_child = memory__zeroed((size_t)method_count + 1, sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *base = table->values + i * EDGE_PARTS * width;

        callers->by_callee[i] = callers->by_caller[i] = (struct caller_edge){
            .caller = (uint32_t)(table->pairs[i] >> 32),
            .callee = (uint32_t)table->pairs[i],
            .base = base,
            .parent_cum = base + width,
            .child_cum = base + 2 * width,
            .base_error = error_of(table, i, PART_BASE),
            .parent_error = error_of(table, i, PART_PARENT),
            .child_error = error_of(table, i, PART_CHILD),
        };
        callers->first_parent[callers->by_callee[i].callee + 1]++;
        callers->first_child[callers->by_caller[i].caller + 1]++;
    }
    qsort(callers->by_callee, count, sizeof(*callers->by_callee), compare_callee);
    qsort(callers->by_caller, count, sizeof(*callers->by_caller), compare_caller);
    for (uint32_t method = 0; method < method_count; method++) {
        callers->first_parent[method + 1] += callers->first_parent[method];
        callers->first_child[method + 1] += callers->first_child[method];
    }
}

struct report_callers *report_callers__new(const struct report_model *model, const bool *selected,
                                           const struct report_errors *errors)
{
    struct report_callers *callers = memory__zeroed(1, sizeof(*callers));

    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (model->base[column])
            callers->columns[callers->column_count++] = column;
    struct edge_table table = {.column_count = callers->column_count};
    find_edges(&table, callers, model, selected, errors);
    lay_out(callers, &table, model->method_count);
    callers->values = table.values;
    free(table.slots);
    free(table.pairs);
    free(table.squares);
    return callers;
}

void report_callers__free(struct report_callers *callers)
{
    free(callers->by_callee);
    free(callers->by_caller);
    free(callers->first_parent);
    free(callers->first_child);
    free(callers->values);
    free(callers);
}

size_t report_callers__index(const struct report_callers *callers, enum report_column column)
{
    size_t index = 0;

    while (index + 1 < callers->column_count && callers->columns[index] != column)
        index++;
    return index;
}
