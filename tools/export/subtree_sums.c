#include "tools/export/subtree_sums.h"

#include "tools/report/memory.h"

#include <math.h>
#include <stdlib.h>

struct subtree_sums {
    const struct report_model *model;
    uint32_t *first; /* by method: its first outermost node, or REPORT_NONE */
    uint32_t *next;  /* by node: the same method's next one */
    uint64_t *nodes; /* by method: in the subtrees of its outermost nodes */
    uint32_t *met;   /* methods below the one asked for */
    uint32_t met_count;
    bool *is_met; /* by method */
    uint64_t *values[COLUMN_COUNT];
    struct report_errors *errors[REPORT_ERROR_COLUMNS]; /* of nodes; or NULL */
    double *squares[REPORT_ERROR_COLUMNS];              /* by method: of these, summed up */
};

static void make_errors(struct subtree_sums *sums)
{
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++) {
        sums->errors[i] = report_errors__of_nodes(sums->model, report_error_columns[i]);
        if (sums->errors[i])
            sums->squares[i] = memory__zeroed(sums->model->method_count, sizeof(double));
    }
}

struct subtree_sums *subtree_sums__new(const struct report_model *model, const bool *selected)
{
    struct subtree_sums *sums = memory__zeroed(1, sizeof(*sums));

    sums->model = model;
    sums->first = memory__zeroed(model->method_count, sizeof(*sums->first));
    sums->next = memory__zeroed(model->node_count, sizeof(*sums->next));
    sums->nodes = memory__zeroed(model->method_count, sizeof(*sums->nodes));
    sums->met = memory__zeroed(model->method_count, sizeof(*sums->met));
    sums->is_met = memory__zeroed(model->method_count, sizeof(*sums->is_met));
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        if (model->base[column])
            sums->values[column] = memory__zeroed(model->method_count, sizeof(uint64_t));
    make_errors(sums);
    for (uint32_t i = 0; i < model->method_count; i++)
        sums->first[i] = REPORT_NONE;
    for (uint32_t i = model->node_count; i-- > 0;) {
        const struct report_node *node = &model->nodes[i];

        if (node->level || !selected[node->thread])
            continue;
        sums->next[i] = sums->first[node->method];
        sums->first[node->method] = i;
        sums->nodes[node->method] += node->end - i;
    }
    return sums;
}

void subtree_sums__free(struct subtree_sums *sums)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        free(sums->values[column]);
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++) {
        report_errors__free(sums->errors[i]);
        free(sums->squares[i]);
    }
    free(sums->first);
    free(sums->next);
    free(sums->nodes);
    free(sums->met);
    free(sums->is_met);
    free(sums);
}

bool subtree_sums__is_wide(const struct subtree_sums *sums, uint32_t method)
{
    return sums->nodes[method] > SUBTREE_NODES;
}

static void forget(struct subtree_sums *sums)
{
    for (uint32_t i = 0; i < sums->met_count; i++) {
        sums->is_met[sums->met[i]] = false;
        for (size_t column = 0; column < COLUMN_COUNT; column++)
            if (sums->values[column])
                sums->values[column][sums->met[i]] = 0;
        for (size_t column = 0; column < REPORT_ERROR_COLUMNS; column++)
            if (sums->squares[column])
                sums->squares[column][sums->met[i]] = 0;
    }
    sums->met_count = 0;
}

static void add_errors(struct subtree_sums *sums, uint32_t top)
{
    const struct report_model *model = sums->model;

    for (size_t column = 0; column < REPORT_ERROR_COLUMNS; column++) {
        double *squares = sums->squares[column];

        for (uint32_t i = top; squares && i < model->nodes[top].end; i++) {
            double error = (double)sums->errors[column]->base[i];

            squares[model->nodes[i].method] += error * error;
        }
    }
}

static void add_subtree(struct subtree_sums *sums, uint32_t top)
{
    const struct report_model *model = sums->model;

    for (uint32_t i = top; i < model->nodes[top].end; i++) {
        uint32_t method = model->nodes[i].method;

        if (!sums->is_met[method])
            sums->met[sums->met_count++] = method;
        sums->is_met[method] = true;
    }
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        uint64_t *values = sums->values[column];

        for (uint32_t i = top; values && i < model->nodes[top].end; i++) {
            uint64_t *sum = &values[model->nodes[i].method];

            if (__builtin_add_overflow(*sum, model->base[column][i], sum))
                *sum = UINT64_MAX;
        }
    }
}

const uint32_t *subtree_sums__methods(struct subtree_sums *sums, uint32_t top, uint32_t *count)
{
    forget(sums);
    for (uint32_t i = sums->first[top]; i != REPORT_NONE; i = sums->next[i]) {
        add_subtree(sums, i);
        add_errors(sums, i);
    }
    *count = sums->met_count;
    return sums->met;
}

uint64_t subtree_sums__base(const struct subtree_sums *sums, uint32_t method,
                            enum report_column column)
{
    return sums->values[column][method];
}

uint64_t subtree_sums__error(const struct subtree_sums *sums, uint32_t method, size_t column)
{
    return (uint64_t)(sqrt(sums->squares[column][method]) + 0.5);
}
