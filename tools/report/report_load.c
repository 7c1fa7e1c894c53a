/* From a ledger's records to a report's arrays. */
#include "tools/report/kernel_share.h"
#include "tools/report/loader.h"
#include "tools/report/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void loader__skip(struct loader *loader, ledger_ref ref, const char *format, ...)
{
    struct report_model *model = loader->model;

    if (model->skipped++ > 0)
        return;
    int at = snprintf(model->skipped_where, sizeof(model->skipped_where), "byte %" PRIu64 ": ",
                      (uint64_t)ref * LEDGER_CELL_BYTES);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->skipped_where + at, sizeof(model->skipped_where) - (size_t)at, format,
              arguments);
    va_end(arguments);
}

bool loader__is_being_written(const struct loader *loader)
{
    return loader->model->life == LEDGER_IS_LIVE;
}

struct text loader__text(struct loader *loader, ledger_ref ref, ledger_ref user)
{
    size_t length;
    const char *bytes = ledger_reader__string(loader->reader, ref, &length);

    if (bytes && !loader->text_of[ref].bytes)
        loader->text_of[ref] = text__from_java(&loader->model->texts, bytes, length);
    if (bytes)
        return loader->text_of[ref];
    if (ref != 0 && !loader__is_being_written(loader))
        loader__skip(loader, user, "ref %" PRIu32 ", expected a string", ref);
    return (struct text){"", 0};
}

uint32_t loader__count_records(const struct loader *loader, enum ledger_table table,
                               ledger_ref *last)
{
    uint32_t count = 0;
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(loader->reader, table, ref)) != 0) {
        count++;
        *last = ref > *last ? ref : *last;
    }
    return count;
}

uint32_t loader__index_or_none(const struct loader *loader, ledger_ref ref)
{
    return ref < loader->refs && loader->index_of[ref] ? loader->index_of[ref] - 1 : REPORT_NONE;
}

/* A damaged ref may be a method's, whose index is no thread's. */
uint32_t loader__thread_or_none(const struct loader *loader, ledger_ref ref)
{
    return ledger_reader__thread(loader->reader, ref) ? loader__index_or_none(loader, ref)
                                                      : REPORT_NONE;
}

/* Breaks cycles of parents, which only damage explains, since no thread can start one of its
 * ancestors. One thread of each cycle then has no known parent. */
static void open_circles(struct loader *loader)
{
    struct report_model *model = loader->model;
    /* By thread: 1 + the thread whose line of parents passed here first. */
    uint32_t *passed = memory__zeroed(model->thread_count, sizeof(*passed));
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(loader->reader, LEDGER_THREADS, ref)) != 0) {
        uint32_t first = loader__index_or_none(loader, ref);

        for (uint32_t at = first; at != REPORT_NONE && !passed[at];) {
            uint32_t parent = model->threads[at].parent;

            passed[at] = first + 1;
            if (parent != REPORT_NONE && passed[parent] == first + 1) {
                loader__skip(loader, ref, "threads that started each other in a circle");
                model->threads[parent].parent = REPORT_NONE;
                break;
            }
            at = parent;
        }
    }
    free(passed);
}

static void sum_up(struct report_model *model)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        if (!model->base[column])
            continue;
        uint64_t *cum = memory__zeroed(model->node_count, sizeof(*cum));
        if (model->node_count)
            memcpy(cum, model->base[column], model->node_count * sizeof(*cum));
        for (uint32_t i = model->node_count; i-- > 0;)
            if (model->nodes[i].parent != REPORT_NONE)
                cum[model->nodes[i].parent] += cum[i];
        model->cum[column] = cum;
    }
    uint64_t asof_ns = report_model__profiled_to_ns(model);
    for (uint32_t i = 0; i < model->thread_count; i++) {
        struct report_thread *thread = &model->threads[i];
        uint64_t life_ns = ledger_header__profiled_life_ns(&model->header, thread->start_ns,
                                                           thread->end_ns, asof_ns);

        /* The tree's sum has what came after the thread's end too; a killed process's has not what
         * was never charged. */
        if (life_ns > thread->wall_ns)
            thread->wall_ns = life_ns;
        if (thread->first_node < thread->end_node) {
            thread->cpu_ns = model->cum[COLUMN_CPU][thread->first_node];
            thread->calls = model->cum[COLUMN_CALLS][thread->first_node];
            report_thread__count_samples(model, thread);
        }
    }
}

/* One more than the last ref of any record that index_of must know. */
static ledger_ref count_refs(const struct loader *loader)
{
    ledger_ref last = 0;

    loader__count_records(loader, LEDGER_METHODS, &last);
    loader__count_records(loader, LEDGER_THREADS, &last);
    loader__count_records(loader, LEDGER_NODES, &last);
    return last + 1;
}

struct report_model *report_model__load_named(const struct ledger_reader *reader, uint64_t columns,
                                              const struct symbol_names *symbols)
{
    struct report_model *model = memory__zeroed(1, sizeof(*model));

    model->header = *ledger_reader__header(reader);
    model->life = ledger_reader__life(reader);
    uint64_t always = COLUMN_BIT(COLUMN_CPU) | COLUMN_BIT(COLUMN_CALLS) |
                      COLUMN_BIT(COLUMN_SAMPLES) | COLUMN_BIT(COLUMN_CPU_SAMPLES) |
                      COLUMN_BIT(COLUMN_WALL_SAMPLES);
    model->columns = (columns | always) & report_columns__of_nodes(&model->header);
    model->present_bytes = ledger_reader__present_bytes(reader);
    model->missing_bytes = ledger_reader__missing_bytes(reader);
    model->skipped = ledger_reader__skipped(reader);
    snprintf(model->skipped_where, sizeof(model->skipped_where), "%s",
             ledger_reader__skipped_where(reader));

    struct loader loader = {.reader = reader, .model = model, .symbols = symbols};
    loader.refs = count_refs(&loader);
    loader.index_of = memory__zeroed(loader.refs, sizeof(*loader.index_of));
    loader.text_of = memory__zeroed(ledger_reader__refs(reader), sizeof(*loader.text_of));
    model->machine = loader__text(&loader, model->header.machine, 0);
    model->jvm = loader__text(&loader, model->header.jvm, 0);
    model->command = loader__text(&loader, model->header.command, 0);
    model->options = loader__text(&loader, model->header.options, 0);
    loader__load_methods(&loader);
    loader__load_threads(&loader);
    loader__load_kernel_threads(&loader);
    loader__load_tallies(&loader);
    loader__load_trees(&loader);
    loader__load_hookings(&loader);
    loader__load_blocks(&loader);
    loader__load_latencies(&loader);
    loader__load_hazards(&loader);
    loader__load_chains(&loader);
    kernel_share__fit(model);
    open_circles(&loader);
    sum_up(model);
    report_latencies__count_calls(model);
    report_hookings__leave_out(model, reader);
    free(loader.index_of);
    free(loader.text_of);
    free(loader.active);
    free(loader.path);
    free(loader.groups);
    return model;
}

struct report_model *report_model__load(const struct ledger_reader *reader, uint64_t columns)
{
    return report_model__load_named(reader, columns, NULL);
}
