#include "tools/page/html_ledger.h"

#include "tools/arguments/since_argument.h"
#include "tools/output/json_rows.h"
#include "tools/page/html_block.h"
#include "tools/page/html_content.h"
#include "tools/report/memory.h"
#include "tools/report/report_blocks.h"
#include "tools/report/thread_rows.h"
#include "tools/report/wait_parts.h"
#include "tools/symbols/native_symbols.h"
#include "tools/views/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Columns that are loaded at a time: a model with all of them takes several times the ledger. */
#define COLUMNS_AT_A_TIME 3u

struct writer {
    const struct report_model *model;
    const bool *selected;
    FILE *out;
    struct html_block block;
};

static enum html_frame mark_of(const struct report_model *model, uint32_t node)
{
    bool interpreted = strcmp(report_node__mark(model, node), "I") == 0;

    return interpreted ? HTML_FRAME_INTERPRETED : html_content__frame(model->nodes[node].kind);
}

static int write_about(struct writer *writer, const char *path)
{
    const struct ledger_header *header = &writer->model->header;
    uint64_t of_nodes = report_columns__of_nodes(header);
    uint64_t of_threads = report_columns__of_threads(header);
    FILE *stream = html_block__begin_stream(&writer->block, writer->out, "about");

    if (!stream)
        return -ENOMEM;
    json_t *about = json_object();
    json_t *columns = json_array();
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if ((of_nodes | of_threads) & COLUMN_BIT(column))
            json_array_append_new(columns, html_content__column(of_nodes, column));
    json_object_set_new(about, "version", json_string(TREADLE_VERSION));
    json_object_set_new(about, "ledger", html_content__file_name(path));
    json_object_set_new(about, "columns", columns);
    json_object_set_new(about, "losses", html_content__losses(writer->model));
    json_row__write(stream, about);
    html_block__end_stream(&writer->block, stream);
    return 0;
}

static int write_threads(struct writer *writer, const char *path)
{
    struct view view = {
        .model = writer->model, .path = path, .selected = writer->selected, .column = COLUMN_CPU};

    view.screen.out = html_block__begin_stream(&writer->block, writer->out, "facts");
    if (!view.screen.out)
        return -ENOMEM;
    view_process__text(&view);
    view_balance__text(&view);
    html_block__end_stream(&writer->block, view.screen.out);

    view.screen.out = html_block__begin_stream(&writer->block, writer->out, "threads");
    if (!view.screen.out)
        return -ENOMEM;
    int error = view_threads__json(&view);
    html_block__end_stream(&writer->block, view.screen.out);

    html_block__begin(&writer->block, writer->out, "thread-order");
    struct thread_rows *rows = view_threads__rows(&view);
    for (uint32_t i = 0; i < rows->count; i++)
        html_block__number(&writer->block, rows->rows[i].first);
    thread_rows__free(rows);
    html_block__end(&writer->block);
    return error;
}

/* Waits for locks, as the views of locks and blockers have them; nothing if the ledger has none.
 * writer->model has the columns of wait_parts__columns(), or no waits. */
static int write_locks(struct writer *writer, const char *threads)
{
    static const struct {
        const char *name;
        int (*write)(const struct view *view);
    } blocks[] = {{"locks", view_locks__json}, {"blockers", view_blockers__json}};
    struct view view = {.model = writer->model, .selected = writer->selected, .glob = threads};
    int error = 0;

    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]) && !error; i++) {
        if (!report_blocks__are_known(&writer->model->header))
            return 0;
        view.screen.out = html_block__begin_stream(&writer->block, writer->out, blocks[i].name);
        if (!view.screen.out)
            return -ENOMEM;
        error = blocks[i].write(&view);
        html_block__end_stream(&writer->block, view.screen.out);
    }
    return error;
}

/* [method, share_ppm, from_ns, until_ns, counted calls, 1: all calls are known] of each that was
 * not recorded all of the time, on the ledger's clock. */
