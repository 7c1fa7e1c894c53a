#include "tools/views/view_rows.h"

#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* "demo.Main.work", printable, cut to `columns` (0: as long as it may be); free it. */
static char *row_name(const struct view *view, uint32_t method, size_t columns)
{
    struct text_store store = {0};
    struct text name = report_method__full_name(&store, &view->model->methods[method]);
    char *printable = text__printable_middle(name, columns ? columns : NAME_COLUMNS_MAX);

    text_store__release(&store);
    return printable;
}

void view_row__thread(const struct view *view, const struct report_thread *thread)
{
    FILE *out = view->screen.out;
    char calls[CALLS_BYTES];
    struct text none = {"(no name)", 9};
    char *name = text__printable_middle(thread->name.length ? thread->name : none, 80);

    fprintf(out, "\n%s%s%s", screen__bold(&view->screen), name, screen__plain(&view->screen));
    if (view->fold && thread->members > 1)
        fprintf(out, " %s%" PRIu64, text__is_utf8_locale() ? "×" : "x", thread->members);
    fprintf(out, "  (%s", report_thread_kind__name(thread->kind));
    for (uint32_t i = 0; i < thread->tid_count && i < 1; i++)
        fprintf(out, ", tid %" PRId32, thread->tids[i]);
    if (thread->tid_count > 1)
        fprintf(out, " and %" PRIu32 " more", thread->tid_count - 1);
    fprintf(out, ", %s)  %s CPU, %s wall, ", thread->flags & THREAD_TERMINATED ? "ended" : "alive",
            quantity__ns(thread->cpu_ns).text, quantity__ns(thread->wall_ns).text);
    view_row__calls(thread->calls, thread->is_partial, calls);
    fprintf(out, "%s call%s\n", calls, thread->calls == 1 ? "" : "s");
    free(name);
}

#define HOOK_BYTES 64u

static void hook_text(const struct view *view, uint32_t method, char text[HOOK_BYTES])
{
    const struct report_hooking *hooking = report_hooking__of(view->model, method);

    text[0] = '\0';
    if (hooking && !hooking->from_ns)
        snprintf(text, HOOK_BYTES, " [not hooked: plan]");
    else if (hooking && report_hooking__knows_calls(hooking))
        snprintf(text, HOOK_BYTES, " [recorded %s, else counted]",
                 quantity__share(report_hooking__share_ppm(hooking), 1000000).text);
    else if (hooking)
        snprintf(text, HOOK_BYTES, " [recorded %s]",
                 quantity__share(report_hooking__share_ppm(hooking), 1000000).text);
}

char *view_row__name_and_hook(const struct view *view, uint32_t method, size_t columns)
{
    char hook[HOOK_BYTES];
    char *both = NULL;

    hook_text(view, method, hook);
    size_t taken = strlen(hook);
    char *name = row_name(view, method, columns > taken + 20 ? columns - taken : columns);
    if (!hook[0] || asprintf(&both, "%s%s", name, hook) < 0)
        return name;
    free(name);
    return both;
}

void view_row__add_hooked(json_t *object, const struct report_model *model, uint32_t method)
{
    const struct report_hooking *hooking = report_hooking__of(model, method);

    if (!hooking)
        return;
    uint64_t from_ns = hooking->from_ns ? report_model__epoch_ns(model, hooking->from_ns) : 0;
    uint64_t until_ns = hooking->until_ns ? report_model__epoch_ns(model, hooking->until_ns) : 0;
    json_t *hooked = json_object();
    json_object_set_new(hooked, "from_ns", json_row__integer(from_ns));
    json_object_set_new(hooked, "until_ns", json_row__integer(until_ns));
    json_object_set_new(hooked, "share_ppm", json_integer(report_hooking__share_ppm(hooking)));
    json_object_set_new(object, "hooked", hooked);
}

void view_row__add_counted(json_t *object, const struct report_model *model, uint32_t method)
{
    const struct report_hooking *hooking = report_hooking__of(model, method);

    if (!hooking || !hooking->counted)
        return;
    json_t *counted = json_object();
    json_object_set_new(counted, "calls", json_row__integer(hooking->counted));
    json_object_set_new(counted, "recorded_ppm", json_integer(report_hooking__share_ppm(hooking)));
    json_object_set_new(object, "counted", counted);
}

void view_row__csv_hooked_head(struct csv *csv, const struct report_model *model)
{
    if (model->hookings)
        csv__word(csv, "hooked_ppm");
}

