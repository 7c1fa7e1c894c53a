/* The procedures view: which methods and functions the samples found on top. */
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/report_flat.h"
#include "tools/report/report_images.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_COLUMNS 20u
#define ALL_COLUMNS   120u

/* The rows that have samples, in the order they are shown in; `count` of `total`. */
struct shown {
    struct report_flat *flat;
    const struct flat_row **rows;
    uint32_t total;
    uint32_t count;
    uint64_t samples;             /* of all of them */
    struct report_errors *errors; /* of methods; or NULL: there are none */
};

static struct shown arrange(const struct view *view)
{
    struct shown shown = {.flat = report_flat__new(view->model, view->selected)};

    shown.errors = report_errors__of_methods(view->model, view->selected, view->column);
    uint32_t count = shown.flat->row_count;
    bool by_base = view->sort && strcmp(view->sort, "base") == 0;
    enum report_column column =
        by_base ? view->column : report_columns__samples_of(&view->model->header, view->column);
    struct method_values *keys = memory__zeroed(count, sizeof(*keys));
    for (uint32_t i = 0; i < count; i++) {
        const struct flat_row *row = &shown.flat->rows[i];

        if (view_row__samples(view, row->base) == 0)
            continue;
        keys[shown.total++] = (struct method_values){row->method, 0, row->base[column], 0};
        shown.samples += view_row__samples(view, row->base);
    }
    bool by_name = view->sort && strcmp(view->sort, "name") == 0;
    shown.rows =
        view_rows__in_order(shown.flat, keys, shown.total, view->model, by_name ? "name" : "base");
    shown.count = view->top && view->top < shown.total ? view->top : shown.total;
    free(keys);
    return shown;
}

static void release(struct shown *shown)
{
    free((void *)shown->rows);
    report_flat__free(shown->flat);
    report_errors__free(shown->errors);
}

/* Whether Base has its ±; a narrow screen has only the ± of Share. */
static bool has_base_error(const struct view *view, const struct shown *shown)
{
    return shown->errors && (!view->screen.columns || view->screen.columns >= ALL_COLUMNS);
}

static void write_heads(const struct view *view, const struct shown *shown)
{
    const struct screen *screen = &view->screen;

    view_row__title(view, "Procedures", "Base");
    fputs(screen__bold(screen), screen->out);
    screen__right(screen, "Samples", CALLS_COLUMNS);
    screen__right(screen, "Share", SHARE_COLUMNS);
    screen__right(screen, view_row__plus_minus(), SHARE_COLUMNS);
    screen__right(screen, "Sum", SHARE_COLUMNS);
    screen__right(screen, "Base", VALUE_COLUMNS);
    if (has_base_error(view, shown))
        screen__right(screen, view_row__plus_minus(), ERROR_COLUMNS);
    screen__right(screen, "", MARK_COLUMNS);
    fputs("  ", screen->out);
    screen__left(screen, "Image", IMAGE_COLUMNS);
    fprintf(screen->out, "  Name%s\n", screen__plain(screen));
}

static void write_row(const struct view *view, const struct shown *shown,
                      const struct flat_row *row, uint64_t sum)
{
    const struct screen *screen = &view->screen;
    const struct report_method *method = &view->model->methods[row->method];
    uint64_t samples = view_row__samples(view, row->base);
    uint64_t all = shown->samples;
    size_t taken = CALLS_COLUMNS + 3 * SHARE_COLUMNS + VALUE_COLUMNS + MARK_COLUMNS +
                   IMAGE_COLUMNS + (has_base_error(view, shown) ? ERROR_COLUMNS : 0) + 4;
    size_t room = screen->columns > taken + 20 ? screen->columns - taken : 0;
    uint64_t error_ppm = report_samples__error_ppm(samples, all);
    char error[32];

    snprintf(error, sizeof(error), "%" PRIu64 ".%02" PRIu64 " %%", error_ppm / 10000,
             error_ppm % 10000 / 100);
    char *image = text__printable_middle(report_images__of_method(method), IMAGE_COLUMNS);
    char *name = report_method__is_native_function(method)
                     ? text__printable_middle(method->name, room ? room : NAME_COLUMNS_MAX)
                     : view_row__name_and_hook(view, row->method, room);
    screen__right(screen, quantity__count(samples).text, CALLS_COLUMNS);
    screen__right(screen, quantity__share(samples, all).text, SHARE_COLUMNS);
    screen__right(screen, error, SHARE_COLUMNS);
    screen__right(screen, quantity__share(sum, all).text, SHARE_COLUMNS);
    screen__right(screen, view__quantity(view, row->base[view->column]).text, VALUE_COLUMNS);
    if (has_base_error(view, shown))
        screen__right(screen, view_row__error(view, shown->errors->base[row->method]).text,
                      ERROR_COLUMNS);
    screen__right(screen, flat_row__mark(row), MARK_COLUMNS);
    fputs("  ", screen->out);
    screen__left(screen, image, IMAGE_COLUMNS);
    fprintf(screen->out, "  %s\n", name);
    free(image);
    free(name);
}