static int write_hooked(struct writer *writer)
{
    const struct report_model *model = writer->model;
    FILE *stream = html_block__begin_stream(&writer->block, writer->out, "hooked");

    if (!stream)
        return -ENOMEM;
    json_t *rows = json_array();
    for (uint32_t i = 0; i < model->method_count; i++) {
        const struct report_hooking *hooking = report_hooking__of(model, i);

        if (!hooking)
            continue;
        json_t *row = json_array();
        json_array_append_new(row, json_row__integer(i));
        json_array_append_new(row, json_row__integer(report_hooking__share_ppm(hooking)));
        json_array_append_new(row, json_row__integer(hooking->from_ns));
        json_array_append_new(row, json_row__integer(hooking->until_ns));
        json_array_append_new(row, json_row__integer(hooking->counted));
        json_array_append_new(row, json_integer(report_hooking__knows_calls(hooking)));
        json_array_append_new(rows, row);
    }
    json_row__write(stream, rows);
    html_block__end_stream(&writer->block, stream);
    return 0;
}

/* A row a method of latency=; no block without any. */
static int write_latencies(struct writer *writer)
{
    const struct report_model *model = writer->model;
    uint32_t count;
    const struct report_latency **rows = report_latencies__sorted(model, NULL, &count);
    FILE *stream = NULL;

    if (count)
        stream = html_block__begin_stream(&writer->block, writer->out, "latency");
    if (stream) {
        json_t *array = json_array();

        for (uint32_t i = 0; i < count; i++)
            json_array_append_new(array, html_content__latency(rows[i]));
        json_row__write(stream, array);
        html_block__end_stream(&writer->block, stream);
    }
    free(rows);
    return count && !stream ? -ENOMEM : 0;
}

static void write_trees(struct writer *writer)
{
    const struct report_model *model = writer->model;

    html_block__begin(&writer->block, writer->out, "trees");
    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct report_thread *thread = &model->threads[i];

        if (!writer->selected[i] || thread->first_node == thread->end_node)
            continue;
        html_block__number(&writer->block, i);
        html_block__number(&writer->block, thread->end_node - thread->first_node);
    }
    html_block__end(&writer->block);

    uint32_t before = 0; /* depth of the node before */
    html_block__begin(&writer->block, writer->out, "nodes");
    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct report_node *node = &model->nodes[i];

        if (!writer->selected[node->thread])
            continue;
        html_block__number(&writer->block, mark_of(model, i));
        html_block__number(&writer->block, node->depth ? before + 1 - node->depth : 0);
        html_block__number(&writer->block, node->method);
        before = node->depth;
    }
    html_block__end(&writer->block);
}

static void write_levels(struct writer *writer)
{
    const struct report_model *model = writer->model;
    uint64_t between = 0;

    html_block__begin(&writer->block, writer->out, "levels");
    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct report_node *node = &model->nodes[i];

        if (!writer->selected[node->thread])
            continue;
        if (node->level_max == node->level) {
            between++;
            continue;
        }
        html_block__number(&writer->block, between);
        html_block__number(&writer->block, node->level_max);
        between = 0;
    }
    html_block__end(&writer->block);
}

/* How far what no sample saw may be off: the page cannot work that out from samples. */
static void write_unseen_errors(struct writer *writer)
{
    const struct report_model *model = writer->model;
    uint64_t *errors = memory__zeroed(model->node_count, sizeof(*errors));

    for (uint32_t i = 0; i < model->node_count; i++)
        if (model->nodes[i].kind == NODE_UNSEEN)
            errors[i] = model->samples[i].seen_ns;
    html_block__begin(&writer->block, writer->out, "unseen-errors");
    html_content__values(&writer->block, model, writer->selected, errors);
    html_block__end(&writer->block);
    free(errors);
}

static void write_column(struct writer *writer, enum report_column column)
{
    const struct report_model *model = writer->model;
    char name[64];

    snprintf(name, sizeof(name), "column-%s", report_column__name(column));
    html_block__begin(&writer->block, writer->out, name);
    html_content__values(&writer->block, model, writer->selected, model->base[column]);
    html_block__end(&writer->block);
}

