#include "tools/page/html_diff.h"

#include "tools/arguments/since_argument.h"
#include "tools/output/json_rows.h"
#include "tools/page/html_block.h"
#include "tools/page/html_content.h"
#include "tools/symbols/native_symbols.h"
#include "tools/views/view_diff.h"

#include <errno.h>
#include <stdlib.h>

static const char side_letters[DIFF_SIDES] = {'a', 'b'};

/* Both ledgers with one column: nodes and threads stand in the same order for every one of them. */
struct overlay {
    struct report_model *models[DIFF_SIDES];
    bool *selected[DIFF_SIDES];
    struct report_diff *diff;
};

struct writer {
    const struct html_diff *html;
    uint64_t columns;
    FILE *out;
    struct html_block block;
};

static void lay_over(struct overlay *overlay, const struct html_diff *html,
                     enum report_column column, const struct symbol_names *names)
{
    const struct diff_request wanted = {
        .column = column, .trees = true, .normalize = html->normalize, .steady = true};

    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        /* Of an interval, only all columns together tell which contexts are gone. */
        const char *since = html->since[side];
        uint64_t columns = since ? ~UINT64_C(0) : COLUMN_BIT(column);

        overlay->models[side] = report_model__load_named(html->readers[side], columns, names);
        if (since)
            (void)since_argument__subtract(overlay->models[side], html->paths[side], since,
                                           columns);
        overlay->selected[side] = report_model__select(overlay->models[side], html->threads);
    }
    const struct report_model *const models[DIFF_SIDES] = {overlay->models[DIFF_A],
                                                           overlay->models[DIFF_B]};
    overlay->diff = report_diff__new(models, (const bool *const *)overlay->selected, &wanted);
}

static void release(struct overlay *overlay)
{
    report_diff__free(overlay->diff);
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        free(overlay->selected[side]);
        report_model__free(overlay->models[side]);
    }
}

static struct diff_view view_of(const struct html_diff *html, const struct overlay *overlay)
{
    return (struct diff_view){
        .diff = overlay->diff,
        .models = {overlay->models[DIFF_A], overlay->models[DIFF_B]},
        .paths = {html->paths[DIFF_A], html->paths[DIFF_B]},
        .normalized = html->normalize,
    };
}

static json_t *about_json(const struct writer *writer, const struct overlay *overlay)
{
    const struct html_diff *html = writer->html;
    struct diff_view view = view_of(html, overlay);
    json_t *about = json_object();
    json_t *columns = json_array();
    json_t *ledgers = json_array();
    json_t *losses = json_array();

    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (writer->columns & COLUMN_BIT(column))
            json_array_append_new(columns, html_content__column(writer->columns, column));
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        json_array_append_new(ledgers, html_content__file_name(html->paths[side]));
        json_array_append_new(losses, html_content__losses(overlay->models[side]));
    }
    json_object_set_new(about, "version", json_string(TREADLE_VERSION));
    json_object_set_new(about, "ledgers", ledgers);
    json_object_set_new(about, "metric", json_string(report_column__name(html->column)));
    json_object_set_new(about, "columns", columns);
    json_object_set_new(about, "losses", losses);
    json_object_set_new(about, "diff", view_diff_totals__json(&view));
    return about;
}

static json_t *threads_json(const struct report_diff *diff)
{
    json_t *all = json_object();
    json_t *threads = json_array();

    for (uint32_t i = 0; i < diff->thread_count; i++) {
        const struct diff_thread *row = &diff->threads[i];
        const char *note = view_diff__note(row->present[DIFF_A], row->present[DIFF_B]);
        json_t *object = json_object();

        json_object_set_new(object, "name", json_row__text(row->name));
        json_object_set_new(object, "kind", json_string(report_thread_kind__name(row->kind)));
        json_object_set_new(object, "state", json_string(note[0] ? note : "both"));
        json_object_set_new(object, "a", json_integer(row->present[DIFF_A]));
        json_object_set_new(object, "b", json_integer(row->present[DIFF_B]));
        if (row->at_least[DIFF_A])
            json_object_set_new(object, "a_calls_at_least", json_true());
        if (row->at_least[DIFF_B])
            json_object_set_new(object, "b_calls_at_least", json_true());
        json_array_append_new(threads, object);
    }
    json_object_set_new(all, "threads", threads);
    return all;
}

static int write_json(struct writer *writer, const char *name, json_t *value)
{
    FILE *stream = html_block__begin_stream(&writer->block, writer->out, name);

    if (!stream) {
        json_decref(value);
        return -ENOMEM;
    }
    json_row__write(stream, value);
    html_block__end_stream(&writer->block, stream);
    return 0;
}

static int write_facts(struct writer *writer, const struct overlay *overlay)
{
    struct diff_view view = view_of(writer->html, overlay);

    view.screen.out = html_block__begin_stream(&writer->block, writer->out, "facts");
    if (!view.screen.out)
        return -ENOMEM;
    view_diff__interval(&view, DIFF_A, "A  ");
    view_diff__interval(&view, DIFF_B, "B  ");
    int error = view_diff_totals__text(&view);
    html_block__end_stream(&writer->block, view.screen.out);
    return error;
}

static uint64_t sides_of(const struct diff_node *node)
{
    return (node->present[DIFF_A] ? 1u : 0u) | (node->present[DIFF_B] ? 2u : 0u) |
           (node->at_least[DIFF_A] ? 4u : 0u) | (node->at_least[DIFF_B] ? 8u : 0u);
}

