#include "tools/report/latency_diff.h"

#include "tools/report/index_table.h"
#include "tools/report/memory.h"

#include <math.h>
#include <stdlib.h>

#define MILLION      1000000.0
#define SERIES_TERMS 100

/* Q of Kolmogorov's distribution. */
static double chance_of(double lambda)
{
    double sum = 0, sign = 1;

    if (lambda < 0.2)
        return 1;
    for (int k = 1; k <= SERIES_TERMS; k++) {
        sum += sign * exp(-2.0 * k * k * lambda * lambda);
        sign = -sign;
    }
    return fmin(fmax(2 * sum, 0), 1);
}

struct latency_distance latency_distance__between(const struct report_histogram *a,
                                                  const struct report_histogram *b)
{
    double seen[DIFF_SIDES] = {0}, most = 0, root;

    if (!a->count || !b->count)
        return (struct latency_distance){0, 0};
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        seen[DIFF_A] += (double)a->buckets[i];
        seen[DIFF_B] += (double)b->buckets[i];
        most = fmax(most, fabs(seen[DIFF_A] / (double)a->count - seen[DIFF_B] / (double)b->count));
    }
    root = sqrt((double)a->count / ((double)a->count + (double)b->count) * (double)b->count);
    return (struct latency_distance){
        .distance_ppm = (uint32_t)(fmin(most, 1) * MILLION + 0.5),
        .chance_ppm = (uint32_t)ceil(chance_of((root + 0.12 + 0.11 / root) * most) * MILLION),
    };
}

static bool is_same(const struct report_method *x, const struct report_method *y)
{
    return text__compare(x->class_name, y->class_name) == 0 &&
           text__compare(x->name, y->name) == 0 && text__compare(x->signature, y->signature) == 0;
}

static uint64_t hash_of(const struct report_method *method)
{
    uint64_t hash = index_table__hash_bytes(0, method->class_name.bytes, method->class_name.length);

    hash = index_table__hash_bytes(hash, method->name.bytes, method->name.length);
    return index_table__hash_bytes(hash, method->signature.bytes, method->signature.length);
}

struct matching {
    struct index_table table;
    struct latency_change *changes;
    uint32_t count;
};

/* A side has each method once, so the first one without it is the one. */
static struct latency_change *change_of(struct matching *matching,
                                        const struct report_method *method, unsigned side)
{
    uint64_t hash = hash_of(method);
    size_t probe = 0;
    uint32_t index;

    while ((index = index_table__next(&matching->table, hash, &probe)) != INDEX_TABLE_NONE) {
        struct latency_change *change = &matching->changes[index];

        if (!change->of[side] && is_same(change->method, method))
            return change;
    }
    index_table__add(&matching->table, hash, matching->count);
    matching->changes[matching->count].method = method;
    return &matching->changes[matching->count++];
}

static bool is_told(const struct latency_change *change)
{
    return change->of[DIFF_A] && change->of[DIFF_B] &&
           change->distance[LATENCY_ELAPSED].chance_ppm < LATENCY_CHANCE_PPM;
}

static int compare_changes(const void *a, const void *b)
{
    const struct latency_change *x = a, *y = b;
    uint32_t left = x->distance[LATENCY_ELAPSED].distance_ppm;
    uint32_t right = y->distance[LATENCY_ELAPSED].distance_ppm;
    int order = (int)is_told(y) - (int)is_told(x);

    if (!order)
        order = (left < right) - (left > right);
    if (!order)
        order = text__compare(x->method->class_name, y->method->class_name);
    if (!order)
        order = text__compare(x->method->name, y->method->name);
    return order ? order : text__compare(x->method->signature, y->method->signature);
}

struct latency_change *latency_changes__new(const struct report_model *const models[DIFF_SIDES],
                                            uint32_t *count)
{
    struct matching matching = {.changes = memory__zeroed((size_t)models[DIFF_A]->latency_count +
                                                              models[DIFF_B]->latency_count,
                                                          sizeof(*matching.changes))};

    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
        for (uint32_t i = 0; i < models[side]->latency_count; i++) {
            const struct report_latency *latency = &models[side]->latencies[i];

            if (latency->of[LATENCY_ELAPSED].count)
                change_of(&matching, &models[side]->methods[latency->method], side)->of[side] =
                    latency;
        }
    for (uint32_t i = 0; i < matching.count; i++) {
        struct latency_change *change = &matching.changes[i];

        for (unsigned clock = 0; change->of[DIFF_A] && change->of[DIFF_B] && clock < LATENCY_CLOCKS;
             clock++)
            change->distance[clock] = latency_distance__between(&change->of[DIFF_A]->of[clock],
                                                                &change->of[DIFF_B]->of[clock]);
    }
    index_table__release(&matching.table);
    qsort(matching.changes, matching.count, sizeof(*matching.changes), compare_changes);
    *count = matching.count;
    return matching.changes;
}