void view_row__csv_hooked(struct csv *csv, const struct report_model *model, uint32_t method)
{
    const struct report_hooking *hooking = report_hooking__of(model, method);

    if (model->hookings)
        csv__integer(csv, hooking ? report_hooking__share_ppm(hooking) : 1000000);
}

void view_row__csv_at_least_head(struct csv *csv, const struct report_model *model)
{
    if (model->hookings)
        csv__word(csv, "calls_at_least");
}

void view_row__csv_at_least(struct csv *csv, const struct report_model *model, bool at_least)
{
    if (model->hookings)
        csv__integer(csv, at_least);
}

void view_row__title(const struct view *view, const char *what, const char *values)
{
    uint64_t threads = 0, all = 0;

    for (uint32_t i = 0; i < view->model->thread_count; i++) {
        uint64_t count = view->fold ? view->model->threads[i].members : 1;

        threads += view->selected[i] ? count : 0;
        all += count;
    }
    fprintf(view->screen.out, "%s%s%s, %s in %s, %" PRIu64 " of %" PRIu64 " thread%s\n",
            screen__bold(&view->screen), what, screen__plain(&view->screen), values,
            report_column__name(view->column), threads, all, all == 1 ? "" : "s");
    if (view->model->header.overhead_ppm)
        view_head__text(view);
    if (!threads)
        view__no_threads(&view->screen);
}

#define NAME_COLUMNS_LEAST 34u /* with what a tree has before a name */

enum row_part {
    PART_CALLS = 1u << 0,
    PART_SAMPLES = 1u << 1,
    PART_SHARED_ERROR = 1u << 2, /* of what Share is of, … */
    PART_OTHER_ERROR = 1u << 3,  /* … and of the other one */
};

static size_t columns_of(const struct view *view, unsigned parts)
{
    return 2 * VALUE_COLUMNS + SHARE_COLUMNS + 2 + (view->model->samples ? MARK_COLUMNS : 0) +
           (parts & PART_CALLS ? CALLS_COLUMNS : 0) + (parts & PART_SAMPLES ? CALLS_COLUMNS : 0) +
           (parts & PART_SHARED_ERROR ? ERROR_COLUMNS : 0) +
           (parts & PART_OTHER_ERROR ? ERROR_COLUMNS : 0);
}

static unsigned parts_of(const struct view *view)
{
    static const unsigned first_out[] = {PART_SAMPLES, PART_CALLS, PART_OTHER_ERROR};
    unsigned parts = PART_CALLS;

    if (view->model->samples)
        parts |= PART_SAMPLES;
    if (view->model->samples && (view->column == COLUMN_CPU || view->column == COLUMN_WALL))
        parts |= PART_SHARED_ERROR | PART_OTHER_ERROR;
    for (size_t i = 0; view->screen.columns && i < sizeof(first_out) / sizeof(first_out[0]); i++)
        if (columns_of(view, parts) + NAME_COLUMNS_LEAST > view->screen.columns)
            parts &= ~first_out[i];
    return parts;
}

void view_row__calls(uint64_t calls, bool at_least, char text[CALLS_BYTES])
{
    const char *sign = !at_least ? "" : text__is_utf8_locale() ? "≥" : ">=";

    snprintf(text, CALLS_BYTES, "%s%s", sign, quantity__count(calls).text);
}

const char *view_row__plus_minus(void)
{
    return text__is_utf8_locale() ? "±" : "+-";
}

struct quantity view_row__error(const struct view *view, uint64_t error)
{
    struct quantity result = {""};

    if (error)
        snprintf(result.text, sizeof(result.text), "%s%.24s", view_row__plus_minus(),
                 view__quantity(view, error).text);
    return result;
}

static bool has_error(unsigned parts, enum share_of share_of, enum share_of value)
{
    return parts & (value == share_of ? PART_SHARED_ERROR : PART_OTHER_ERROR);
}