static void write_trees(struct writer *writer, const struct report_diff *diff)
{
    struct html_block *block = &writer->block;

    html_block__begin(block, writer->out, "thread-order");
    for (uint32_t i = 0; i < diff->thread_count; i++)
        html_block__number(block, i);
    html_block__end(block);

    html_block__begin(block, writer->out, "trees");
    for (uint32_t i = 0; i < diff->thread_count; i++) {
        const struct diff_thread *row = &diff->threads[i];

        if (row->first_node == row->end_node)
            continue;
        html_block__number(block, i);
        html_block__number(block, row->end_node - row->first_node);
    }
    html_block__end(block);

    uint32_t before = 0; /* depth of the node before */
    html_block__begin(block, writer->out, "nodes");
    for (uint32_t i = 0; i < diff->node_count; i++) {
        const struct diff_node *node = &diff->nodes[i];

        html_block__number(block, html_content__frame(node->kind));
        html_block__number(block, node->depth ? before + 1 - node->depth : 0);
        html_block__number(block, node->method);
        before = node->depth;
    }
    html_block__end(block);

    html_block__begin(block, writer->out, "sides");
    for (uint32_t i = 0; i < diff->node_count; i++)
        html_block__number(block, sides_of(&diff->nodes[i]));
    html_block__end(block);
}

static int write_first(struct writer *writer, const struct overlay *overlay)
{
    const struct report_diff *diff = overlay->diff;
    const struct html_page *page = writer->html->page;

    if (writer->html->threads && diff->thread_count == 0)
        return -ESRCH;
    fwrite(page->before, 1, page->before_bytes, writer->out);
    int error = write_json(writer, "about", about_json(writer, overlay));
    if (!error)
        error = write_facts(writer, overlay);
    if (!error)
        error = write_json(writer, "threads", threads_json(diff));
    if (!error)
        error =
            html_content__methods(&writer->block, writer->out, diff->methods, diff->method_count);
    if (error)
        return error;
    write_trees(writer, diff);
    return 0;
}

static void begin_column(struct writer *writer, const char *what, enum report_column column,
                         unsigned side)
{
    char name[64];

    snprintf(name, sizeof(name), "%s-%s-%c", what, report_column__name(column), side_letters[side]);
    html_block__begin(&writer->block, writer->out, name);
}

static void write_column(struct writer *writer, const struct report_diff *diff, unsigned side)
{
    uint64_t between = 0;

    begin_column(writer, "column", diff->column, side);
    for (uint32_t i = 0; i < diff->node_count; i++) {
        uint64_t base = diff->nodes[i].base[side];

        if (base) {
            html_block__number(&writer->block, between);
            html_block__number(&writer->block, base);
            between = 0;
        } else {
            between++;
        }
    }
    html_block__end(&writer->block);

    begin_column(writer, "threads", diff->column, side);
    for (uint32_t i = 0; i < diff->thread_count; i++)
        html_block__number(&writer->block, diff->threads[i].value[side]);
    html_block__end(&writer->block);
}

/* How far a change may be off, of what samples tell: the page has both sides' values, and adds up
 * squares. */
static void write_errors(struct writer *writer, const struct report_diff *diff, const char *part,
                         bool of_cum)
{
    char name[64];
    uint64_t between = 0;

    snprintf(name, sizeof(name), "%s-errors-%s", part, report_column__name(diff->column));
    html_block__begin(&writer->block, writer->out, name);
    for (uint32_t i = 0; i < diff->node_count; i++) {
        const struct diff_node *node = &diff->nodes[i];
        uint64_t error = diff_change__error(of_cum ? node->cum_squares : node->base_squares);

        if (error) {
            html_block__number(&writer->block, between);
            html_block__number(&writer->block, error);
            between = 0;
        } else {
            between++;
        }
    }
    html_block__end(&writer->block);
}

static int write_columns(struct writer *writer, const struct symbol_names *names)
{
    uint64_t left = writer->columns;
    enum report_column column = writer->html->column;
    bool first = true;
    int error = 0;

    for (; left && !error; column = (enum report_column)__builtin_ctzll(left | COLUMN_BIT(63))) {
        struct overlay overlay;

        lay_over(&overlay, writer->html, column, names);
        if (first)
            error = write_first(writer, &overlay);
        for (unsigned side = DIFF_A; side < DIFF_SIDES && !error; side++)
            write_column(writer, overlay.diff, side);
        if (!error && overlay.diff->has_errors) {
            write_errors(writer, overlay.diff, "base", false);
            write_errors(writer, overlay.diff, "cum", true);
        }
        release(&overlay);
        first = false;
        left &= ~COLUMN_BIT(column);
    }
    return error;
}

int html_diff__write(const struct html_diff *html, FILE *out)
{
    struct native_symbols *symbols = native_symbols__new();
    struct symbol_names names = native_symbols__names(symbols);
    struct writer writer = {.html = html, .out = out};

    writer.columns = report_columns__of_nodes(ledger_reader__header(html->readers[DIFF_A])) &
                     report_columns__of_nodes(ledger_reader__header(html->readers[DIFF_B]));
    int error = write_columns(&writer, &names);
    native_symbols__free(symbols);
    if (!error)
        fwrite(html->page->after, 1, html->page->after_bytes, out);
    return error;
}
