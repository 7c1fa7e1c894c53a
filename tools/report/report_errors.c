#include "tools/report/report_errors.h"

#include "tools/report/memory.h"

#include <math.h>
#include <stdlib.h>

#define Z 1.96

/* The time and samples that the frames below an exact node share, at the exact node's index. */
struct shared {
    uint64_t amount_ns;
    uint64_t samples;
};

struct estimate {
    const struct report_model *model;
    enum report_column column;
    uint32_t *exact;       /* by node: the exact node that it hangs under, or itself */
    uint64_t *cum_samples; /* by node: of it and of all sampled frames below it */
    struct shared *shared; /* by exact node */
};

const enum report_column report_error_columns[REPORT_ERROR_COLUMNS] = {COLUMN_CPU, COLUMN_WALL};

static uint64_t rounded(double ns)
{
    return ns + 0.5 < 0x1p64 ? (uint64_t)(ns + 0.5) : UINT64_MAX;
}

uint64_t report_errors__of_squares(double sum_of_squares)
{
    return rounded(sqrt(sum_of_squares));
}

/* The error of the part of `amount` that `part` of `whole` samples stand for. */
static uint64_t error_of_part(uint64_t amount, uint64_t part, uint64_t whole)
{
    if (whole == 0 || part > whole)
        return 0;
    double n = (double)whole;
    double p = (double)part / n;
    double widening = 1 + Z * Z / n;
    double centre = (p + Z * Z / (2 * n)) / widening;
    double half = Z / widening * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n));
    double error = fmax(centre + half - p, p - centre + half);
    return rounded((double)amount * error);
}

enum report_column report_errors__column(const struct ledger_header *header)
{
    uint32_t modes = header->sample_modes ? header->sample_modes : 1u << (header->sample_mode & 3);

    return modes & 1u << LEDGER_SAMPLE_WALL && !(modes & 1u << LEDGER_SAMPLE_CPU) ? COLUMN_WALL
                                                                                  : COLUMN_CPU;
}

static bool is_frame(const struct report_model *model, uint32_t node)
{
    return ledger_node_kind__is_sampled(model->nodes[node].kind) &&
           model->nodes[node].kind != NODE_UNSEEN;
}

static uint64_t samples_of(const struct estimate *estimate, uint32_t node)
{
    const struct report_samples *samples = &estimate->model->samples[node];

    return estimate->column == COLUMN_WALL ? samples->wall : samples->cpu;
}

static void add_up(struct estimate *estimate)
{
    const struct report_model *model = estimate->model;

    for (uint32_t i = 0; i < model->node_count; i++) {
        uint32_t exact = is_frame(model, i) ? estimate->exact[model->nodes[i].parent] : i;

        estimate->exact[i] = exact;
        estimate->cum_samples[i] = samples_of(estimate, i);
        if (model->nodes[i].kind == NODE_UNSEEN)
            continue;
        estimate->shared[exact].samples += estimate->cum_samples[i];
        estimate->shared[exact].amount_ns += model->base[estimate->column][i];
    }
    for (uint32_t i = model->node_count; i-- > 0;)
        if (is_frame(model, i) && is_frame(model, model->nodes[i].parent))
            estimate->cum_samples[model->nodes[i].parent] += estimate->cum_samples[i];
}

static void judge(const struct estimate *estimate, struct report_errors *errors)
{
    const struct report_model *model = estimate->model;

    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct shared *shared = &estimate->shared[estimate->exact[i]];

        if (model->nodes[i].kind == NODE_UNSEEN) {
            errors->base[i] = errors->cum[i] = model->samples[i].seen_ns;
        } else if (shared->samples) {
            errors->base[i] =
                error_of_part(shared->amount_ns, samples_of(estimate, i), shared->samples);
            if (is_frame(model, i))
                errors->cum[i] =
                    error_of_part(shared->amount_ns, estimate->cum_samples[i], shared->samples);
        }
    }
}

static struct report_errors *make(uint32_t count)
{
    struct report_errors *errors = memory__zeroed(1, sizeof(*errors));

    errors->base = memory__zeroed(count, sizeof(*errors->base));
    errors->cum = memory__zeroed(count, sizeof(*errors->cum));
    return errors;
}

static bool has_wall_samples(const struct report_model *model)
{
    for (uint32_t i = 0; i < model->node_count; i++)
        if (model->samples[i].wall)
            return true;
    return false;
}

bool report_errors__are_known(const struct report_model *model, enum report_column column)
{
    return model->samples && (column == COLUMN_CPU || column == COLUMN_WALL) && model->base[column];
}

/* Where there are no wall samples, a frame's wall time is its CPU time. */
struct report_errors *report_errors__of_nodes(const struct report_model *model,
                                              enum report_column column)
{
    if (!report_errors__are_known(model, column))
        return NULL;
    struct estimate estimate = {.model = model, .column = column};
    if (column == COLUMN_WALL && !has_wall_samples(model))
        estimate.column = COLUMN_CPU;
    estimate.exact = memory__zeroed(model->node_count, sizeof(*estimate.exact));
    estimate.cum_samples = memory__zeroed(model->node_count, sizeof(*estimate.cum_samples));
    estimate.shared = memory__zeroed(model->node_count, sizeof(*estimate.shared));
    struct report_errors *errors = make(model->node_count);
    add_up(&estimate);
    judge(&estimate, errors);
    free(estimate.exact);
    free(estimate.cum_samples);
    free(estimate.shared);
    return errors;
}

static void add_square(double *sum, uint64_t error)
{
    *sum += (double)error * (double)error;
}

struct report_errors *report_errors__of_methods(const struct report_model *model,
                                                const bool *selected, enum report_column column)
{
    struct report_errors *nodes = report_errors__of_nodes(model, column);

    if (!nodes)
        return NULL;
    struct report_errors *methods = make(model->method_count);
    double *base = memory__zeroed(model->method_count, sizeof(*base));
    double *cum = memory__zeroed(model->method_count, sizeof(*cum));
    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct report_node *node = &model->nodes[i];

        if (!selected[node->thread])
            continue;
        add_square(&base[node->method], nodes->base[i]);
        if (node->level == 0)
            add_square(&cum[node->method], nodes->cum[i]);
    }
    for (uint32_t i = 0; i < model->method_count; i++) {
        methods->base[i] = report_errors__of_squares(base[i]);
        methods->cum[i] = report_errors__of_squares(cum[i]);
    }
    free(base);
    free(cum);
    report_errors__free(nodes);
    return methods;
}

void report_errors__free(struct report_errors *errors)
{
    if (!errors)
        return;
    free(errors->base);
    free(errors->cum);
    free(errors);
}
