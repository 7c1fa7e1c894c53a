#include "tools/report/report_order.h"

#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

struct sorting {
    const struct report_model *model;
    enum report_column column;
    enum order_key key;
};

static int by_number(uint64_t x, uint64_t y)
{
    return x > y ? -1 : x < y;
}

static int by_index(uint32_t x, uint32_t y)
{
    return x < y ? -1 : x > y;
}

static int by_name(const struct report_method *x, const struct report_method *y)
{
    int order = strcmp(x->class_name.bytes, y->class_name.bytes);

    return order ? order : strcmp(x->name.bytes, y->name.bytes);
}

static int compare(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    const struct report_model *model = sorting->model;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    int order = 0;

    switch (sorting->key) {
    case ORDER_BY_CUM:
        order = by_number(model->cum[sorting->column][x], model->cum[sorting->column][y]);
        break;
    case ORDER_BY_BASE:
        order = by_number(model->base[sorting->column][x], model->base[sorting->column][y]);
        break;
    case ORDER_BY_CALLS:
        order = by_number(model->base[COLUMN_CALLS][x], model->base[COLUMN_CALLS][y]);
        break;
    case ORDER_BY_NAME:
        order = by_name(&model->methods[model->nodes[x].method],
                        &model->methods[model->nodes[y].method]);
        break;
    }
    return order ? order : by_index(x, y);
}

static uint64_t sum_of(const struct sorting *sorting, uint32_t thread)
{
    const struct report_thread *row = &sorting->model->threads[thread];

    return row->first_node < row->end_node ? sorting->model->cum[sorting->column][row->first_node]
                                           : 0;
}

static int compare_threads(const void *a, const void *b, void *context)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    int order = by_number(sum_of(context, x), sum_of(context, y));

    return order ? order : by_index(x, y);
}

uint32_t *report_order__threads(const struct report_model *model, enum report_column column)
{
    struct sorting sorting = {.model = model, .column = column};
    uint32_t *order = memory__zeroed(model->thread_count, sizeof(*order));

    for (uint32_t i = 0; i < model->thread_count; i++)
        order[i] = i;
    qsort_r(order, model->thread_count, sizeof(*order), compare_threads, &sorting);
    return order;
}

uint32_t *report_order__tree(const struct report_model *model, uint32_t thread,
                             enum report_column column, enum order_key key)
{
    struct sorting sorting = {model, column, key};
    uint32_t first = model->threads[thread].first_node;
    uint32_t count = model->threads[thread].end_node - first;
    uint32_t *order = memory__zeroed(count, sizeof(*order));
    /* To do: at most every node once, the next one on top. */
    uint32_t *stack = memory__zeroed(count, sizeof(*stack));
    size_t height = 0;
    size_t written = 0;

    if (count)
        stack[height++] = first;
    while (height > 0) {
        uint32_t node = stack[--height];

        order[written++] = node;
        size_t bottom = height;
        for (uint32_t child = node + 1; child < model->nodes[node].end;
             child = model->nodes[child].end)
            stack[height++] = child;
        qsort_r(stack + bottom, height - bottom, sizeof(*stack), compare, &sorting);
        for (size_t low = bottom, high = height; low + 1 < high; low++) {
            uint32_t swapped = stack[low];

            stack[low] = stack[--high];
            stack[high] = swapped;
        }
    }
    free(stack);
    return order;
}

bool *report_order__heaviest(const struct report_model *model, const bool *selected,
                             enum report_column column, uint32_t top)
{
    struct sorting sorting = {model, column, ORDER_BY_CUM};
    bool *kept = memory__zeroed(model->node_count, sizeof(*kept));
    uint32_t *nodes = memory__zeroed(model->node_count, sizeof(*nodes));
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->node_count; i++)
        if (selected[model->nodes[i].thread])
            nodes[count++] = i;
    if (top && top < count)
        qsort_r(nodes, count, sizeof(*nodes), compare, &sorting);
    for (uint32_t i = 0; i < count && (!top || i < top); i++)
        kept[nodes[i]] = true;
    free(nodes);
    return kept;
}
