/* Calls that are measured from entry to exit: which ones end, and which are forgotten. */
#include "native/thread/measured_calls.h"
#include "native/tree/call_tree.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define EPOCH      (UINT64_C(3) << 32)
#define NEXT_EPOCH (UINT64_C(4) << 32)

static void a_call_without_mark_is_not_measured(void **state)
{
    (void)state;

    assert_false(call_token__is_measured(EPOCH | 7));
    assert_false(call_token__is_measured(CALL_TOKEN_NONE));
}

/* Method 5 at depth 2 from 100 to 190, with method 6 at depth 4 from 110 to 140 in it. */
static void calls_nest(void **state)
{
    (void)state;
    struct measured_calls calls = {0};
    uint64_t outer = measured_calls__begin(&calls, EPOCH | 2, 5, 100);
    uint64_t inner = measured_calls__begin(&calls, EPOCH | 4, 6, 110);
    uint32_t key;

    assert_true(call_token__is_measured(outer) && call_token__is_measured(inner));
    assert_int_equal(outer & ~CALL_TOKEN_MEASURED, EPOCH | 2);
    assert_int_equal(measured_calls__end(&calls, EPOCH | 4, 140, &key), 30);
    assert_int_equal(key, 6);
    assert_int_equal(measured_calls__end(&calls, EPOCH | 2, 190, &key), 90);
    assert_int_equal(key, 5);
    assert_int_equal(calls.count, 0);
}

/* The call at depth 4 had no exit hook: its stack was full. */
static void a_call_that_left_is_forgotten(void **state)
{
    (void)state;
    struct measured_calls calls = {0};
    uint32_t key;

    measured_calls__begin(&calls, EPOCH | 2, 5, 100);
    measured_calls__begin(&calls, EPOCH | 4, 6, 110);
    measured_calls__begin(&calls, EPOCH | 3, 7, 200);
    assert_int_equal(calls.count, 2);
    assert_int_equal(measured_calls__end(&calls, EPOCH | 2, 300, &key), 200);
    assert_int_equal(key, 5);
    assert_int_equal(calls.count, 0);
    measured_calls__end(&calls, EPOCH | 3, 310, &key);
    assert_int_equal(key, 0);
}

static void an_earlier_epoch_is_forgotten(void **state)
{
    (void)state;
    struct measured_calls calls = {0};
    uint32_t key;

    measured_calls__begin(&calls, EPOCH | 2, 5, 100);
    measured_calls__begin(&calls, NEXT_EPOCH | 9, 6, 110);
    assert_int_equal(calls.count, 1);
    measured_calls__end(&calls, EPOCH | 2, 120, &key);
    assert_int_equal(key, 0);
}

static void what_has_no_room_has_no_mark(void **state)
{
    (void)state;
    struct measured_calls calls = {0};
    uint32_t key;

    for (uint32_t depth = 0; depth < MEASURED_CALLS_MAX; depth++)
        assert_true(call_token__is_measured(
            measured_calls__begin(&calls, EPOCH | depth, depth + 1, depth)));
    assert_false(
        call_token__is_measured(measured_calls__begin(&calls, EPOCH | MEASURED_CALLS_MAX, 99, 50)));
    assert_int_equal(measured_calls__end(&calls, EPOCH, 70, &key), 70);
    assert_int_equal(key, 1);
    assert_int_equal(calls.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_without_mark_is_not_measured),
        cmocka_unit_test(calls_nest),
        cmocka_unit_test(a_call_that_left_is_forgotten),
        cmocka_unit_test(an_earlier_epoch_is_forgotten),
        cmocka_unit_test(what_has_no_room_has_no_mark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
