/* The latency view: how long the calls of the methods of latency= took. */
#include "tools/views/view_latency.h"

#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <stdlib.h>

const struct latency_percentile latency_percentiles[LATENCY_PERCENTILES] = {
    {"p50_ns", "P50", 500000},
    {"p90_ns", "P90", 900000},
    {"p99_ns", "P99", 990000},
    {"p999_ns", "P99.9", 999000},
};

enum latency_column {
    COLUMN_METHOD,
    COLUMN_COUNT_OF_CALLS,
    COLUMN_FIRST_PERCENTILE,
    COLUMN_MAX = COLUMN_FIRST_PERCENTILE + LATENCY_PERCENTILES,
    COLUMN_JITTER,
    COLUMN_CPU_P50,
    COLUMN_CPU_P99,
    COLUMN_CPU_MAX,
    COLUMN_HEARD,
    LATENCY_COLUMNS,
};

static const struct table_column columns[LATENCY_COLUMNS] = {
    {"METHOD", false, 0}, {"CALLS", true, 0},   {"P50", true, 0},     {"P90", true, 1},
    {"P99", true, 0},     {"P99.9", true, 0},   {"MAX", true, 0},     {"JITTER", true, 2},
    {"CPU P50", true, 3}, {"CPU P99", true, 4}, {"CPU MAX", true, 5}, {"HOOKED", true, 1},
};

/* The rows in their order, and how many of them are shown. */
struct shown {
    const struct report_latency **rows;
    uint32_t all;
    uint32_t count;
};

static struct shown arrange(const struct view *view)
{
    struct shown shown;

    shown.rows = report_latencies__sorted(view->model, view->sort, &shown.all);
    shown.count = view->top && view->top < shown.all ? view->top : shown.all;
    return shown;
}

static void set_ns(struct text_table *table, size_t line, size_t column, uint64_t ns)
{
    text_table__set(table, line, column, quantity__ns(ns).text);
}

static void add_row(struct text_table *table, const struct view *view,
                    const struct report_latency *latency)
{
    const struct report_histogram *elapsed = &latency->of[LATENCY_ELAPSED];
    const struct report_histogram *cpu = &latency->of[LATENCY_CPU];
    const struct report_hooking *hooking = report_hooking__of(view->model, latency->method);
    struct text_store texts = {0};
    size_t line = text_table__add_row(table);

    text_table__set_name(table, line,
                         report_method__full_name(&texts, &view->model->methods[latency->method]));
    text_table__set(table, line, COLUMN_COUNT_OF_CALLS, quantity__count(elapsed->count).text);
    for (unsigned i = 0; i < LATENCY_PERCENTILES; i++)
        set_ns(table, line, COLUMN_FIRST_PERCENTILE + i,
               report_histogram__percentile_ns(elapsed, latency_percentiles[i].ppm));
    set_ns(table, line, COLUMN_MAX, elapsed->max_ns);
    set_ns(table, line, COLUMN_JITTER, report_histogram__jitter_ns(elapsed));
    set_ns(table, line, COLUMN_CPU_P50, report_histogram__percentile_ns(cpu, 500000));
    set_ns(table, line, COLUMN_CPU_P99, report_histogram__percentile_ns(cpu, 990000));
    set_ns(table, line, COLUMN_CPU_MAX, cpu->max_ns);
    if (hooking)
        text_table__set(table, line, COLUMN_HEARD,
                        quantity__share(report_hooking__share_ppm(hooking), 1000000).text);
    text_store__release(&texts);
}

static uint64_t calls_missing(const struct shown *shown)
{
    uint64_t missing = 0;

    for (uint32_t i = 0; i < shown->all; i++) {
        const struct report_latency *latency = shown->rows[i];
        uint64_t measured = latency->of[LATENCY_ELAPSED].count;

        missing += latency->calls > measured ? latency->calls - measured : 0;
    }
    return missing;
}

/* True if the budget had no room for some of the rows for a time. */
static bool is_partial(const struct view *view, const struct shown *shown)
{
    for (uint32_t i = 0; i < shown->count; i++)
        if (report_hooking__of(view->model, shown->rows[i]->method))
            return true;
    return false;
}

static void write_notes(const struct view *view, const struct shown *shown)
{
    FILE *out = view->screen.out;
    uint64_t missing = calls_missing(shown);

    if (shown->count < shown->all)
        fprintf(out, "(%u more, not shown)\n", shown->all - shown->count);
    if (missing)
        fprintf(out, "%s more %s no end here: under way, or begun or over while unseen\n",
                quantity__counted(missing, "call").text, missing == 1 ? "has" : "have");
    if (is_partial(view, shown))
        fputs("HOOKED: the part of the time in which the budget had room for the method's calls "
              "(overhead=)\n",
              out);
}

static void write_table(const struct view *view, const struct shown *shown, int *error)
{
    struct text_table *table =
        text_table__new(columns, is_partial(view, shown) ? LATENCY_COLUMNS : COLUMN_HEARD);

    for (uint32_t i = 0; i < shown->count; i++)
        add_row(table, view, shown->rows[i]);
    *error = text_table__print(table, &view->screen);
    text_table__free(table);
}

