/* The blockers view: which threads waited for which. */
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"
#include "tools/report/report_cascade.h"
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

#define ENDS_SHOWN 20u /* without --top */

enum end_column {
    COLUMN_LAST,
    COLUMN_DOES,
    COLUMN_EXPLAINS,
    COLUMN_DIRECT,
    COLUMN_CHAIN,
    END_COLUMNS,
};

static const struct table_column end_columns[END_COLUMNS] = {
    {"WHO RAN", false, 0}, {"DOES", false, 0},  {"EXPLAINS", true, 0},
    {"DIRECT", true, 3},   {"CHAIN", false, 2},
};

/* "pool-2 > pool-1 > main" */
static void set_chain(struct text_table *table, size_t line, const struct cascade_chain *chain)
{
    char *joined = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&joined, &length);

    if (!out)
        abort();
    for (uint32_t i = 0; i < chain->count; i++) {
        char *name = text__printable_middle(chain->threads[i], 40);

        fprintf(out, "%s%s", i ? " > " : "", name);
        free(name);
    }
    fclose(out);
    text_table__set(table, line, COLUMN_CHAIN, joined);
    free(joined);
}

static int print_ends(const struct view *view, const struct report_cascade *cascade)
{
    uint32_t most = view->top ? view->top : ENDS_SHOWN;
    uint32_t count = most < cascade->end_count ? most : cascade->end_count;
    struct text_table *table = text_table__new(end_columns, END_COLUMNS);
    int error;

    for (uint32_t i = 0; i < count; i++) {
        const struct cascade_end *end = &cascade->ends[i];
        size_t line = text_table__add_row(table);

        text_table__set_name(table, line, end->thread);
        text_table__set(table, line, COLUMN_DOES, cascade_end__word(end->does));
        text_table__set(table, line, COLUMN_EXPLAINS, quantity__ns(end->ns).text);
        text_table__set(table, line, COLUMN_DIRECT, quantity__ns(end->direct_ns).text);
        set_chain(table, line, &cascade->chains[end->heaviest]);
    }
    error = text_table__print(table, &view->screen);
    text_table__free(table);
    if (!error && count < cascade->end_count)
        fprintf(view->screen.out, "(%u more, not shown)\n", cascade->end_count - count);
    return error;
}

static void print_knots(const struct view *view, const struct report_cascade *cascade)
{
    for (uint32_t i = 0; i < cascade->knot_count && (!view->top || i < view->top); i++) {
        const struct cascade_knot *knot = &cascade->knots[i];

        fprintf(view->screen.out,
                "%s, %s of waits for one another:", knot->is_cycle ? "cycle" : "knot",
                quantity__ns(knot->ns).text);
        for (uint32_t thread = 0; thread < knot->count; thread++) {
            char *name = text__printable_middle(knot->threads[thread], 40);

            fprintf(view->screen.out, "%s %s", thread ? "," : "", name);
            free(name);
        }
        fputc('\n', view->screen.out);
    }
}

static int print_cascade(const struct view *view)
{
    struct report_cascade *cascade = report_cascade__new(view->model, view->glob);
    int error = 0;

    if (cascade->end_count) {
        fprintf(
            view->screen.out,
            "\n%sWho really ran%s\nthe same waits, followed from lock to lock; inferred from what "
            "a blocker's time consists of where it stood\n\n",
            screen__bold(&view->screen), screen__plain(&view->screen));
        error = print_ends(view, cascade);
        print_knots(view, cascade);
    }
    report_cascade__free(cascade);
    return error;
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
        error = print_cascade(view);
    if (!error)
        view_blocks__unheard(view);
    view_samples__text(view);
    text_table__free(table);
    report_edges__free(edges);
    return error;
}

static json_t *names_array(const struct text *names, uint32_t count)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(array, names[i].length ? json_row__text(names[i]) : json_null());
    return array;
}

static json_t *end_object(const struct view *view, const struct cascade_end *end,
                          const struct cascade_chain *chain)
{
    json_t *object = json_object(), *frames = json_array();
    struct text_store texts = {0};

    for (uint32_t i = 0; i < chain->path.frames; i++)
        json_array_append_new(frames, json_row__text(report_method__full_name(
                                          &texts, &view->model->methods[chain->path.methods[i]])));
    json_object_set_new(object, "thread", json_row__text(end->thread));
    json_object_set_new(object, "does", json_string(cascade_end__word(end->does)));
    json_object_set_new(object, "wait_ns", json_row__integer(end->ns));
    json_object_set_new(object, "direct_ns", json_row__integer(end->direct_ns));
    json_object_set_new(object, "path", frames);
    text_store__release(&texts);
    return object;
}

static json_t *chain_object(const struct cascade_chain *chain)
{
    json_t *object = json_object();
    struct text last = chain->locks[chain->count - 1];

    json_object_set_new(object, "threads", names_array(chain->threads, chain->count));
    json_object_set_new(object, "locks", names_array(chain->locks, chain->count - 1));
    json_object_set_new(object, "last_lock", last.length ? json_row__text(last) : json_null());
    json_object_set_new(object, "does", json_string(cascade_end__word(chain->does)));
    json_object_set_new(object, "wait_ns", json_row__integer(chain->ns));
    return object;
}

static json_t *knot_object(const struct cascade_knot *knot)
{
    json_t *object = json_object();

    json_object_set_new(object, "kind", json_string(knot->is_cycle ? "cycle" : "knot"));
    json_object_set_new(object, "threads", names_array(knot->threads, knot->count));
    json_object_set_new(object, "wait_ns", json_row__integer(knot->ns));
    return object;
}

static void write_cascade(const struct view *view)
{
    struct report_cascade *cascade = report_cascade__new(view->model, view->glob);
    FILE *out = view->screen.out;

    fputs(",\n\"ran\":[", out);
    for (uint32_t i = 0; i < cascade->end_count; i++) {
        const struct cascade_end *end = &cascade->ends[i];

        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, end_object(view, end, &cascade->chains[end->heaviest]));
    }
    fputs("\n],\n\"followed\":[", out);
    for (uint32_t i = 0; i < cascade->chain_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, chain_object(&cascade->chains[i]));
    }
    fputs("\n],\n\"knots\":[", out);
    for (uint32_t i = 0; i < cascade->knot_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, knot_object(&cascade->knots[i]));
    }
    fputs("\n]", out);
    report_cascade__free(cascade);
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
    write_cascade(view);
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
