#include "tools/report/report_flat.h"

#include "tools/report/memory.h"

#include <stdlib.h>

static void add_node(struct flat_row *row, const struct report_model *model, uint32_t node)
{
    row->nodes++;
    if (model->nodes[node].level > row->deepest)
        row->deepest = model->nodes[node].level;
    if (model->nodes[node].kind == NODE_EXACT &&
        report_method__is_native_function(&model->methods[row->method]))
        row->kinds |= 1u << NODE_NATIVE;
    else
        row->kinds |= 1u << model->nodes[node].kind;
    if (model->nodes[node].kind == NODE_SAMPLED) {
        row->met += model->cum[COLUMN_SAMPLES][node];
        row->interpreted += model->samples[node].interpreted;
    }
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        if (!model->base[column])
            continue;
        row->base[column] += model->base[column][node];
        if (model->nodes[node].level == 0)
            row->cum[column] += model->cum[column][node];
    }
}

/* Nothing says which thread made a counted call. */
static bool selects_all(const struct report_model *model, const bool *selected)
{
    for (uint32_t i = 0; i < model->thread_count; i++)
        if (!selected[i] && !model->threads[i].is_idle)
            return false;
    return true;
}

static uint64_t counted_calls(const struct report_model *model, uint32_t method)
{
    const struct report_hooking *hooking = report_hooking__of(model, method);

    return hooking ? hooking->counted : 0;
}

static void add_counted(struct flat_row *row, const struct report_model *model)
{
    const struct report_hooking *hooking = report_hooking__of(model, row->method);

    row->counted = counted_calls(model, row->method);
    row->base[COLUMN_CALLS] += row->counted;
    row->cum[COLUMN_CALLS] += row->counted;
    row->knows_calls = hooking && report_hooking__knows_calls(hooking);
}

static struct report_flat *make(const struct report_model *model, const bool *selected,
                                bool counted)
{
    struct report_flat *flat = memory__zeroed(1, sizeof(*flat));
    uint32_t *row_of = memory__zeroed(model->method_count, sizeof(*row_of));

    for (uint32_t i = 0; i < model->node_count; i++)
        if (selected[model->nodes[i].thread])
            row_of[model->nodes[i].method] = 1;
    for (uint32_t method = 0; method < model->method_count; method++)
        if (row_of[method] || (counted && counted_calls(model, method)))
            row_of[method] = flat->row_count++;
        else
            row_of[method] = REPORT_NONE;
    flat->rows = memory__zeroed(flat->row_count, sizeof(*flat->rows));
    for (uint32_t method = 0; method < model->method_count; method++)
        if (row_of[method] != REPORT_NONE)
            flat->rows[row_of[method]].method = method;
    for (uint32_t i = 0; i < model->node_count; i++)
        if (selected[model->nodes[i].thread])
            add_node(&flat->rows[row_of[model->nodes[i].method]], model, i);
    for (uint32_t i = 0; counted && i < flat->row_count; i++)
        add_counted(&flat->rows[i], model);
    free(row_of);
    return flat;
}

struct report_flat *report_flat__new(const struct report_model *model, const bool *selected)
{
    return make(model, selected, false);
}

struct report_flat *report_flat__with_counted(const struct report_model *model,
                                              const bool *selected)
{
    return make(model, selected, selects_all(model, selected));
}

void report_flat__free(struct report_flat *flat)
{
    free(flat->rows);
    free(flat);
}

const char *flat_row__mark(const struct flat_row *row)
{
    if (row->kinds & 1u << NODE_EXACT)
        return "J";
    if (row->kinds & 1u << NODE_SAMPLED)
        return row->interpreted > row->met / 2 ? "I" : "J";
    if (row->kinds & 1u << NODE_NATIVE)
        return "N";
    return row->kinds & 1u << NODE_KERNEL ? "K" : "";
}

bool flat_row__is_partial(const struct report_model *model, const struct flat_row *row)
{
    return row->base[COLUMN_CALLS] && !row->knows_calls && report_hooking__of(model, row->method);
}
