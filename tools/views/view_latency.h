/*
 * What the views of latencies share: percentiles in text, JSON and CSV.
 */
#ifndef TREADLE_VIEW_LATENCY_H
#define TREADLE_VIEW_LATENCY_H

#include "tools/report/report_latencies.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define LATENCY_PERCENTILES 4u

struct latency_percentile {
    const char *key;   /* "p999_ns" */
    const char *title; /* "P99.9" */
    uint32_t ppm;
};

extern const struct latency_percentile latency_percentiles[LATENCY_PERCENTILES];

/* The percentiles of one clock, the longest, the mean and the jitter, as keys of `object`. */
void view_latency__add(json_t *object, const struct report_histogram *histogram);

/* Its buckets with calls: [[from_ns, to_ns, calls], …]. */
json_t *view_latency__buckets(const struct report_histogram *histogram);

#endif
