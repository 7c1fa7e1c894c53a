/* The images view: in whose code the samples were. */
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/report_images.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <stdlib.h>
#include <string.h>

struct sorting {
    enum report_column column; /* or COLUMN_COUNT: by name */
};

static int compare(const void *a, const void *b, void *context)
{
    const struct image_row *x = a;
    const struct image_row *y = b;
    const struct sorting *sorting = context;
    int order = 0;

    if (sorting->column != COLUMN_COUNT) {
        uint64_t left = x->base[sorting->column];
        uint64_t right = y->base[sorting->column];

        order = left > right ? -1 : left < right;
    }
    if (!order)
        order = text__compare(x->name, y->name);
    return order ? order : text__compare(x->path, y->path);
}

struct shown {
    struct report_images *images;
    uint32_t count;
    uint64_t samples; /* of all of them */
};

static struct shown arrange(const struct view *view)
{
    static const char *const keys[] = {"samples", "base", "name", NULL};
    const enum report_column columns[] = {
        report_columns__samples_of(&view->model->header, view->column), view->column, COLUMN_COUNT};
    struct shown shown = {.images = report_images__new(view->model, view->selected, view->column)};
    struct sorting sorting = {columns[view__sort_index(view, keys)]};
    uint32_t count = shown.images->row_count;

    qsort_r(shown.images->rows, count, sizeof(*shown.images->rows), compare, &sorting);
    for (uint32_t i = 0; i < count; i++)
        shown.samples += view_row__samples(view, shown.images->rows[i].base);
    shown.count = view->top && view->top < count ? view->top : count;
    return shown;
}

static void write_heads(const struct view *view)
{
    const struct screen *screen = &view->screen;

    view_row__title(view, "Images", "Base");
    fputs(screen__bold(screen), screen->out);
    screen__right(screen, "Samples", CALLS_COLUMNS);
    screen__right(screen, "Share", SHARE_COLUMNS);
    screen__right(screen, "Base", VALUE_COLUMNS);
    if (report_errors__are_known(view->model, view->column))
        screen__right(screen, view_row__plus_minus(), ERROR_COLUMNS);
    fprintf(screen->out, "  Image%s\n", screen__plain(screen));
}

static void write_row(const struct view *view, const struct image_row *row, uint64_t all)
{
    const struct screen *screen = &view->screen;
    bool has_errors = report_errors__are_known(view->model, view->column);
    uint64_t samples = view_row__samples(view, row->base);
    size_t taken =
        CALLS_COLUMNS + SHARE_COLUMNS + VALUE_COLUMNS + (has_errors ? ERROR_COLUMNS : 0) + 2;
    size_t room = screen->columns > taken + 20 ? screen->columns - taken : NAME_COLUMNS_MAX;
    char *name = text__printable_middle(row->name, room);

    screen__right(screen, quantity__count(samples).text, CALLS_COLUMNS);
    screen__right(screen, quantity__share(samples, all).text, SHARE_COLUMNS);
    screen__right(screen, view__quantity(view, row->base[view->column]).text, VALUE_COLUMNS);
    if (has_errors)
        screen__right(screen, view_row__error(view, row->error).text, ERROR_COLUMNS);
    fprintf(screen->out, "  %s\n", name);
    free(name);
}

int view_images__text(const struct view *view)
{
    struct shown shown = arrange(view);

    write_heads(view);
    for (uint32_t i = 0; i < shown.count; i++)
        write_row(view, &shown.images->rows[i], shown.samples);
    if (shown.count < shown.images->row_count)
        fprintf(view->screen.out, "(%u more, not shown)\n", shown.images->row_count - shown.count);
    view_samples__text(view);
    report_images__free(shown.images);
    return 0;
}

int view_images__json(const struct view *view)
{
    struct shown shown = arrange(view);
    FILE *out = view->screen.out;

    fputs("{\"images\":[", out);
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct image_row *row = &shown.images->rows[i];
        uint64_t samples = view_row__samples(view, row->base);
        json_t *object = json_object();

        json_object_set_new(object, "image", json_row__text(row->name));
        json_object_set_new(object, "kind", json_string(image_kind__name(row->kind)));
        json_object_set_new(object, "path",
                            row->path.length ? json_row__text(row->path) : json_null());
        view_row__add_samples(object, view, row->base, NULL);
        json_object_set_new(object, "share_ppm",
                            json_row__integer(view_row__ppm(samples, shown.samples)));
        json_object_set_new(object, "base", view_row__values(view->model, row->base));
        if (report_errors__are_known(view->model, view->column))
            json_object_set_new(object, "error_ns", json_row__integer(row->error));
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, object);
    }
    fputs("]", out);
    view_samples__end_json(view);
    report_images__free(shown.images);
    return 0;
}

int view_images__csv(const struct view *view)
{
    static const char *const heads[] = {"image", "kind", "path", "samples", "share_ppm"};
    struct shown shown = arrange(view);
    struct csv csv = {.out = view->screen.out};

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    view_row__csv_heads(&csv, view->model, "base");
    if (report_errors__are_known(view->model, view->column))
        csv__word(&csv, "error_ns");
    csv__end_record(&csv);
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct image_row *row = &shown.images->rows[i];
        uint64_t samples = view_row__samples(view, row->base);

        csv__text(&csv, row->name);
        csv__word(&csv, image_kind__name(row->kind));
        csv__text(&csv, row->path);
        csv__integer(&csv, samples);
        csv__integer(&csv, view_row__ppm(samples, shown.samples));
        view_row__csv_values(&csv, view->model, row->base);
        if (report_errors__are_known(view->model, view->column))
            csv__integer(&csv, row->error);
        csv__end_record(&csv);
    }
    report_images__free(shown.images);
    return 0;
}
