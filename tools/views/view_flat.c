/* The flat view: what each method cost, whoever called it. */
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/report_flat.h"
#include "tools/report/report_order.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <stdlib.h>

/* The rows in the order they are shown in; `count` of them. */
struct shown {
    struct report_flat *flat;
    struct report_errors *errors;
    const struct flat_row **rows;
    uint32_t count;
};

static struct shown arrange(const struct view *view)
{
    struct shown shown = {.flat = report_flat__with_counted(view->model, view->selected)};

    shown.errors = report_errors__of_methods(view->model, view->selected, view->column);
    uint32_t count = shown.flat->row_count;
    struct method_values *keys = memory__zeroed(count, sizeof(*keys));
    for (uint32_t i = 0; i < count; i++) {
        const struct flat_row *row = &shown.flat->rows[i];

        keys[i] = (struct method_values){row->method, row->base[COLUMN_CALLS],
                                         row->base[view->column], row->cum[view->column]};
    }
    shown.rows =
        view_rows__in_order(shown.flat, keys, count, view->model, view->sort ? view->sort : "base");
    shown.count = view->top && view->top < count ? view->top : count;
    free(keys);
    return shown;
}

static void release(struct shown *shown)
{
    free((void *)shown->rows);
    report_flat__free(shown->flat);
    report_errors__free(shown->errors);
}

/* One after the other: the whole, or, folded, each pool by itself. */
typedef void rows_writer(const struct view *view, const struct report_thread *pool, void *context);

static void each_part(const struct view *view, rows_writer *write, void *context)
{
    if (!view->fold) {
        write(view, NULL, context);
        return;
    }
    uint32_t *order = report_order__threads(view->model, view->column);
    bool *selected = memory__zeroed(view->model->thread_count, sizeof(*selected));
    for (uint32_t i = 0; i < view->model->thread_count; i++) {
        const struct report_thread *pool = &view->model->threads[order[i]];
        struct view part = *view;

        if (!view->selected[order[i]] || pool->first_node == pool->end_node)
            continue;
        part.selected = selected;
        selected[order[i]] = true;
        write(&part, pool, context);
        selected[order[i]] = false;
    }
    free(selected);
    free(order);
}

static void write_row(const struct view *view, const struct shown *shown,
                      const struct flat_row *row, size_t room)
{
    char *name = view_row__name_and_hook(view, row->method, room);
    const struct report_errors *errors = shown->errors;

    view_row__numbers(view, SHARE_OF_BASE,
                      &(struct row_numbers){.calls = row->base[COLUMN_CALLS],
                                            .at_least = flat_row__is_partial(view->model, row),
                                            .base = row->base[view->column],
                                            .cum = row->cum[view->column],
                                            .base_error = errors ? errors->base[row->method] : 0,
                                            .cum_error = errors ? errors->cum[row->method] : 0,
                                            .samples = view_row__samples(view, row->base),
                                            .mark = flat_row__mark(row)});
    fprintf(view->screen.out, "%s\n", name);
    free(name);
}

static void write_text(const struct view *view, const struct report_thread *pool, void *context)
{
    struct shown shown = arrange(view);
    size_t taken = view_row__number_columns(view);
    size_t room = view->screen.columns > taken + 20 ? view->screen.columns - taken : 0;

    (void)context;
    if (pool)
        view_row__thread(view, pool);
    for (uint32_t i = 0; i < shown.count; i++)
        write_row(view, &shown, shown.rows[i], room);
    if (shown.count < shown.flat->row_count)
        fprintf(view->screen.out, "(%u more, not shown)\n", shown.flat->row_count - shown.count);
    release(&shown);
}

int view_flat__text(const struct view *view)
{
    view_row__title(view, "Methods", "Base (of which Share) and Cum");
    fputs(screen__bold(&view->screen), view->screen.out);
    view_row__number_heads(view, SHARE_OF_BASE);
    fprintf(view->screen.out, "Name%s\n", screen__plain(&view->screen));
    each_part(view, write_text, NULL);
    view_row__zero_note(view);
    view_samples__text(view);
    return 0;
}

static void write_json(const struct view *view, const struct report_thread *pool, void *context)
{
    struct shown shown = arrange(view);
    const char **before = context;

    for (uint32_t i = 0; i < shown.count; i++) {
        const struct flat_row *row = shown.rows[i];
        json_t *object = view_row__method(view->model, row->method);

        if (pool) {
            json_object_set_new(object, "thread", json_row__text(pool->name));
            json_object_set_new(object, "count", json_row__integer(pool->members));
        }
        json_object_set_new(object, "calls", json_row__integer(row->base[COLUMN_CALLS]));
        if (!row->knows_calls)
            view_row__add_hooked(object, view->model, row->method);
        if (row->counted)
            view_row__add_counted(object, view->model, row->method);
        view_row__add_samples(object, view, row->base, flat_row__mark(row));
        json_object_set_new(object, "base", view_row__values(view->model, row->base));
        json_object_set_new(object, "cum", view_row__values(view->model, row->cum));
        json_object_set_new(object, "share_ppm",
                            json_row__integer(view_row__ppm(row->base[view->column], view->whole)));
        view_row__add_errors(object, shown.errors, row->method);
        fputs(*before, view->screen.out);
        *before = ",\n";
        json_row__write(view->screen.out, object);
    }
    release(&shown);
}

int view_flat__json(const struct view *view)
{
    const char *before = "\n";

    fputs("{\"methods\":[", view->screen.out);
    each_part(view, write_json, &before);
    fputs("]", view->screen.out);
    view_samples__end_json(view);
    return 0;
}

static void write_csv(const struct view *view, const struct report_thread *pool, void *context)
{
    struct csv *csv = context;
    struct shown shown = arrange(view);

    for (uint32_t i = 0; i < shown.count; i++) {
        const struct flat_row *row = shown.rows[i];

        if (pool) {
            csv__text(csv, pool->name);
            csv__integer(csv, pool->members);
        }
        view_row__csv_method(csv, view->model, row->method);
        csv__integer(csv, row->base[COLUMN_CALLS]);
        view_row__csv_values(csv, view->model, row->base);
        view_row__csv_values(csv, view->model, row->cum);
        if (view->model->samples)
            csv__word(csv, flat_row__mark(row));
        view_row__csv_errors(csv, shown.errors, row->method);
        view_row__csv_hooked(csv, view->model, row->method);
        view_row__csv_at_least(csv, view->model, flat_row__is_partial(view->model, row));
        csv__end_record(csv);
    }
    release(&shown);
}

int view_flat__csv(const struct view *view)
{
    static const char *const heads[] = {"thread", "count", "class", "method", "signature", "calls"};
    struct csv csv = {.out = view->screen.out};

    for (size_t i = view->fold ? 0 : 2; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    view_row__csv_heads(&csv, view->model, "base");
    view_row__csv_heads(&csv, view->model, "cum");
    if (view->model->samples)
        csv__word(&csv, "mark");
    if (report_errors__are_known(view->model, view->column)) {
        csv__word(&csv, "error_ns");
        csv__word(&csv, "cum_error_ns");
    }
    view_row__csv_hooked_head(&csv, view->model);
    view_row__csv_at_least_head(&csv, view->model);
    csv__end_record(&csv);
    each_part(view, write_csv, &csv);
    return 0;
}
