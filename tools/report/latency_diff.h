/*
 * The calls of the methods of latency= in two ledgers, compared as distributions: how far apart the
 * two are, and how probable as much is if both are the same. Methods are the same by class, name
 * and signature.
 */
#ifndef TREADLE_LATENCY_DIFF_H
#define TREADLE_LATENCY_DIFF_H

#include "tools/report/report_diff.h"

/*
 * The two-sample test of Kolmogorov and Smirnov [A. N. Kolmogorov 1933, N. V. Smirnov 1948; the
 * chance as M. A. Stephens: Use of the Kolmogorov-Smirnov, Cramér-von Mises and Related Statistics
 * Without Extensive Tables, 1970, has it], on the edges of the buckets: the distance is at least
 * that much, and the chance at most that. The test takes calls as independent of each other.
 */
struct latency_distance {
    uint32_t distance_ppm; /* the greatest difference between the shares of calls that took no more
                              than a time */
    uint32_t chance_ppm;   /* that two samples of one distribution are as far apart; rounded up */
};

struct latency_change {
    const struct report_method *method;
    const struct report_latency *of[DIFF_SIDES];      /* NULL: no calls */
    struct latency_distance distance[LATENCY_CLOCKS]; /* 0 unless both sides have calls */
};

/* From this chance on a change is not told from chance. */
#define LATENCY_CHANCE_PPM 10000u

struct latency_distance latency_distance__between(const struct report_histogram *a,
                                                  const struct report_histogram *b);

/* The most distant methods first, of elapsed time; those that are not told from chance, and those
 * that only one side has, behind them. Release with free. */
struct latency_change *latency_changes__new(const struct report_model *const models[DIFF_SIDES],
                                            uint32_t *count);

#endif
