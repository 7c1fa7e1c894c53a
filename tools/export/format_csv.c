/* CSV: one row a node, in tree order, with all metrics. */
#include "tools/export/call_path.h"
#include "tools/export/export_format.h"
#include "tools/export/frame_names.h"
#include "tools/report/memory.h"
#include "tools/report/report_errors.h"
#include "tools/views/view_losses.h"
#include "tools/views/view_rows.h"

#include <stdlib.h>

static const char *const heads[] = {"node",   "parent",    "thread", "thread_kind", "tids",
                                    "level",  "recursion", "kind",   "path",        "class",
                                    "method", "signature", "calls"};

struct csv_writer {
    const struct export_job *job;
    struct csv csv;
    struct frame_names names;
    struct call_path path;
    struct report_errors *errors[REPORT_ERROR_COLUMNS]; /* NULL: not known */
    const char *thread; /* cells that are the same for all nodes of a thread */
    char **methods;     /* and of a method; by index, NULL as long as none was met */
};

static void write_tids(struct csv *csv, const struct report_thread *thread)
{
    char tids[LEDGER_THREAD_TIDS * 12 + 1] = "";
    size_t at = 0;

    for (uint32_t i = 0; i < thread_tids__known(thread); i++)
        at += (size_t)snprintf(tids + at, sizeof(tids) - at, "%s%d", i ? " " : "", thread->tids[i]);
    csv__word(csv, tids);
}

static void write_values(struct csv_writer *writer, uint64_t *const columns[], uint32_t index)
{
    uint64_t values[COLUMN_COUNT] = {0};

    for (size_t column = 0; column < COLUMN_COUNT; column++)
        if (columns[column])
            values[column] = columns[column][index];
    view_row__csv_values(&writer->csv, writer->job->model, values);
}

/* Class, name and signature as they stand in a record, made once for each method. */
static void write_method(struct csv_writer *writer, uint32_t method)
{
    char **cells = &writer->methods[method];

    if (!*cells) {
        size_t length;
        struct csv csv = {.out = open_memstream(cells, &length)};

        if (csv.out) {
            view_row__csv_method(&csv, writer->job->model, method);
            fclose(csv.out);
        }
    }
    csv__cells(&writer->csv, *cells ? *cells : ",,");
}

static void write_node(struct csv_writer *writer, uint32_t index)
{
    const struct report_model *model = writer->job->model;
    const struct report_node *node = &model->nodes[index];
    struct csv *csv = &writer->csv;

    csv__integer(csv, index);
    if (node->parent == REPORT_NONE)
        csv__empty(csv);
    else
        csv__integer(csv, node->parent);
    csv__cells(csv, writer->thread);
    csv__integer(csv, node->depth);
    csv__integer(csv, node->level);
    csv__word(csv, report_node_kind__name(node->kind));
    csv__word(csv, call_path__text(&writer->path).bytes);
    write_method(writer, node->method);
    csv__integer(csv, model->base[COLUMN_CALLS][index]);
    write_values(writer, model->base, index);
    write_values(writer, model->cum, index);
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        view_row__csv_errors(csv, writer->errors[i], index);
    if (model->header.recursion)
        csv__integer(csv, node->level_max);
    csv__end_record(csv);
}

/* Name, kind and tids, once for all of its nodes. To be freed. */
static char *thread_cells(const struct report_thread *thread)
{
    char *cells = NULL;
    size_t length;
    struct csv csv = {.out = open_memstream(&cells, &length)};

    if (!csv.out)
        return NULL;
    csv__text(&csv, thread->name);
    csv__word(&csv, report_thread_kind__name(thread->kind));
    write_tids(&csv, thread);
    fclose(csv.out);
    return cells;
}

static void write_thread(struct csv_writer *writer, const struct report_thread *thread)
{
    const struct report_model *model = writer->job->model;
    char *cells = thread_cells(thread);

    writer->thread = cells ? cells : ",,";
    for (uint32_t i = thread->first_node; i < thread->end_node; i++) {
        const struct report_node *node = &model->nodes[i];

        if (node->depth == 0)
            call_path__leave_all(&writer->path);
        else
            call_path__enter(&writer->path, node->depth - 1, writer->names.items[node->method]);
        write_node(writer, i);
    }
    free(cells);
}

static void write_error_heads(struct csv_writer *writer)
{
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++) {
        const char *name = report_column__name(report_error_columns[i]);
        char head[64];

        if (!writer->errors[i])
            continue;
        snprintf(head, sizeof(head), "base_%s_error_ns", name);
        csv__word(&writer->csv, head);
        snprintf(head, sizeof(head), "cum_%s_error_ns", name);
        csv__word(&writer->csv, head);
    }
}

int format_csv__write(const struct export_job *job, FILE *out, const char *path)
{
    (void)path;
    struct csv_writer writer = {.job = job, .csv = {.out = out}};
    writer.methods = memory__zeroed(job->model->method_count, sizeof(*writer.methods));
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        writer.errors[i] = report_errors__of_nodes(job->model, report_error_columns[i]);
    frame_names__make(&writer.names, job->model, job->selected);
    frame_names__escape(&writer.names, job->model);
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&writer.csv, heads[i]);
    view_row__csv_heads(&writer.csv, job->model, "base");
    view_row__csv_heads(&writer.csv, job->model, "cum");
    write_error_heads(&writer);
    if (job->model->header.recursion)
        csv__word(&writer.csv, "recursion_max");
    csv__end_record(&writer.csv);
    for (uint32_t i = 0; i < job->model->thread_count && !ferror(out); i++)
        if (job->selected[i])
            write_thread(&writer, &job->model->threads[i]);
    view_losses__csv(out, job->model, job->source);
    for (uint32_t i = 0; i < job->model->method_count; i++)
        free(writer.methods[i]);
    free(writer.methods);
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        report_errors__free(writer.errors[i]);
    call_path__release(&writer.path);
    frame_names__release(&writer.names);
    return 0;
}
