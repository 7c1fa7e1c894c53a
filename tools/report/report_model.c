#include "tools/report/report_model.h"

#include "tools/report/memory.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void report_model__free(struct report_model *model)
{
    if (!model)
        return;
    for (uint32_t i = 0; i < model->thread_count; i++)
        free(model->threads[i].renames);
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        free(model->base[column]);
        free(model->cum[column]);
    }
    free(model->threads);
    free(model->kernel_threads);
    free(model->methods);
    free(model->method_records);
    free(model->hookings);
    free(model->nodes);
    free(model->samples);
    free(model->tallies);
    free(model->blocks);
    free(model->holds);
    free(model->latencies);
    free(model->stuck);
    free(model->parts);
    free(model->orders);
    text_store__release(&model->texts);
    free(model);
}

uint64_t report_model__epoch_ns(const struct report_model *model, uint64_t ledger_ns)
{
    return model->header.epoch_ns + ledger_ns;
}

uint64_t report_model__asof_ns(const struct report_model *model)
{
    uint64_t latest = model->header.asof_ns;

    for (uint32_t i = 0; latest == 0 && i < model->thread_count; i++) {
        const struct report_thread *thread = &model->threads[i];
        uint64_t known = thread->end_ns ? thread->end_ns : thread->start_ns;

        latest = known > latest ? known : latest;
    }
    return latest;
}

uint64_t report_model__profiled_to_ns(const struct report_model *model)
{
    return ledger_header__is_stopped(&model->header) ? model->header.since_ns
                                                     : report_model__asof_ns(model);
}

bool report_model__has_virtual_threads(const struct report_model *model)
{
    for (uint32_t i = 0; i < model->thread_count; i++)
        if (model->threads[i].kind == THREAD_VIRTUAL)
            return true;
    return false;
}

uint64_t report_thread__waiting_ns(const struct report_model *model,
                                   const struct report_thread *thread)
{
    uint64_t busy = thread->cpu_ns;

    if (report_columns__of_threads(&model->header) &
        COLUMN_BIT(report_column__of_metric(METRIC_RUN_QUEUE_DELAY)))
        busy += thread->totals[METRIC_RUN_QUEUE_DELAY];
    return thread->wall_ns > busy ? thread->wall_ns - busy : 0;
}

struct text report_thread__folded_name(struct text_store *store, const struct report_thread *thread)
{
    return thread->group_name.length ? thread->group_name
                                     : text__with_digits_folded(store, thread->name);
}

uint64_t report_thread__value(const struct report_thread *thread, enum report_column column)
{
    const uint64_t own[COLUMN_KERNEL] = {
        [COLUMN_CPU] = thread->cpu_ns,
        [COLUMN_WALL] = thread->wall_ns,
        [COLUMN_CALLS] = thread->calls,
        [COLUMN_SAMPLES] = thread->samples,
        [COLUMN_CPU_SAMPLES] = thread->cpu_samples,
        [COLUMN_WALL_SAMPLES] = thread->wall_samples,
    };

    return column < COLUMN_KERNEL ? own[column]
                                  : thread->totals[(unsigned)column - (unsigned)COLUMN_KERNEL];
}

void report_thread__count_samples(const struct report_model *model, struct report_thread *thread)
{
    uint64_t *const counts[] = {&thread->samples, &thread->cpu_samples, &thread->wall_samples};
    bool has_tree = thread->first_node < thread->end_node;

    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const uint64_t *cum = model->cum[(unsigned)COLUMN_SAMPLES + i];

        *counts[i] = has_tree && cum ? cum[thread->first_node] : 0;
    }
}

bool report_thread__knows(const struct report_thread *thread, enum report_column column)
{
    bool runs_java = thread->kind != THREAD_VM && thread->kind != THREAD_NATIVE;

    return runs_java || (unsigned)column != (unsigned)COLUMN_KERNEL + METRIC_MIGRATIONS;
}

const char *report_thread_kind__name(enum ledger_thread_kind kind)
{
    static const char *const names[] = {
        [THREAD_PLATFORM] = "platform", [THREAD_VIRTUAL] = "virtual",
        [THREAD_CARRIER] = "carrier",   [THREAD_VM] = "vm",
        [THREAD_NATIVE] = "native",
    };

    return names[kind];
}

const char *report_node_kind__name(enum ledger_node_kind kind)
{
    static const char *const names[] = {
        [NODE_ROOT] = "exact",      [NODE_EXACT] = "exact",        [NODE_GAP] = "gap",
        [NODE_SAMPLED] = "sampled", [NODE_NATIVE] = "native",      [NODE_KERNEL] = "native",
        [NODE_FOLDED] = "folded",   [NODE_UNSEEN] = "not_sampled", [NODE_LOGICAL] = "logical",
    };

    return names[kind];
}

const char *report_node__mark(const struct report_model *model, uint32_t index)
{
    const struct report_node *node = &model->nodes[index];

    switch (node->kind) {
    case NODE_EXACT:
        return report_method__is_native_function(&model->methods[node->method]) ? "N" : "J";
    case NODE_SAMPLED:
        return model->samples[index].interpreted > model->cum[COLUMN_SAMPLES][index] / 2 ? "I"
                                                                                         : "J";
    case NODE_NATIVE:
        return "N";
    case NODE_KERNEL:
        return "K";
    default:
        return "";
    }
}

bool *report_model__select(const struct report_model *model, const char *glob)
{
    bool *selected = memory__zeroed(model->thread_count, sizeof(*selected));

    for (uint32_t i = 0; i < model->thread_count; i++)
        selected[i] = !model->threads[i].is_idle &&
                      (!glob || fnmatch(glob, model->threads[i].name.bytes, 0) == 0);
    return selected;
}
