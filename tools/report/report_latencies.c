#include "tools/report/report_latencies.h"

#include "tools/report/loader.h"
#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

#define MILLION 1000000u

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static void add(struct report_histogram *histogram, const struct ledger_latency *record)
{
    histogram->sum_ns = sum_of(histogram->sum_ns, record->sum_ns);
    histogram->steps = sum_of(histogram->steps, record->steps);
    histogram->step_ns = sum_of(histogram->step_ns, record->step_ns);
    if (record->max_ns > histogram->max_ns)
        histogram->max_ns = record->max_ns;
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        histogram->buckets[i] = sum_of(histogram->buckets[i], record->buckets[i]);
        histogram->count = sum_of(histogram->count, record->buckets[i]);
    }
}

/* By method: the number of its histograms, from 1; 0: it has none. */
static uint32_t *numbers_by_method(const struct report_model *model)
{
    uint32_t *numbers = memory__zeroed(model->method_count, sizeof(*numbers));

    for (uint32_t i = 0; i < model->latency_count; i++)
        numbers[model->latencies[i].method] = i + 1;
    return numbers;
}

static struct report_latency *find_or_add(struct report_model *model, uint32_t *numbers,
                                          uint32_t method)
{
    if (!numbers[method]) {
        model->latencies[model->latency_count].method = method;
        numbers[method] = ++model->latency_count;
    }
    return &model->latencies[numbers[method] - 1];
}

/* A record whose method is lost, or of another clock, is left out. */
void loader__load_latencies(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref last = 0, ref = 0;
    uint32_t count = loader__count_records(loader, LEDGER_LATENCIES, &last);
    uint32_t *numbers = numbers_by_method(model);

    model->latencies = memory__zeroed(count, sizeof(*model->latencies));
    while ((ref = ledger_reader__next(loader->reader, LEDGER_LATENCIES, ref)) != 0) {
        const struct ledger_latency *record = ledger_reader__latency(loader->reader, ref);
        uint32_t method = REPORT_NONE;

        if (record->method && ledger_reader__method(loader->reader, record->method))
            method = loader__index_or_none(loader, record->method);
        if (method != REPORT_NONE && record->clock < LATENCY_CLOCKS)
            add(&find_or_add(model, numbers, method)->of[record->clock], record);
        else if (record->method && !loader__is_being_written(loader))
            loader__skip(loader, ref, "expected the method and the clock of a histogram");
    }
    free(numbers);
}

void report_latencies__count_calls(struct report_model *model)
{
    uint64_t *calls = memory__zeroed(model->method_count, sizeof(*calls));

    for (uint32_t i = 0; model->latency_count && i < model->node_count; i++)
        calls[model->nodes[i].method] =
            sum_of(calls[model->nodes[i].method], model->base[COLUMN_CALLS][i]);
    for (uint32_t i = 0; i < model->latency_count; i++)
        model->latencies[i].calls = calls[model->latencies[i].method];
    free(calls);
}

static uint64_t end_of(uint32_t bucket)
{
    return bucket == LATENCY_BUCKETS - 1 ? UINT64_MAX : latency__floor_ns(bucket + 1);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t report_histogram__percentile_ns(const struct report_histogram *histogram, uint32_t ppm)
{
    uint64_t rank = (uint64_t)(((unsigned __int128)histogram->count * ppm + MILLION - 1) / MILLION);
    uint64_t seen = 0;
    uint32_t bucket = 0;

    if (!histogram->count)
        return 0;
    rank = rank ? rank : 1;
    while (bucket < LATENCY_BUCKETS - 1 && (seen = sum_of(seen, histogram->buckets[bucket])) < rank)
        bucket++;
    if (bucket == LATENCY_BUCKETS - 1)
        return histogram->max_ns;
    return lesser(latency__floor_ns(bucket) + (end_of(bucket) - latency__floor_ns(bucket)) / 2,
                  histogram->max_ns);
}

uint64_t report_histogram__mean_ns(const struct report_histogram *histogram)
{
    return histogram->count ? histogram->sum_ns / histogram->count : 0;
}

uint64_t report_histogram__jitter_ns(const struct report_histogram *histogram)
{
    return histogram->steps ? histogram->step_ns / histogram->steps : 0;
}

/* The longest of all calls may have been before. */
static void subtract(struct report_histogram *now, const struct report_histogram *before)
{
    uint32_t highest = 0;

    now->count = 0;
    now->sum_ns = growth(now->sum_ns, before->sum_ns);
    now->steps = growth(now->steps, before->steps);
    now->step_ns = growth(now->step_ns, before->step_ns);
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        now->buckets[i] = growth(now->buckets[i], before->buckets[i]);
        now->count = sum_of(now->count, now->buckets[i]);
        highest = now->buckets[i] ? i : highest;
    }
    if (!now->count)
        now->max_ns = 0;
    else if (now->max_ns == before->max_ns)
        now->max_ns = lesser(now->max_ns, end_of(highest) - 1);
}

