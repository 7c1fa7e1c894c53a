/* The spawn view: each thread below the one that started it, and what they consumed together. */
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"
#include "tools/report/spawn_tree.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define INDENT_COLUMNS     2u
#define INDENT_COLUMNS_MAX 40u
#define SPAWN_COLUMNS      7u

/* A tree and what of it is shown, in which order. */
struct shown {
    struct spawn_tree *tree;
    uint32_t *order;
    uint32_t count;
};

static struct shown arrange(const struct view *view)
{
    static const char *const keys[] = {"cum", "base", "calls", "name", NULL};
    static const enum spawn_sort sorts[] = {SPAWN_BY_CUM, SPAWN_BY_BASE, SPAWN_BY_CALLS,
                                            SPAWN_BY_NAME};
    struct shown shown = {
        .tree = spawn_tree__new(view->model, view->selected, view->column, view->fold)};

    shown.order =
        spawn_tree__order(shown.tree, sorts[view__sort_index(view, keys)], view->top, &shown.count);
    return shown;
}

static void release(struct shown *shown)
{
    free(shown->order);
    spawn_tree__free(shown->tree);
}

static const struct spawn_row *row_at(const struct shown *shown, uint32_t i)
{
    return &shown->tree->rows[shown->order[i]];
}

static const struct report_thread *thread_of(const struct view *view, const struct spawn_row *row)
{
    return &view->model->threads[row->first];
}

/* Deep rows are not indented out of sight: they say how deep they are. */
static size_t indent_of(const struct view *view, const struct spawn_row *row, bool *cut)
{
    size_t most = INDENT_COLUMNS_MAX;
    size_t indent = (size_t)row->depth * INDENT_COLUMNS;

    if (view->screen.columns && view->screen.columns / 4 < most)
        most = view->screen.columns / 4 / INDENT_COLUMNS * INDENT_COLUMNS;
    *cut = indent > most;
    return *cut ? most : indent;
}

/* "    worker-7", "    worker-# ×12", "                    [level 15] worker-7" */
static void set_name(struct text_table *table, size_t line, const struct view *view,
                     const struct spawn_row *row)
{
    struct text none = {"(no name)", 9};
    char *name = text__printable_middle(row->name.length ? row->name : none, 80);
    char level[32] = "";
    char times[32] = "";
    char *shown = NULL;
    bool cut;
    size_t indent = indent_of(view, row, &cut);

    if (cut)
        snprintf(level, sizeof(level), "[level %" PRIu32 "] ", row->depth);
    if (row->own > 1)
        snprintf(times, sizeof(times), " %s%" PRIu32, text__is_utf8_locale() ? "×" : "x", row->own);
    if (asprintf(&shown, "%*s%s%s%s", (int)indent, "", level, name, times) < 0)
        shown = NULL;
    text_table__set(table, line, 0, shown ? shown : name);
    free(shown);
    free(name);
}

static int print_table(const struct view *view, const struct shown *shown)
{
    char metric[METRIC_TITLE_BYTES];
    char cum[METRIC_TITLE_BYTES + 8];
    bool wall = view->column != COLUMN_WALL; /* else it has its columns already */
    bool calls = view->column != COLUMN_CALLS;

    view__metric_title(view, metric);
    snprintf(cum, sizeof(cum), "CUM %s", metric);
    struct table_column heads[SPAWN_COLUMNS] = {
        {"THREAD", false, 0}, {"KIND", false, 4}, {"THREADS", true, 1},
        {metric, true, 0},    {cum, true, 0},
    };
    size_t count = 5;
    if (wall)
        heads[count++] = (struct table_column){"WALL", true, 3};
    if (calls)
        heads[count++] = (struct table_column){"CALLS", true, 2};
    struct text_table *table = text_table__new(heads, count);
    for (uint32_t i = 0; i < shown->count; i++) {
        const struct spawn_row *row = row_at(shown, i);
        size_t line = text_table__add_row(table);
        size_t column = 1;
        char counted[CALLS_BYTES];

        set_name(table, line, view, row);
        text_table__set(table, line, column++,
                        report_thread_kind__name(thread_of(view, row)->kind));
        text_table__set(table, line, column++, quantity__count(row->count).text);
        text_table__set(table, line, column++, view__quantity(view, row->base).text);
        text_table__set(table, line, column++, view__quantity(view, row->cum).text);
        if (wall)
            text_table__set(table, line, column++, quantity__ns(row->wall_ns).text);
        view_row__calls(row->calls, row->is_partial, counted);
        if (calls)
            text_table__set(table, line, column++, counted);
    }
    int error = text_table__print(table, &view->screen);
    text_table__free(table);
    return error;
}