void view_row__numbers(const struct view *view, enum share_of share_of,
                       const struct row_numbers *numbers)
{
    unsigned parts = parts_of(view);
    uint64_t shared = share_of == SHARE_OF_BASE ? numbers->base : numbers->cum;
    char calls[CALLS_BYTES];

    view_row__calls(numbers->calls, numbers->at_least, calls);
    if (parts & PART_CALLS)
        screen__right(&view->screen, calls, CALLS_COLUMNS);
    screen__right(&view->screen, view__quantity(view, numbers->base).text, VALUE_COLUMNS);
    if (has_error(parts, share_of, SHARE_OF_BASE))
        screen__right(&view->screen, view_row__error(view, numbers->base_error).text,
                      ERROR_COLUMNS);
    screen__right(&view->screen, view__quantity(view, numbers->cum).text, VALUE_COLUMNS);
    if (has_error(parts, share_of, SHARE_OF_CUM))
        screen__right(&view->screen, view_row__error(view, numbers->cum_error).text, ERROR_COLUMNS);
    screen__right(&view->screen, quantity__share(shared, view->whole).text, SHARE_COLUMNS);
    if (parts & PART_SAMPLES)
        screen__right(&view->screen, quantity__count(numbers->samples).text, CALLS_COLUMNS);
    if (view->model->samples)
        screen__right(&view->screen, numbers->mark, MARK_COLUMNS);
    fputs("  ", view->screen.out);
}

void view_row__number_heads(const struct view *view, enum share_of share_of)
{
    unsigned parts = parts_of(view);

    if (parts & PART_CALLS)
        screen__right(&view->screen, "Calls", CALLS_COLUMNS);
    screen__right(&view->screen, "Base", VALUE_COLUMNS);
    if (has_error(parts, share_of, SHARE_OF_BASE))
        screen__right(&view->screen, view_row__plus_minus(), ERROR_COLUMNS);
    screen__right(&view->screen, "Cum", VALUE_COLUMNS);
    if (has_error(parts, share_of, SHARE_OF_CUM))
        screen__right(&view->screen, view_row__plus_minus(), ERROR_COLUMNS);
    screen__right(&view->screen, "Share", SHARE_COLUMNS);
    if (parts & PART_SAMPLES)
        screen__right(&view->screen, "Samples", CALLS_COLUMNS);
    if (view->model->samples)
        screen__right(&view->screen, "", MARK_COLUMNS);
    fputs("  ", view->screen.out);
}

size_t view_row__number_columns(const struct view *view)
{
    return columns_of(view, parts_of(view));
}

/* Whether any of the threads that are shown has any of it. */
static bool is_anywhere(const struct view *view, enum report_column column)
{
    for (uint32_t i = 0; i < view->model->thread_count; i++)
        if (view->selected[i] && report_thread__value(&view->model->threads[i], column))
            return true;
    return false;
}

void view_row__zero_note(const struct view *view)
{
    const struct report_model *model = view->model;
    uint64_t known = report_columns__of_nodes(&model->header);
    const char *before = "; what is not: ";
    bool wall_only = model->samples && report_errors__column(&model->header) == COLUMN_WALL;

    if (view->whole == 0) {
        fprintf(view->screen.out, "%s is 0 everywhere in this view",
                report_column__name(view->column));
        for (enum report_column column = 0; column < COLUMN_COUNT; column++) {
            if (!(known & COLUMN_BIT(column)) || !is_anywhere(view, column))
                continue;
            fprintf(view->screen.out, "%s%s", before, report_column__name(column));
            before = ", ";
        }
        fputs(before[0] == ',' ? " (--metric)\n" : "\n", view->screen.out);
    } else if (wall_only && view->column == COLUMN_CPU) {
        fputs("these samples are of wall time: frames without hooks have no CPU here; "
              "--metric wall\n",
              view->screen.out);
    }
}

uint64_t view_row__samples(const struct view *view, const uint64_t *values)
{
    return values[report_columns__samples_of(&view->model->header, view->column)];
}

void view_row__add_samples(json_t *object, const struct view *view, const uint64_t *values,
                           const char *mark)
{
    const struct ledger_header *header = &view->model->header;

    if (!view->model->samples)
        return;
    json_object_set_new(object, "samples", json_row__integer(view_row__samples(view, values)));
    uint64_t wall = values[COLUMN_WALL_SAMPLES];
    if (!report_columns__has_both_samples(header) && report_errors__column(header) == COLUMN_WALL)
        wall = values[COLUMN_SAMPLES];
    json_object_set_new(object, "cpu_samples", json_row__integer(values[COLUMN_SAMPLES] - wall));
    json_object_set_new(object, "wall_samples", json_row__integer(wall));
    if (mark)
        json_object_set_new(object, "mark", *mark ? json_string(mark) : json_null());
}

void view_row__add_errors(json_t *object, const struct report_errors *errors, uint32_t index)
{
    if (!errors)
        return;
    json_object_set_new(object, "error_ns", json_row__integer(errors->base[index]));
    json_object_set_new(object, "cum_error_ns", json_row__integer(errors->cum[index]));
}

