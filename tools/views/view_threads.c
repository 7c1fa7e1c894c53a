/* The threads view as text: which threads burn the machine. */
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/thread_running.h"
#include "tools/views/view_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BAR_COLUMNS 10u
#define CELL_BYTES  96
#define METRIC(id)  (UINT64_C(1) << (METRIC_##id))
#define KERNEL(id)  ((enum report_column)((unsigned)COLUMN_KERNEL + METRIC_##id))

struct cell_context {
    const struct view *view;
    const struct thread_row *row;
    uint64_t whole; /* of the chosen metric, over all threads */
    char cell[CELL_BYTES];
};

#define VIRTUAL_THREADS (UINT64_C(1) << 63) /* no metric, but needed by some columns */

/* A column after the name. It stands only where the ledger has all that it needs. */
struct thread_column {
    struct table_column head;
    uint64_t needs;           /* bits of enum ledger_metric, VIRTUAL_THREADS */
    enum report_column shows; /* COLUMN_COUNT: none, or more than one */
    void (*write)(struct cell_context *context);
};

static const struct report_thread *thread_of(const struct cell_context *context)
{
    return &context->view->model->threads[context->row->first];
}

static void write_kind(struct cell_context *context)
{
    snprintf(context->cell, CELL_BYTES, "%s", report_thread_kind__name(thread_of(context)->kind));
}

static void write_tids(struct cell_context *context)
{
    const struct report_thread *thread = thread_of(context);

    if (context->row->count > 1 || thread->tid_count == 0)
        return;
    if (thread->tid_count == 1)
        snprintf(context->cell, CELL_BYTES, "%d", thread->tids[0]);
    else
        snprintf(context->cell, CELL_BYTES, "%d +%u", thread->tids[0], thread->tid_count - 1);
}

static void write_state(struct cell_context *context)
{
    const struct thread_row *row = context->row;

    if (row->running == row->count || row->running == 0)
        snprintf(context->cell, CELL_BYTES, "%s", row->running ? "alive" : "ended");
    else
        snprintf(context->cell, CELL_BYTES, "%u alive", row->running);
}

static void write_waiting(struct cell_context *context)
{
    snprintf(context->cell, CELL_BYTES, "%s", quantity__ns(context->row->waiting_ns).text);
}

static bool is_virtual(const struct cell_context *context)
{
    return thread_of(context)->kind == THREAD_VIRTUAL;
}

static void write_mounts(struct cell_context *context)
{
    if (is_virtual(context))
        snprintf(context->cell, CELL_BYTES, "%s", quantity__count(context->row->mounts).text);
}

static void write_pinned(struct cell_context *context)
{
    if (is_virtual(context))
        snprintf(context->cell, CELL_BYTES, "%s", quantity__count(context->row->pinned).text);
}

static void write_mounted(struct cell_context *context)
{
    if (is_virtual(context))
        snprintf(context->cell, CELL_BYTES, "%s",
                 quantity__ns(thread_row__mounted_ns(context->row)).text);
}

static void write_parked(struct cell_context *context)
{
    if (is_virtual(context))
        snprintf(context->cell, CELL_BYTES, "%s", quantity__ns(context->row->parked_ns).text);
}

static void write_pair(struct cell_context *context, enum report_column first,
                       enum report_column second)
{
    struct quantity a = quantity__count(context->row->value[first]);
    struct quantity b = quantity__count(context->row->value[second]);

    snprintf(context->cell, CELL_BYTES, "%s / %s", a.text, b.text);
}

static void write_switches(struct cell_context *context)
{
    write_pair(context, KERNEL(VOLUNTARY_SWITCHES), KERNEL(INVOLUNTARY_SWITCHES));
}

static void write_faults(struct cell_context *context)
{
    write_pair(context, KERNEL(MINOR_FAULTS), KERNEL(MAJOR_FAULTS));
}

static void write_quantum(struct cell_context *context)
{
    struct thread_running running = thread_running__of(context->view->model, context->row);

    snprintf(context->cell, CELL_BYTES, "%s", quantity__ns(running.quantum_ns).text);
}

static void write_preempted(struct cell_context *context)
{
    struct thread_running running = thread_running__of(context->view->model, context->row);

    snprintf(context->cell, CELL_BYTES, "%s",
             quantity__share(running.preempted_ppm, running.switches ? 1000000 : 0).text);
}

static void write_migrations(struct cell_context *context)
{
    if (report_thread__knows(thread_of(context), KERNEL(MIGRATIONS)))
        snprintf(context->cell, CELL_BYTES, "%s",
                 quantity__count(context->row->value[KERNEL(MIGRATIONS)]).text);
}

/* "1.32" */
static void write_parallel(struct cell_context *context)
{
    struct thread_running running = thread_running__of(context->view->model, context->row);

    snprintf(context->cell, CELL_BYTES, "%.2f", (double)running.parallel_ppm / 1000000);
}