int view_spawn__text(const struct view *view)
{
    struct shown shown = arrange(view);
    FILE *out = view->screen.out;
    int error = 0;

    fprintf(out, "%sWho started whom%s, Cum with all threads below, %u of %u thread%s\n",
            screen__bold(&view->screen), screen__plain(&view->screen), shown.tree->thread_count,
            view->model->thread_count, view->model->thread_count == 1 ? "" : "s");
    if (view->model->header.overhead_ppm)
        view_head__text(view);
    fputc('\n', out);
    if (shown.count)
        error = print_table(view, &shown);
    else
        view__no_threads(&view->screen);
    if (!error && shown.count < shown.tree->row_count)
        fprintf(out, "(%u more, not shown)\n", shown.tree->row_count - shown.count);
    view_samples__text(view);
    release(&shown);
    return error;
}

static json_t *row_members(const struct view *view, const struct spawn_row *row)
{
    json_t *object = json_object();

    json_object_set_new(object, "name", json_row__text(row->name));
    json_object_set_new(object, "kind",
                        json_string(report_thread_kind__name(thread_of(view, row)->kind)));
    json_object_set_new(object, "count", json_integer(row->count));
    json_object_set_new(object, "cpu_ns", json_row__integer(row->cpu_ns));
    json_object_set_new(object, "cum_cpu_ns", json_row__integer(row->cum_cpu_ns));
    json_object_set_new(object, "wall_ns", json_row__integer(row->wall_ns));
    json_object_set_new(object, "calls", json_row__integer(row->calls));
    if (row->is_partial)
        json_object_set_new(object, "calls_at_least", json_true());
    return object;
}

int view_spawn__json(const struct view *view)
{
    struct shown shown = arrange(view);
    FILE *out = view->screen.out;
    struct json_tree tree = {.out = out};

    fputs("{\"threads\":[", out);
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct spawn_row *row = row_at(&shown, i);

        json_tree__write_row(&tree, row->depth, row_members(view, row));
    }
    json_tree__end(&tree);
    fputs("]", out);
    view_samples__end_json(view);
    release(&shown);
    return 0;
}

int view_spawn__csv(const struct view *view)
{
    static const char *const heads[] = {"thread", "level",      "kind",    "count",
                                        "cpu_ns", "cum_cpu_ns", "wall_ns", "calls"};
    struct shown shown = arrange(view);
    struct csv csv = {.out = view->screen.out};

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    view_row__csv_at_least_head(&csv, view->model);
    csv__end_record(&csv);
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct spawn_row *row = row_at(&shown, i);

        csv__text(&csv, row->name);
        csv__integer(&csv, row->depth);
        csv__word(&csv, report_thread_kind__name(thread_of(view, row)->kind));
        csv__integer(&csv, row->count);
        csv__integer(&csv, row->cpu_ns);
        csv__integer(&csv, row->cum_cpu_ns);
        csv__integer(&csv, row->wall_ns);
        csv__integer(&csv, row->calls);
        view_row__csv_at_least(&csv, view->model, row->is_partial);
        csv__end_record(&csv);
    }
    release(&shown);
    return 0;
}