void view_row__csv_error_heads(struct csv *csv, const struct report_errors *errors)
{
    if (!errors)
        return;
    csv__word(csv, "error_ns");
    csv__word(csv, "cum_error_ns");
}

void view_row__csv_errors(struct csv *csv, const struct report_errors *errors, uint32_t index)
{
    if (!errors)
        return;
    csv__integer(csv, errors->base[index]);
    csv__integer(csv, errors->cum[index]);
}

uint64_t view_row__ppm(uint64_t part, uint64_t whole)
{
    return whole ? (uint64_t)((unsigned __int128)part * 1000000 / whole) : 0;
}

json_t *view_row__method(const struct report_model *model, uint32_t method)
{
    const struct report_method *names = &model->methods[method];
    json_t *object = json_object();

    json_object_set_new(object, "class",
                        json_stringn(names->class_name.bytes, names->class_name.length));
    json_object_set_new(object, "method", json_stringn(names->name.bytes, names->name.length));
    json_object_set_new(object, "signature",
                        json_stringn(names->signature.bytes, names->signature.length));
    return object;
}

void view_row__add_logical(json_t *object, const struct report_method *method)
{
    json_object_set_new(object, "identifier", json_row__text(method->name));
    json_object_set_new(object, "parameter",
                        method->signature.length ? json_row__text(method->signature) : json_null());
}

static bool has_value(const struct report_model *model, enum report_column column)
{
    return column != COLUMN_CALLS && model->base[column];
}

json_t *view_row__values(const struct report_model *model, const uint64_t *values)
{
    json_t *object = json_object();

    for (enum report_column column = 0; column < COLUMN_COUNT; column++) {
        uint64_t value = values[column];

        if (has_value(model, column))
            json_object_set_new(
                object, report_column__key(column),
                json_integer(value > INT64_MAX ? (json_int_t)INT64_MAX : (json_int_t)value));
    }
    return object;
}

void view_row__csv_heads(struct csv *csv, const struct report_model *model, const char *prefix)
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++) {
        char head[80];

        if (!has_value(model, column))
            continue;
        snprintf(head, sizeof(head), "%s_%s", prefix, report_column__csv_name(column));
        csv__word(csv, head);
    }
}

void view_row__csv_values(struct csv *csv, const struct report_model *model, const uint64_t *values)
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (has_value(model, column))
            csv__integer(csv, values[column]);
}

void view_row__csv_method(struct csv *csv, const struct report_model *model, uint32_t method)
{
    csv__text(csv, model->methods[method].class_name);
    csv__text(csv, model->methods[method].name);
    csv__text(csv, model->methods[method].signature);
}

struct sorting {
    const struct report_model *model;
    const char *key;
};

static int by_number(uint64_t x, uint64_t y)
{
    return x > y ? -1 : x < y;
}

static int by_name(const struct report_method *x, const struct report_method *y)
{
    int order = strcmp(x->class_name.bytes, y->class_name.bytes);

    if (!order)
        order = strcmp(x->name.bytes, y->name.bytes);
    return order ? order : strcmp(x->signature.bytes, y->signature.bytes);
}

static int compare(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    const struct method_values *x = a;
    const struct method_values *y = b;
    int order = 0;

    if (strcmp(sorting->key, "name") == 0)
        order = by_name(&sorting->model->methods[x->method], &sorting->model->methods[y->method]);
    else if (strcmp(sorting->key, "calls") == 0)
        order = by_number(x->calls, y->calls);
    else if (strcmp(sorting->key, "base") == 0)
        order = by_number(x->base, y->base);
    else
        order = by_number(x->cum, y->cum);
    return order ? order : x->method < y->method ? -1 : x->method > y->method;
}

void view_rows__sort(struct method_values *rows, size_t count, const struct report_model *model,
                     const char *key)
{
    struct sorting sorting = {model, key};

    qsort_r(rows, count, sizeof(*rows), compare, &sorting);
}

const struct flat_row **view_rows__in_order(const struct report_flat *flat,
                                            struct method_values *methods, size_t count,
                                            const struct report_model *model, const char *key)
{
    const struct flat_row **rows = memory__zeroed(count, sizeof(struct flat_row *));
    uint32_t *row_of = memory__zeroed(model->method_count, sizeof(*row_of));

    for (uint32_t i = 0; i < flat->row_count; i++)
        row_of[flat->rows[i].method] = i;
    view_rows__sort(methods, count, model, key);
    for (size_t i = 0; i < count; i++)
        rows[i] = &flat->rows[row_of[methods[i].method]];
    free(row_of);
    return rows;
}
