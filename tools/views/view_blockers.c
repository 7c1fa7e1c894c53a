/* The blockers view: which threads waited for which. */
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"
#include "tools/report/report_locks.h"
#include "tools/views/view_blocks.h"
#include "tools/views/view_samples.h"

#include <stdlib.h>

enum edge_column {
    COLUMN_WAITER,
    COLUMN_BLOCKER,
    COLUMN_LOCK,
    COLUMN_WAITS,
    COLUMN_WAIT,
    EDGE_COLUMNS,
};

static const struct table_column columns[EDGE_COLUMNS] = {
    {"WAITER", false, 0}, {"BLOCKER", false, 0}, {"LOCK", false, 2},
    {"WAITS", true, 1},   {"WAIT", true, 0},
};

static struct report_edges *arrange(const struct view *view, uint32_t *count)
{
    struct report_edges *edges = report_edges__new(view->model, view->glob, view->sort, view->fold);

    *count = view->top && view->top < edges->count ? view->top : edges->count;
    return edges;
}

static void add_edge(struct text_table *table, const struct report_edge *edge)
{
    static const struct text unknown = {"(owner unknown)", 15};
    size_t line = text_table__add_row(table);
    char *blocker = text__printable_middle(edge->blocker_known ? edge->blocker : unknown, 80);
    char *lock = view_blocks__lock(edge->lock);

    text_table__set_name(table, line, edge->waiter);
    text_table__set(table, line, COLUMN_BLOCKER, blocker);
    text_table__set(table, line, COLUMN_LOCK, lock);
    text_table__set(table, line, COLUMN_WAITS, quantity__count(edge->count).text);
    text_table__set(table, line, COLUMN_WAIT, quantity__ns(edge->wait_ns).text);
    free(blocker);
    free(lock);
}

int view_blockers__text(const struct view *view)
{
    uint32_t count;
    struct report_edges *edges = arrange(view, &count);
    struct text_table *table = text_table__new(columns, EDGE_COLUMNS);
    int error = 0;

    fprintf(view->screen.out,
            "%sWho waited for whom%s\nBLOCKER: the lock's owner when the wait began\n\n",
            screen__bold(&view->screen), screen__plain(&view->screen));
    for (uint32_t i = 0; i < count; i++)
        add_edge(table, &edges->edges[i]);
    if (count)
        error = text_table__print(table, &view->screen);
    else
        view_blocks__none(view);
    if (!error && count < edges->count)
        fprintf(view->screen.out, "(%u more, not shown)\n", edges->count - count);
    if (!error)
        view_blocks__unheard(view);
    view_samples__text(view);
    text_table__free(table);
    report_edges__free(edges);
    return error;
}

static json_t *edge_object(const struct report_edge *edge)
{
    json_t *object = json_object();

    json_object_set_new(object, "waiter", json_row__text(edge->waiter));
    json_object_set_new(object, "blocker",
                        edge->blocker_known ? json_row__text(edge->blocker) : json_null());
    json_object_set_new(object, "lock",
                        edge->lock.length ? json_row__text(edge->lock) : json_null());
    json_object_set_new(object, "count", json_row__integer(edge->count));
    json_object_set_new(object, "wait_ns", json_row__integer(edge->wait_ns));
    return object;
}

int view_blockers__json(const struct view *view)
{
    uint32_t count;
    struct report_edges *edges = arrange(view, &count);
    FILE *out = view->screen.out;

    fputs("{\"edges\":[", out);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, edge_object(&edges->edges[i]));
    }
    fputs("\n]", out);
    view_samples__end_json(view);
    report_edges__free(edges);
    return 0;
}

int view_blockers__csv(const struct view *view)
{
    static const char *const heads[] = {"waiter", "blocker", "lock", "count", "wait_ns"};
    struct csv csv = {.out = view->screen.out};
    uint32_t count;
    struct report_edges *edges = arrange(view, &count);

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    csv__end_record(&csv);
    for (uint32_t i = 0; i < count; i++) {
        const struct report_edge *edge = &edges->edges[i];

        csv__text(&csv, edge->waiter);
        csv__text(&csv, edge->blocker);
        csv__text(&csv, edge->lock);
        csv__integer(&csv, edge->count);
        csv__integer(&csv, edge->wait_ns);
        csv__end_record(&csv);
    }
    report_edges__free(edges);
    return 0;
}