static void write_columns(struct writer *writer, uint64_t columns)
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (columns & COLUMN_BIT(column) && writer->model->base[column])
            write_column(writer, column);
}

static bool is_any(const bool *selected, uint32_t count)
{
    return memchr(selected, true, count) != NULL;
}

/* Who really ran follows from what nodes' time consists of: more columns than are loaded at a time.
 */
static int write_locks_of(const struct writer *writer, const struct html_ledger *html,
                          const struct symbol_names *names)
{
    uint64_t columns = wait_parts__columns() & report_columns__of_nodes(&writer->model->header);
    struct writer whole = *writer;

    if (!writer->model->block_count || (writer->model->columns & columns) == columns)
        return write_locks(&whole, html->threads);
    struct report_model *model =
        report_model__load_named(html_moments__last(html->moments)->reader, columns, names);
    whole.model = model;
    int error = write_locks(&whole, html->threads);
    report_model__free(model);
    return error;
}

static int write_first(struct writer *writer, const struct html_ledger *html,
                       const struct symbol_names *names)
{
    if (html->threads && !is_any(writer->selected, writer->model->thread_count))
        return -ESRCH;
    fwrite(html->page->before, 1, html->page->before_bytes, writer->out);
    int error = write_about(writer, html_moments__last(html->moments)->path);
    if (!error)
        error = write_threads(writer, html_moments__last(html->moments)->path);
    if (!error)
        error = html_content__methods(&writer->block, writer->out, writer->model->methods,
                                      writer->model->method_count);
    if (!error)
        error = write_hooked(writer);
    if (!error)
        error = write_locks_of(writer, html, names);
    if (!error)
        error = write_latencies(writer);
    if (error)
        return error;
    write_trees(writer);
    if (writer->model->header.recursion)
        write_levels(writer);
    if (writer->model->samples)
        write_unseen_errors(writer);
    return 0;
}

/* Takes the next few columns out of *left. */
static uint64_t take_columns(uint64_t *left)
{
    uint64_t taken = 0;

    for (unsigned count = 0; *left && count < COLUMNS_AT_A_TIME; count++) {
        taken |= *left & -*left;
        *left &= *left - 1;
    }
    return taken;
}

static int write_moments(const struct html_ledger *html, FILE *out)
{
    struct html_block block;

    return html_moments__write_list(html->moments, &block, out);
}

/* Of an interval the contexts in which nothing happened are gone, and only all columns together
 * tell which: these are loaded at once. */
static uint64_t take_columns_of(const struct html_ledger *html, uint64_t *left)
{
    uint64_t all = *left;

    if (!html->since)
        return take_columns(left);
    *left = 0;
    return all;
}

/* The reader holds a copy of the file, so every loading of it with the same names gives the same
 * trees. */
int html_ledger__write(const struct html_ledger *html, FILE *out)
{
    uint64_t left =
        report_columns__of_nodes(ledger_reader__header(html_moments__last(html->moments)->reader));
    struct native_symbols *symbols = native_symbols__new();
    struct symbol_names names = native_symbols__names(symbols);
    bool first = true;
    int error = 0;

    while (left && !error) {
        uint64_t columns = take_columns_of(html, &left);
        struct report_model *model =
            report_model__load_named(html_moments__last(html->moments)->reader, columns, &names);

        if (html->since && since_argument__subtract(model, html_moments__last(html->moments)->path,
                                                    html->since, columns) != 0)
            error = -ESTALE;
        bool *selected = report_model__select(model, html->threads);
        struct writer writer = {.model = model, .selected = selected, .out = out};
        if (first && !error)
            error = write_first(&writer, html, &names);
        if (!error)
            write_columns(&writer, columns);
        if (!error && html->moments->count > 1)
            html_moments__write_columns(html->moments, &writer.block, out, model, selected, columns,
                                        &names);
        first = false;
        free(selected);
        report_model__free(model);
    }
    native_symbols__free(symbols);
    if (!error && html->moments->count > 1)
        error = write_moments(html, out);
    if (!error)
        fwrite(html->page->after, 1, html->page->after_bytes, out);
    return error;
}
