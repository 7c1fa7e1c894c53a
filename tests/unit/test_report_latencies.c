/* Histograms: the edges of their buckets, worked out on paper, and percentiles beside those of the
 * sorted values themselves. */
#include "tests/ledger_drawing.h"
#include "tools/report/latency_diff.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define VALUES 10007u

static void buckets_have_these_edges(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        uint32_t bucket;
    } edges[] = {
        {0, 0},
        {15, 0},
        {16, 1},
        {255, 15},
        {256, 16},
        {271, 16},
        {272, 17},
        {511, 31},
        {512, 32}, /* from here on 32 ns wide */
        {543, 32},
        {544, 33},
        {1023, 47},
        {1024, 48},
        {1048575, 207},                /* 2^20 - 1 */
        {1048576, 208},                /* 2^20: 208 = 16 * (20 - 4 - 4 + 1) */
        {1048576 + 65535, 208},        /* a sixteenth wide */
        {1048576 + 65536, 209},        /* ditto */
        {UINT64_C(274877906943), 495}, /* 2^38 - 1: 4 minutes and 35 s */
        {UINT64_C(274877906944), 495},
        {UINT64_MAX, 495},
    };
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        assert_int_equal(latency__bucket(edges[i].ns), edges[i].bucket);
    assert_int_equal(latency__floor_ns(1), 16);
    assert_int_equal(latency__floor_ns(16), 256);
    assert_int_equal(latency__floor_ns(33), 544);
    assert_int_equal(latency__floor_ns(208), 1048576);
    assert_int_equal(latency__floor_ns(209), 1048576 + 65536);
    for (uint32_t bucket = 1; bucket < LATENCY_BUCKETS; bucket++) {
        assert_int_equal(latency__bucket(latency__floor_ns(bucket)), bucket);
        assert_int_equal(latency__bucket(latency__floor_ns(bucket) - 1), bucket - 1);
    }
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* From 1 ns to an hour, as many in each power of two. */
static uint64_t scattered(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (UINT64_C(1) << (*seed >> 33) % 38) +
           (*seed >> 20) % (UINT64_C(1) << (*seed >> 33) % 38);
}

static void percentiles_are_those_of_the_values(void **state)
{
    (void)state;
    static uint64_t values[VALUES];
    static struct report_histogram histogram;
    uint64_t seed = 42;
    for (uint32_t i = 0; i < VALUES; i++) {
        values[i] = scattered(&seed);
        histogram.buckets[latency__bucket(values[i])]++;
        histogram.count++;
        if (values[i] > histogram.max_ns)
            histogram.max_ns = values[i];
    }
    qsort(values, VALUES, sizeof values[0], ascending);
    for (uint32_t ppm = 100; ppm < 1000000; ppm += 12345) {
        uint64_t rank = ((uint64_t)VALUES * ppm + 999999) / 1000000;
        uint64_t exact = values[rank - 1];
        uint64_t found = report_histogram__percentile_ns(&histogram, ppm);
        uint64_t off = found > exact ? found - exact : exact - found;
        assert_true(off <= 8 || off * 32 <= exact);
    }
    assert_int_equal(report_histogram__percentile_ns(&histogram, 1000000), histogram.max_ns);
}

/* 9 calls of 100 ns, one of 1000 ns: 96 to 112 is a bucket, and 992 to 1024. */
static void a_percentile_has_so_many_calls_below(void **state)
{
    (void)state;
    static struct report_histogram histogram = {
        .count = 10, .max_ns = 1000, .sum_ns = 1900, .steps = 9, .step_ns = 900};
    histogram.buckets[latency__bucket(100)] = 9;
    histogram.buckets[latency__bucket(1000)] = 1;
    assert_int_equal(report_histogram__percentile_ns(&histogram, 1), 104);
    assert_int_equal(report_histogram__percentile_ns(&histogram, 500000), 104);
    assert_int_equal(report_histogram__percentile_ns(&histogram, 900000), 104);
    assert_int_equal(report_histogram__percentile_ns(&histogram, 900001), 1000);
    assert_int_equal(report_histogram__percentile_ns(&histogram, 999000), 1000);
    assert_int_equal(report_histogram__mean_ns(&histogram), 190);
    assert_int_equal(report_histogram__jitter_ns(&histogram), 100);
    static const struct report_histogram empty;
    assert_int_equal(report_histogram__percentile_ns(&empty, 500000), 0);
    assert_int_equal(report_histogram__mean_ns(&empty), 0);
    assert_int_equal(report_histogram__jitter_ns(&empty), 0);
}

static void calls_beyond_the_last_bucket_have_the_longest(void **state)
{
    (void)state;
    static struct report_histogram histogram = {.count = 2, .max_ns = UINT64_C(900000000000)};
    histogram.buckets[LATENCY_BUCKETS - 1] = 2;
    assert_int_equal(report_histogram__percentile_ns(&histogram, 500000), UINT64_C(900000000000));
}

/*
 * 1000 calls of a take 100 ns; of b's 1000 calls 905 do, and the others 1000 ns: 0.095 apart. With
 * 500 = 1000 * 1000 / 2000, lambda is (22.3607 + 0.12 + 0.11 / 22.3607) * 0.095 = 2.13613, and
 * 2 exp(-2 lambda^2) is 217.6 millionths; the further terms are less than a millionth.
 */
static void distance_has_its_chance(void **state)
{
    (void)state;
    static struct report_histogram a = {.count = 1000}, b = {.count = 1000};
    a.buckets[latency__bucket(100)] = 1000;
    b.buckets[latency__bucket(100)] = 905;
    b.buckets[latency__bucket(1000)] = 95;
    struct latency_distance distance = latency_distance__between(&a, &b);
    assert_int_equal(distance.distance_ppm, 95000);
    assert_int_equal(distance.chance_ppm, 218);
    distance = latency_distance__between(&b, &a);
    assert_int_equal(distance.distance_ppm, 95000);
    distance = latency_distance__between(&a, &a);
    assert_int_equal(distance.distance_ppm, 0);
    assert_int_equal(distance.chance_ppm, 1000000);
    static const struct report_histogram none;
    distance = latency_distance__between(&a, &none);
    assert_int_equal(distance.distance_ppm, 0);
}

/* What a hostile file may say. */
static void sums_do_not_wrap(void **state)
{
    (void)state;
    static struct report_histogram histogram = {.count = UINT64_MAX, .max_ns = 7};
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
        histogram.buckets[i] = UINT64_MAX;
    assert_int_equal(report_histogram__percentile_ns(&histogram, 999999), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_have_these_edges),
        cmocka_unit_test(percentiles_are_those_of_the_values),
        cmocka_unit_test(a_percentile_has_so_many_calls_below),
        cmocka_unit_test(calls_beyond_the_last_bucket_have_the_longest),
        cmocka_unit_test(distance_has_its_chance),
        cmocka_unit_test(sums_do_not_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
