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

struct report_flat *report_flat__new(const struct report_model *model, const bool *selected)
{
    struct report_flat *flat = memory__zeroed(1, sizeof(*flat));
    uint32_t *row_of = memory__zeroed(model->method_count, sizeof(*row_of));

    for (uint32_t i = 0; i < model->node_count; i++)
        if (selected[model->nodes[i].thread])
            row_of[model->nodes[i].method] = 1;
    for (uint32_t method = 0; method < model->method_count; method++)
        row_of[method] = row_of[method] ? flat->row_count++ : REPORT_NONE;
    flat->rows = memory__zeroed(flat->row_count, sizeof(*flat->rows));
    for (uint32_t method = 0; method < model->method_count; method++)
        if (row_of[method] != REPORT_NONE)
            flat->rows[row_of[method]].method = method;
    for (uint32_t i = 0; i < model->node_count; i++)
        if (selected[model->nodes[i].thread])
            add_node(&flat->rows[row_of[model->nodes[i].method]], model, i);
    free(row_of);
    return flat;
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
    return row->base[COLUMN_CALLS] && report_hooking__of(model, row->method);
}
