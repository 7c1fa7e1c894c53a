/* The latency view of a diff: distributions of calls side by side, percentile by percentile. */
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/latency_diff.h"
#include "tools/views/view_diff.h"
#include "tools/views/view_latency.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS          (LATENCY_PERCENTILES + 3)
#define NAME_BYTES       64
#define CHANCE_LEAST_PPM 100u /* less is "under 0.01 %" */

/* What is compared of one clock: the percentiles, the longest, the mean, the jitter. */
struct compared {
    const char *key;
    const char *title;
    uint64_t values[DIFF_SIDES];
};

static void compare(const struct latency_change *change, unsigned clock,
                    struct compared compared[NUMBERS])
{
    static const char *const keys[] = {"max_ns", "mean_ns", "jitter_ns"};
    static const char *const titles[] = {"longest", "mean", "jitter"};

    for (unsigned i = 0; i < NUMBERS; i++) {
        bool is_percentile = i < LATENCY_PERCENTILES;

        compared[i] = (struct compared){
            .key = is_percentile ? latency_percentiles[i].key : keys[i - LATENCY_PERCENTILES],
            .title = is_percentile ? latency_percentiles[i].title : titles[i - LATENCY_PERCENTILES],
        };
    }
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        const struct report_histogram *histogram =
            change->of[side] ? &change->of[side]->of[clock] : NULL;

        if (!histogram)
            continue;
        for (unsigned i = 0; i < LATENCY_PERCENTILES; i++)
            compared[i].values[side] =
                report_histogram__percentile_ns(histogram, latency_percentiles[i].ppm);
        compared[LATENCY_PERCENTILES].values[side] = histogram->max_ns;
        compared[LATENCY_PERCENTILES + 1].values[side] = report_histogram__mean_ns(histogram);
        compared[LATENCY_PERCENTILES + 2].values[side] = report_histogram__jitter_ns(histogram);
    }
}

static void counts_of(const struct latency_change *change, uint64_t counts[DIFF_SIDES])
{
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
        counts[side] = change->of[side] ? change->of[side]->of[LATENCY_ELAPSED].count : 0;
}

static void add_line(struct text_table *table, const char *name, const uint64_t values[DIFF_SIDES],
                     enum metric_unit unit)
{
    struct diff_pair pair = {values, NULL};
    size_t line = text_table__add_row(table);

    text_table__set(table, line, 0, name);
    text_table__set(table, line, 1, view_diff__value(pair, DIFF_A, unit).text);
    text_table__set(table, line, 2, view_diff__value(pair, DIFF_B, unit).text);
    text_table__set(table, line, 3, view_diff__change(pair, unit).text);
    text_table__set(table, line, 4, view_diff__percent(pair).text);
}

static void add_one_side(struct text_table *table, const char *name,
                         const uint64_t values[DIFF_SIDES], unsigned side)
{
    size_t line = text_table__add_row(table);

    text_table__set(table, line, 0, name);
    text_table__set(table, line, 1 + side, quantity__ns(values[side]).text);
}

/* "apart 9.5 %; by chance: under 0.01 %" */
static void add_distance(struct text_table *table, struct latency_distance distance,
                         const char *clock)
{
    size_t line = text_table__add_row(table);
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "  %sapart", clock);
    text_table__set(table, line, 0, name);
    text_table__set(table, line, 3, quantity__share(distance.distance_ppm, 1000000).text);
    snprintf(name, sizeof(name), "%s%s by chance",
             distance.chance_ppm < CHANCE_LEAST_PPM ? "under " : "",
             quantity__share(distance.chance_ppm < CHANCE_LEAST_PPM ? CHANCE_LEAST_PPM
                                                                    : distance.chance_ppm,
                             1000000)
                 .text);
    text_table__set(table, line, 4, name);
}

static void add_clock(struct text_table *table, const struct latency_change *change, unsigned clock)
{
    static const char *const clocks[LATENCY_CLOCKS] = {"", "CPU "};
    struct compared compared[NUMBERS];
    char name[NAME_BYTES];

    bool has_both = change->of[DIFF_A] && change->of[DIFF_B];

    compare(change, clock, compared);
    for (unsigned i = 0; i < NUMBERS; i++) {
        snprintf(name, sizeof(name), "  %s%s", clocks[clock], compared[i].title);
        if (has_both)
            add_line(table, name, compared[i].values, UNIT_NS);
        else
            add_one_side(table, name, compared[i].values, change->of[DIFF_A] ? DIFF_A : DIFF_B);
    }
    if (has_both)
        add_distance(table, change->distance[clock], clocks[clock]);
}

static void add_method(struct text_table *table, const struct latency_change *change)
{
    struct text_store texts = {0};
    size_t line = text_table__add_row(table);
    uint64_t counts[DIFF_SIDES];

    text_table__set_name(table, line, report_method__full_name(&texts, change->method));
    text_table__set(table, line, 3,
                    view_diff__note(change->of[DIFF_A] != NULL, change->of[DIFF_B] != NULL));
    counts_of(change, counts);
    add_line(table, "  calls", counts, UNIT_COUNT);
    for (unsigned clock = 0; clock < LATENCY_CLOCKS; clock++)
        add_clock(table, change, clock);
    text_store__release(&texts);
}