/* Eighths of a column where the locale has them. */
static void write_bar(char *bar, size_t bytes, uint64_t part, uint64_t whole)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    bool fine = text__is_utf8_locale();
    double share = whole ? (double)part / (double)whole : 0;
    size_t steps = (size_t)(share * BAR_COLUMNS * 8 + 0.5);
    size_t full = fine ? steps / 8 : (steps + 4) / 8;
    size_t used = full;
    size_t at = 0;

    for (size_t i = 0; i < full && i < BAR_COLUMNS; i++)
        at += (size_t)snprintf(bar + at, bytes - at, "%s", fine ? "█" : "#");
    if (fine && steps % 8 && full < BAR_COLUMNS) {
        at += (size_t)snprintf(bar + at, bytes - at, "%s", eighths[steps % 8]);
        used++;
    }
    for (; used < BAR_COLUMNS && at + 1 < bytes; used++)
        bar[at++] = ' ';
    bar[at] = '\0';
}

static void write_share(struct cell_context *context)
{
    char bar[BAR_COLUMNS * 4 + 1];
    uint64_t part = context->row->value[context->view->column];

    write_bar(bar, sizeof(bar), part, context->whole);
    struct quantity share = quantity__share(part, context->whole);
    snprintf(context->cell, CELL_BYTES, "%s %7s", bar, share.text);
}

static void write_calls(struct cell_context *context)
{
    view_row__calls(context->row->value[COLUMN_CALLS], context->row->is_partial, context->cell);
}

static const struct thread_column thread_columns[] = {
    {{"KIND", false, 7}, 0, COLUMN_COUNT, write_kind},
    {{"TID", true, 6}, 0, COLUMN_COUNT, write_tids},
    {{"STATE", false, 2}, 0, COLUMN_COUNT, write_state},
    {{"USER", true, 9}, METRIC(USER), KERNEL(USER), NULL},
    {{"SYSTEM", true, 9}, METRIC(SYSTEM), KERNEL(SYSTEM), NULL},
    {{"CPU", true, 0}, 0, COLUMN_CPU, NULL},
    {{"WALL", true, 3}, 0, COLUMN_WALL, NULL},
    {{"WAITING", true, 4}, 0, COLUMN_COUNT, write_waiting},
    {{"RUN QUEUE", true, 8}, METRIC(RUN_QUEUE_DELAY), KERNEL(RUN_QUEUE_DELAY), NULL},
    {{"MOUNTS", true, 9}, VIRTUAL_THREADS, COLUMN_COUNT, write_mounts},
    {{"PINNED", true, 9}, VIRTUAL_THREADS, COLUMN_COUNT, write_pinned},
    {{"MOUNTED", true, 9}, VIRTUAL_THREADS, COLUMN_COUNT, write_mounted},
    {{"PARKED", true, 6}, VIRTUAL_THREADS, COLUMN_COUNT, write_parked},
    {{"SWITCHES V/I", true, 10},
     METRIC(VOLUNTARY_SWITCHES) | METRIC(INVOLUNTARY_SWITCHES),
     COLUMN_COUNT,
     write_switches},
    {{"PARALLEL", true, 13}, 0, COLUMN_COUNT, write_parallel},
    {{"QUANTUM", true, 13},
     METRIC(VOLUNTARY_SWITCHES) | METRIC(INVOLUNTARY_SWITCHES),
     COLUMN_COUNT,
     write_quantum},
    {{"PREEMPTED", true, 14},
     METRIC(VOLUNTARY_SWITCHES) | METRIC(INVOLUNTARY_SWITCHES),
     COLUMN_COUNT,
     write_preempted},
    {{"MIGRATIONS", true, 14}, METRIC(MIGRATIONS), KERNEL(MIGRATIONS), write_migrations},
    {{"FAULTS MIN/MAJ", true, 11},
     METRIC(MINOR_FAULTS) | METRIC(MAJOR_FAULTS),
     COLUMN_COUNT,
     write_faults},
    {{"READ", true, 12}, METRIC(READ_BYTES), KERNEL(READ_BYTES), NULL},
    {{"WRITTEN", true, 12}, METRIC(WRITE_BYTES), KERNEL(WRITE_BYTES), NULL},
    {{"CALLS", true, 5}, 0, COLUMN_CALLS, write_calls},
};
#define THREAD_COLUMN_COUNT (sizeof(thread_columns) / sizeof(thread_columns[0]))

/* The columns of one report: the name, those of the table above that the ledger can fill, the
 * chosen metric if it is not among them, and its share. */
struct layout {
    struct table_column heads[THREAD_COLUMN_COUNT + 3];
    struct thread_column columns[THREAD_COLUMN_COUNT + 3];
    size_t count;
    char share_title[80];
    char metric_title[METRIC_TITLE_BYTES];
};