int view_procedures__text(const struct view *view)
{
    struct shown shown = arrange(view);
    uint64_t sum = 0;

    write_heads(view, &shown);
    for (uint32_t i = 0; i < shown.count; i++) {
        sum += view_row__samples(view, shown.rows[i]->base);
        write_row(view, &shown, shown.rows[i], sum);
    }
    if (shown.count < shown.total)
        fprintf(view->screen.out, "(%u more, not shown)\n", shown.total - shown.count);
    view_samples__text(view);
    release(&shown);
    return 0;
}

int view_procedures__json(const struct view *view)
{
    struct shown shown = arrange(view);
    const struct report_model *model = view->model;
    uint64_t sum = 0;

    fputs("{\"procedures\":[", view->screen.out);
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct flat_row *row = shown.rows[i];
        uint64_t samples = view_row__samples(view, row->base);
        json_t *object = view_row__method(model, row->method);

        sum += samples;
        view_row__add_hooked(object, model, row->method);
        json_object_set_new(object, "image",
                            json_row__text(report_images__of_method(&model->methods[row->method])));
        view_row__add_samples(object, view, row->base, flat_row__mark(row));
        json_object_set_new(object, "share_ppm",
                            json_row__integer(view_row__ppm(samples, shown.samples)));
        json_object_set_new(object, "error_ppm",
                            json_row__integer(report_samples__error_ppm(samples, shown.samples)));
        json_object_set_new(object, "cumulative_ppm",
                            json_row__integer(view_row__ppm(sum, shown.samples)));
        json_object_set_new(object, "base", view_row__values(model, row->base));
        if (shown.errors)
            json_object_set_new(object, "error_ns",
                                json_row__integer(shown.errors->base[row->method]));
        fputs(i ? ",\n" : "\n", view->screen.out);
        json_row__write(view->screen.out, object);
    }
    fputs("]", view->screen.out);
    view_samples__end_json(view);
    release(&shown);
    return 0;
}

int view_procedures__csv(const struct view *view)
{
    static const char *const heads[] = {"class",     "method",    "signature",
                                        "image",     "mark",      "samples",
                                        "share_ppm", "error_ppm", "cumulative_ppm"};
    struct shown shown = arrange(view);
    struct csv csv = {.out = view->screen.out};
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    view_row__csv_heads(&csv, view->model, "base");
    if (shown.errors)
        csv__word(&csv, "error_ns");
    view_row__csv_hooked_head(&csv, view->model);
    csv__end_record(&csv);
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct flat_row *row = shown.rows[i];
        uint64_t samples = view_row__samples(view, row->base);

        sum += samples;
        view_row__csv_method(&csv, view->model, row->method);
        csv__text(&csv, report_images__of_method(&view->model->methods[row->method]));
        csv__word(&csv, flat_row__mark(row));
        csv__integer(&csv, samples);
        csv__integer(&csv, view_row__ppm(samples, shown.samples));
        csv__integer(&csv, report_samples__error_ppm(samples, shown.samples));
        csv__integer(&csv, view_row__ppm(sum, shown.samples));
        view_row__csv_values(&csv, view->model, row->base);
        if (shown.errors)
            csv__integer(&csv, shown.errors->base[row->method]);
        view_row__csv_hooked(&csv, view->model, row->method);
        csv__end_record(&csv);
    }
    release(&shown);
    return 0;
}
