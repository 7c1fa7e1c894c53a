/*
 * How long the calls of the methods of latency= took: histograms as the ledger has them (struct
 * ledger_latency), and what is read from them.
 *
 * No library of histograms stands in between: the ledger's buckets are those of HdrHistogram, so to
 * record their middles in one would only divide them anew.
 */
#ifndef TREADLE_REPORT_LATENCIES_H
#define TREADLE_REPORT_LATENCIES_H

#include "native/ledger/ledger_format.h"

#include <stdbool.h>
#include <stdint.h>

struct report_model;

struct report_histogram {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t max_ns;  /* of an interval: no call took longer */
    uint64_t steps;   /* calls that ended after another one, and … */
    uint64_t step_ns; /* … how much longer or shorter than that one they took, in sum */
    uint64_t buckets[LATENCY_BUCKETS];
};

struct report_latency {
    uint32_t method;
    uint64_t calls; /* in the trees: those under way, and those in no histogram, too */
    struct report_histogram of[LATENCY_CLOCKS];
};

/* What part of a percentile it may be off, and how much at least. */
#define LATENCY_ERROR_PPM 31250u
#define LATENCY_ERROR_NS  8u

/* The least value that is not exceeded by so many millionths of the calls, as far as the buckets
 * tell: the middle of its bucket, and never more than the longest. 0 if there are no calls. */
uint64_t report_histogram__percentile_ns(const struct report_histogram *histogram, uint32_t ppm);

uint64_t report_histogram__mean_ns(const struct report_histogram *histogram);

/* Mean difference between a call and the call of the method that ended before it, on any thread. */
uint64_t report_histogram__jitter_ns(const struct report_histogram *histogram);

/* Sets `calls`; for a model whose trees are final. */
void report_latencies__count_calls(struct report_model *model);

/* Takes off what an earlier reading of the same ledger has. `methods`: the model's index by the
 * index in `before`. */
void report_latencies__subtract(struct report_model *model, const struct report_model *before,
                                const uint32_t *methods);

/* The methods with calls in histograms, sorted by one of these keys; release with free. */
#define LATENCY_KEYS "p99", "p50", "p90", "p999", "max", "mean", "jitter", "count", "cpu", "name"
const struct report_latency **report_latencies__sorted(const struct report_model *model,
                                                       const char *key, uint32_t *count);

#endif