static void add_column(struct layout *layout, const struct thread_column *column)
{
    layout->heads[layout->count] = column->head;
    layout->columns[layout->count++] = *column;
}

static void lay_out(struct layout *layout, const struct view *view)
{
    const struct ledger_header *header = &view->model->header;
    uint64_t known = header->metrics_totals | header->metrics_charged;
    bool shown = false;

    if (report_model__has_virtual_threads(view->model))
        known |= VIRTUAL_THREADS;
    layout->count = 0;
    add_column(layout, &(struct thread_column){{"THREAD", false, 0}, 0, COLUMN_COUNT, NULL});
    for (size_t i = 0; i < THREAD_COLUMN_COUNT; i++) {
        struct thread_column column = thread_columns[i];

        if ((column.needs & known) != column.needs)
            continue;
        if (column.shows == view->column) {
            shown = true;
            column.head.rank = 0;
        }
        add_column(layout, &column);
    }
    view__metric_title(view, layout->metric_title);
    if (!shown)
        add_column(layout,
                   &(struct thread_column){{layout->metric_title, true, 0}, 0, view->column, NULL});
    snprintf(layout->share_title, sizeof(layout->share_title), "SHARE OF %s", layout->metric_title);
    add_column(layout, &(struct thread_column){
                           {layout->share_title, false, 1}, 0, COLUMN_COUNT, write_share});
}

/* "worker → worker: idle", "worker-# ×12" */
static void set_name(struct text_table *table, size_t line, const struct view *view,
                     const struct thread_row *row)
{
    const struct report_thread *thread = &view->model->threads[row->first];
    bool unicode = text__is_utf8_locale();
    struct text none = {"(no name)", 9};
    char *name = text__printable_middle(row->name.length ? row->name : none, 80);
    char *shown = NULL;

    if (row->count > 1) {
        if (asprintf(&shown, "%s %s%u", name, unicode ? "×" : "x", row->count) < 0)
            shown = NULL;
    } else if (thread->rename_count > 0) {
        char *newest = text__printable_middle(thread->renames[thread->rename_count - 1], 60);
        const char *arrow = unicode ? "→" : "->";
        const char *dots = thread->rename_count == 1 ? "" : unicode ? "… → " : "... -> ";

        if (asprintf(&shown, "%s %s %s%s", name, arrow, dots, newest) < 0)
            shown = NULL;
        free(newest);
    }
    text_table__set(table, line, 0, shown ? shown : name);
    free(shown);
    free(name);
}

static void set_cells(struct text_table *table, size_t line, const struct layout *layout,
                      struct cell_context *context)
{
    for (size_t i = 1; i < layout->count; i++) {
        const struct thread_column *column = &layout->columns[i];

        context->cell[0] = '\0';
        if (column->write)
            column->write(context);
        else
            snprintf(
                context->cell, CELL_BYTES, "%s",
                quantity__of(context->row->value[column->shows], report_column__unit(column->shows))
                    .text);
        text_table__set(table, line, i, context->cell);
    }
}

static uint64_t sum_of_all(const struct view *view)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < view->model->thread_count; i++)
        sum += report_thread__value(&view->model->threads[i], view->column);
    return sum;
}

static int print_table(const struct view *view, const struct thread_rows *rows)
{
    struct layout layout;

    lay_out(&layout, view);
    struct text_table *table = text_table__new(layout.heads, layout.count);
    uint32_t shown = view->top && view->top < rows->count ? view->top : rows->count;
    struct cell_context context = {.view = view, .whole = sum_of_all(view)};
    for (uint32_t i = 0; i < shown; i++) {
        size_t line = text_table__add_row(table);

        context.row = &rows->rows[i];
        set_name(table, line, view, context.row);
        set_cells(table, line, &layout, &context);
        if (context.row->running == 0)
            text_table__set_colour(table, line, screen__dim(&view->screen));
    }
    int error = text_table__print(table, &view->screen);
    if (!error && shown < rows->count)
        fprintf(view->screen.out, "(%u more, not shown)\n", rows->count - shown);
    text_table__free(table);
    return error;
}

struct thread_rows *view_threads__rows(const struct view *view)
{
    struct thread_rows *rows = thread_rows__new(view->model, view->selected, view->fold);
    enum report_column column = view->column;
    enum thread_sort sort = SORT_BY_COLUMN;

    if (view->sort) {
        enum report_column named = report_column__by_name(view->sort);

        column = named < COLUMN_COUNT ? named : column;
        sort = thread_sort__by_name(view->sort);
    }
    thread_rows__sort(rows, sort, column);
    return rows;
}

int view_threads__text(const struct view *view)
{
    struct thread_rows *rows = view_threads__rows(view);
    int error = 0;

    view_process__text(view);
    if (rows->count)
        error = print_table(view, rows);
    else
        view__no_threads(&view->screen);
    if (!error)
        view_balance__text(view);
    thread_rows__free(rows);
    return error;
}
