/*
 * HotSpot's memory of performance counters, as perfMemory.hpp lays it out, written here by hand:
 * the two counters are found, and nothing is where the memory is not what it should be.
 */
#include "agent/hotspot/safepoint_time.h"

#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define SECOND UINT64_C(1000000000)

struct counters {
    _Alignas(8) uint8_t bytes[1024];
    uint32_t used;
    uint32_t count;
};

static void put(struct counters *counters, uint32_t at, uint64_t value, size_t bytes)
{
    memcpy(counters->bytes + at, &value, bytes);
}

/* An entry of one long: 20 bytes of head, the name, and the number at the next multiple of 8. */
static uint32_t add(struct counters *counters, const char *name, uint64_t value)
{
    uint32_t at = counters->used;
    uint32_t data = (20 + (uint32_t)strlen(name) + 1 + 7) / 8 * 8;
    put(counters, at, data + 8, 4);
    put(counters, at + 4, 20, 4);
    put(counters, at + 12, 'J', 1);
    put(counters, at + 16, data, 4);
    memcpy(counters->bytes + at + 20, name, strlen(name) + 1);
    put(counters, at + data, value, 8);
    counters->used += data + 8;
    put(counters, 8, counters->used, 4);
    put(counters, 28, ++counters->count, 4);
    return at;
}

static struct counters empty(void)
{
    struct counters counters = {.used = 32};
    memcpy(counters.bytes, "\xca\xfe\xc0\xc0\x01\x02\x00\x01", 8);
    put(&counters, 24, 32, 4);
    return counters;
}

static struct counters whole(void)
{
    struct counters counters = empty();
    add(&counters, "sun.rt.safepoints", 3);
    add(&counters, "sun.rt.safepointTimes", 5);
    add(&counters, "sun.rt.safepointTime", 7 * SECOND);
    add(&counters, "sun.rt.safepointSyncTime", 2 * SECOND);
    return counters;
}

static bool find(struct stopped_time *time, const struct counters *counters)
{
    return safepoint_time__find_in(time, (const char *)counters->bytes);
}

static void the_sum_of_both_counters_is_the_time(void **state)
{
    (void)state;
    struct counters counters = whole();
    struct stopped_time time;
    assert_true(find(&time, &counters));
    assert_int_equal(stopped_time__ns(&time), 9 * SECOND);
}

static void a_frequency_other_than_nanoseconds_is_not_ours(void **state)
{
    (void)state;
    struct counters counters = whole();
    struct stopped_time time;
    uint32_t at = add(&counters, "sun.os.hrt.frequency", SECOND);
    assert_true(find(&time, &counters));
    put(&counters, at + 48, 1000000, 8);
    assert_false(find(&time, &counters));
    assert_int_equal(stopped_time__ns(&time), 0);
}

static void a_counter_that_is_missing_is_told(void **state)
{
    (void)state;
    struct counters counters = empty();
    struct stopped_time time;
    assert_false(find(&time, &counters));
    add(&counters, "sun.rt.safepointTime", 1);
    assert_false(find(&time, &counters));
    assert_null(time.counters[0]);
}

static void another_format_is_refused(void **state)
{
    (void)state;
    struct counters counters = whole();
    struct stopped_time time;
    counters.bytes[5] = 3; /* its version */
    assert_false(find(&time, &counters));
    counters = whole();
    counters.bytes[0] = 0;
    assert_false(find(&time, &counters));
}

/* A length of 0 would be looked at for ever, a longer one than there is goes beyond the memory. */
static void lengths_that_lie_end_the_search(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 19, 1u << 20, UINT32_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct counters counters = whole();
        struct stopped_time time;
        put(&counters, 32, lengths[i], 4);
        assert_false(find(&time, &counters));
    }
    struct counters counters = empty();
    struct stopped_time time;
    uint32_t at = add(&counters, "sun.rt.safepointSyncTime", 1);
    add(&counters, "sun.rt.safepointTime", 1);
    assert_true(find(&time, &counters));
    put(&counters, at + 16, 1000, 4); /* where the number is */
    assert_false(find(&time, &counters));
    put(&counters, at + 16, 49, 4);
    assert_false(find(&time, &counters));
    put(&counters, at + 4, 5000, 4); /* where the name is */
    assert_false(find(&time, &counters));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sum_of_both_counters_is_the_time),
        cmocka_unit_test(a_frequency_other_than_nanoseconds_is_not_ours),
        cmocka_unit_test(a_counter_that_is_missing_is_told),
        cmocka_unit_test(another_format_is_refused),
        cmocka_unit_test(lengths_that_lie_end_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