int view_diff_latency__text(const struct diff_view *view)
{
    static const struct table_column columns[] = {
        {"METHOD", false, 0}, {"A", true, 0}, {"B", true, 0}, {"CHANGE", true, 0}, {"", true, 0}};
    struct text_table *table = text_table__new(columns, sizeof(columns) / sizeof(columns[0]));
    FILE *out = view->screen.out;
    uint32_t count, shown;
    struct latency_change *changes = latency_changes__new(view->models, &count);
    int error = 0;

    shown = view_diff__shown(view, count);
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
        fprintf(out, "%c  %s\n", "AB"[side], view -> paths[side]);
    fputs(
        "\napart: the greatest difference between the parts of the calls that took no more than a "
        "time; by chance: how often calls of the same\ndistribution, independent of each other, "
        "would be as far apart (Kolmogorov-Smirnov)\n\n",
        out);
    for (uint32_t i = 0; i < shown; i++)
        add_method(table, &changes[i]);
    if (shown)
        error = text_table__print(table, &view->screen);
    else
        fputs("(no calls: latency= names the methods whose calls are measured)\n", out);
    if (shown < count)
        fprintf(out, "(%u more, not shown)\n", count - shown);
    text_table__free(table);
    free(changes);
    fputc('\n', out);
    return error ? error : view_diff_totals__text(view);
}

static json_t *pair_json(const uint64_t values[DIFF_SIDES])
{
    json_t *object = json_object();

    json_object_set_new(object, "a", json_row__integer(values[DIFF_A]));
    json_object_set_new(object, "b", json_row__integer(values[DIFF_B]));
    json_object_set_new(object, "change", json_integer(view_diff__signed(values)));
    return object;
}

static void add_clock_json(json_t *object, const struct latency_change *change, unsigned clock)
{
    struct compared compared[NUMBERS];

    compare(change, clock, compared);
    for (unsigned i = 0; i < NUMBERS; i++)
        json_object_set_new(object, compared[i].key, pair_json(compared[i].values));
    if (!change->of[DIFF_A] || !change->of[DIFF_B])
        return;
    json_object_set_new(object, "distance_ppm", json_integer(change->distance[clock].distance_ppm));
    json_object_set_new(object, "chance_ppm", json_integer(change->distance[clock].chance_ppm));
}

static const char *state_of(const struct latency_change *change)
{
    const char *note = view_diff__note(change->of[DIFF_A] != NULL, change->of[DIFF_B] != NULL);

    return note[0] ? note : "both";
}

static json_t *change_json(const struct latency_change *change)
{
    json_t *object = json_object(), *cpu = json_object();
    uint64_t counts[DIFF_SIDES];

    counts_of(change, counts);
    json_object_set_new(object, "class", json_row__text(change->method->class_name));
    json_object_set_new(object, "method", json_row__text(change->method->name));
    json_object_set_new(object, "signature", json_row__text(change->method->signature));
    json_object_set_new(object, "state", json_string(state_of(change)));
    json_object_set_new(object, "count", pair_json(counts));
    add_clock_json(object, change, LATENCY_ELAPSED);
    add_clock_json(cpu, change, LATENCY_CPU);
    json_object_set_new(object, "cpu", cpu);
    return object;
}

int view_diff_latency__json(const struct diff_view *view)
{
    FILE *out = view->screen.out;
    uint32_t count, shown;
    struct latency_change *changes = latency_changes__new(view->models, &count);

    shown = view_diff__shown(view, count);
    fputc('{', out);
    json_row__write_members(out, view_diff_totals__json(view));
    fputs(",\n\"methods\":[", out);
    for (uint32_t i = 0; i < shown; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, change_json(&changes[i]));
    }
    fputs("]}\n", out);
    free(changes);
    return 0;
}

static void csv_clock(struct csv *csv, const struct latency_change *change, unsigned clock)
{
    struct compared compared[NUMBERS];

    compare(change, clock, compared);
    for (unsigned i = 0; i < NUMBERS; i++)
        for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
            csv__integer(csv, compared[i].values[side]);
    csv__integer(csv, change->distance[clock].distance_ppm);
    csv__integer(csv, change->distance[clock].chance_ppm);
}

static void csv_clock_heads(struct csv *csv, const char *prefix)
{
    static const struct latency_change none;
    struct compared compared[NUMBERS];
    char head[NAME_BYTES];

    compare(&none, LATENCY_ELAPSED, compared);
    for (unsigned i = 0; i < NUMBERS; i++)
        for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
            snprintf(head, sizeof(head), "%c_%s%s", "ab"[side], prefix, compared[i].key);
            csv__word(csv, head);
        }
    snprintf(head, sizeof(head), "%sdistance_ppm", prefix);
    csv__word(csv, head);
    snprintf(head, sizeof(head), "%schance_ppm", prefix);
    csv__word(csv, head);
}

int view_diff_latency__csv(const struct diff_view *view)
{
    static const char *const heads[] = {"class", "method",  "signature",
                                        "state", "a_count", "b_count"};
    struct csv csv = {.out = view->screen.out};
    uint32_t count, shown;
    struct latency_change *changes = latency_changes__new(view->models, &count);

    shown = view_diff__shown(view, count);
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
        csv__word(&csv, heads[i]);
    csv_clock_heads(&csv, "");
    csv_clock_heads(&csv, "cpu_");
    csv__end_record(&csv);
    for (uint32_t i = 0; i < shown; i++) {
        uint64_t counts[DIFF_SIDES];

        counts_of(&changes[i], counts);
        csv__text(&csv, changes[i].method->class_name);
        csv__text(&csv, changes[i].method->name);
        csv__text(&csv, changes[i].method->signature);
        csv__word(&csv, state_of(&changes[i]));
        csv__integer(&csv, counts[DIFF_A]);
        csv__integer(&csv, counts[DIFF_B]);
        csv_clock(&csv, &changes[i], LATENCY_ELAPSED);
        csv_clock(&csv, &changes[i], LATENCY_CPU);
        csv__end_record(&csv);
    }
    free(changes);
    return 0;
}