void report_latencies__subtract(struct report_model *model, const struct report_model *before,
                                const uint32_t *methods)
{
    uint32_t *numbers = numbers_by_method(model);

    for (uint32_t i = 0; i < before->latency_count; i++) {
        const struct report_latency *old = &before->latencies[i];
        uint32_t method = methods[old->method];
        uint32_t number = method != REPORT_NONE ? numbers[method] : 0;
        struct report_latency *latency = number ? &model->latencies[number - 1] : NULL;

        for (unsigned clock = 0; latency && clock < LATENCY_CLOCKS; clock++)
            subtract(&latency->of[clock], &old->of[clock]);
    }
    free(numbers);
}

/* What a row is sorted by, the most first. */
struct sorted_row {
    const struct report_latency *latency;
    uint64_t value;
    struct text class_name;
    struct text name;
};

static uint64_t value_of(const struct report_latency *latency, const char *key)
{
    static const struct {
        const char *key;
        uint32_t ppm;
    } percentiles[] = {{"p50", 500000}, {"p90", 900000}, {"p99", 990000}, {"p999", 999000}};
    const struct report_histogram *elapsed = &latency->of[LATENCY_ELAPSED];

    for (size_t i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++)
        if (strcmp(key, percentiles[i].key) == 0)
            return report_histogram__percentile_ns(elapsed, percentiles[i].ppm);
    if (strcmp(key, "max") == 0)
        return elapsed->max_ns;
    if (strcmp(key, "mean") == 0)
        return report_histogram__mean_ns(elapsed);
    if (strcmp(key, "jitter") == 0)
        return report_histogram__jitter_ns(elapsed);
    if (strcmp(key, "count") == 0)
        return elapsed->count;
    if (strcmp(key, "cpu") == 0)
        return latency->of[LATENCY_CPU].sum_ns;
    return 0;
}

static int compare_rows(const void *a, const void *b)
{
    const struct sorted_row *x = a, *y = b;
    int order = (x->value < y->value) - (x->value > y->value);

    if (!order)
        order = text__compare(x->class_name, y->class_name);
    if (!order)
        order = text__compare(x->name, y->name);
    return order ? order
                 : (x->latency->method > y->latency->method) -
                       (x->latency->method < y->latency->method);
}

const struct report_latency **report_latencies__sorted(const struct report_model *model,
                                                       const char *key, uint32_t *count)
{
    struct sorted_row *rows = memory__zeroed(model->latency_count, sizeof(*rows));
    const struct report_latency **sorted =
        memory__zeroed(model->latency_count, sizeof(const struct report_latency *));

    *count = 0;
    for (uint32_t i = 0; i < model->latency_count; i++) {
        const struct report_latency *latency = &model->latencies[i];
        const struct report_method *method = &model->methods[latency->method];

        if (latency->of[LATENCY_ELAPSED].count)
            rows[(*count)++] = (struct sorted_row){latency, value_of(latency, key ? key : "p99"),
                                                   method->class_name, method->name};
    }
    qsort(rows, *count, sizeof(*rows), compare_rows);
    for (uint32_t i = 0; i < *count; i++)
        sorted[i] = rows[i].latency;
    free(rows);
    return sorted;
}