int view_latency__text(const struct view *view)
{
    struct shown shown = arrange(view);
    int error = 0;

    fprintf(view->screen.out,
            "%sHow long calls took%s\nP50 … MAX: from entry to exit, waiting included; CPU: of the "
            "same calls; percentiles within 3.1 %% or 8 ns\nJITTER: mean difference between a call "
            "and the one that ended before it\n\n",
            screen__bold(&view->screen), screen__plain(&view->screen));
    if (shown.count)
        write_table(view, &shown, &error);
    else
        fputs("(no calls: latency= names the methods whose calls are measured)\n",
              view->screen.out);
    if (!error)
        write_notes(view, &shown);
    view_samples__text(view);
    free(shown.rows);
    return error;
}

void view_latency__add(json_t *object, const struct report_histogram *histogram)
{
    for (unsigned i = 0; i < LATENCY_PERCENTILES; i++)
        json_object_set_new(object, latency_percentiles[i].key,
                            json_row__integer(report_histogram__percentile_ns(
                                histogram, latency_percentiles[i].ppm)));
    json_object_set_new(object, "max_ns", json_row__integer(histogram->max_ns));
    json_object_set_new(object, "mean_ns", json_row__integer(report_histogram__mean_ns(histogram)));
    json_object_set_new(object, "jitter_ns",
                        json_row__integer(report_histogram__jitter_ns(histogram)));
}

json_t *view_latency__buckets(const struct report_histogram *histogram)
{
    json_t *buckets = json_array();

    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        uint64_t to_ns = i + 1 < LATENCY_BUCKETS ? latency__floor_ns(i + 1) : histogram->max_ns + 1;

        if (histogram->buckets[i])
            json_array_append_new(buckets,
                                  json_pack("[o,o,o]", json_row__integer(latency__floor_ns(i)),
                                            json_row__integer(to_ns),
                                            json_row__integer(histogram->buckets[i])));
    }
    return buckets;
}

static json_t *row_object(const struct view *view, const struct report_latency *latency)
{
    const struct report_histogram *elapsed = &latency->of[LATENCY_ELAPSED];
    json_t *object = view_row__method(view->model, latency->method);
    json_t *cpu = json_object();

    json_object_set_new(object, "calls", json_row__integer(latency->calls));
    json_object_set_new(object, "count", json_row__integer(elapsed->count));
    view_row__add_hooked(object, view->model, latency->method);
    view_latency__add(object, elapsed);
    json_object_set_new(object, "histogram", view_latency__buckets(elapsed));
    view_latency__add(cpu, &latency->of[LATENCY_CPU]);
    json_object_set_new(cpu, "histogram", view_latency__buckets(&latency->of[LATENCY_CPU]));
    json_object_set_new(object, "cpu", cpu);
    return object;
}

int view_latency__json(const struct view *view)
{
    struct shown shown = arrange(view);
    FILE *out = view->screen.out;

    fputs("{\"methods\":[", out);
    for (uint32_t i = 0; i < shown.count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, row_object(view, shown.rows[i]));
    }
    fprintf(out, "\n],\"error_ppm\":%u,\"error_ns\":%u", LATENCY_ERROR_PPM, LATENCY_ERROR_NS);
    view_samples__end_json(view);
    free(shown.rows);
    return 0;
}

static void csv_heads(struct csv *csv, const char *prefix)
{
    static const char *const others[] = {"max_ns", "mean_ns", "jitter_ns"};
    char head[32];

    for (unsigned i = 0; i < LATENCY_PERCENTILES; i++) {
        snprintf(head, sizeof(head), "%s%s", prefix, latency_percentiles[i].key);
        csv__word(csv, head);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        snprintf(head, sizeof(head), "%s%s", prefix, others[i]);
        csv__word(csv, head);
    }
}

static void csv_values(struct csv *csv, const struct report_histogram *histogram)
{
    for (unsigned i = 0; i < LATENCY_PERCENTILES; i++)
        csv__integer(csv, report_histogram__percentile_ns(histogram, latency_percentiles[i].ppm));
    csv__integer(csv, histogram->max_ns);
    csv__integer(csv, report_histogram__mean_ns(histogram));
    csv__integer(csv, report_histogram__jitter_ns(histogram));
}

int view_latency__csv(const struct view *view)
{
    static const char *const heads[] = {"class", "method", "signature", "calls", "count"};
    struct csv csv = {.out = view->screen.out};
    struct shown shown = arrange(view);

    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
        csv__word(&csv, heads[i]);
    csv_heads(&csv, "");
    csv_heads(&csv, "cpu_");
    view_row__csv_hooked_head(&csv, view->model);
    csv__end_record(&csv);
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct report_latency *latency = shown.rows[i];

        view_row__csv_method(&csv, view->model, latency->method);
        csv__integer(&csv, latency->calls);
        csv__integer(&csv, latency->of[LATENCY_ELAPSED].count);
        csv_values(&csv, &latency->of[LATENCY_ELAPSED]);
        csv_values(&csv, &latency->of[LATENCY_CPU]);
        view_row__csv_hooked(&csv, view->model, latency->method);
        csv__end_record(&csv);
    }
    free(shown.rows);
    return 0;
}
