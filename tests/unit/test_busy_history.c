/* Processors busy over time. What slots should have is worked out from the moments and the CPU time
 * that each test names, in ms. */
#include "native/ledger/busy_history.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MS   UINT64_C(1000000)
#define ONE  (1u << LEDGER_BUSY_SHIFT)
#define SLOT 125u

static void look(struct ledger_busy_history *history, uint64_t ms, uint64_t cpu_ms)
{
    busy_history__look(history, ms * MS, cpu_ms * MS);
}

/* Rounding takes up to a unit a look. */
static void check(uint32_t value, uint32_t expected)
{
    assert_in_range(value, expected - (expected >= 8 ? 8 : expected), expected);
}

static void slots_have_what_was_used_in_them(void **state)
{
    (void)state;
    struct ledger_busy_history history = {0};
    look(&history, 1000, 700); /* what was used before is not known by time */
    look(&history, 1000 + SLOT, 700 + SLOT);
    look(&history, 1000 + 2 * SLOT, 700 + 3 * SLOT);
    look(&history, 1000 + 3 * SLOT, 700 + 3 * SLOT);
    assert_int_equal(history.first_ns, 1000 * MS);
    assert_int_equal(history.slot_ns, SLOT * MS);
    check(history.busy[0], ONE);
    check(history.busy[1], 2 * ONE);
    check(history.busy[2], 0);
    assert_int_equal(history.until_ns, (1000 + 3 * SLOT) * MS);
}

/* 300 ms of CPU in 1.5 s, from the middle of a slot on. */
static void what_lies_between_two_looks_is_spread(void **state)
{
    (void)state;
    struct ledger_busy_history history = {0};
    look(&history, 0, 0);
    look(&history, 50, 50);
    look(&history, 1550, 350);
    check(history.busy[0], ONE * (50 + 15) / SLOT); /* 75 of 1,500 ms */
    for (unsigned i = 1; i < 12; i++)
        check(history.busy[i], ONE / 5);
    check(history.busy[12], ONE / 5 * 50 / SLOT);
}

static void slots_become_twice_as_long(void **state)
{
    (void)state;
    struct ledger_busy_history history = {0};
    look(&history, 0, 0);
    for (unsigned i = 1; i <= LEDGER_BUSY_SLOTS; i++)
        look(&history, i * SLOT - 1, i % 2 ? (i / 2 + 1) * SLOT : i / 2 * SLOT);
    assert_int_equal(history.slot_ns, SLOT * MS);
    look(&history, LEDGER_BUSY_SLOTS * SLOT + 1, LEDGER_BUSY_SLOTS / 2 * SLOT);
    assert_int_equal(history.slot_ns, 2 * SLOT * MS);
    for (unsigned i = 0; i < LEDGER_BUSY_SLOTS / 2; i++)
        assert_in_range(history.busy[i], ONE / 2 - ONE / 50, ONE / 2 + ONE / 50);
    assert_int_equal(history.busy[LEDGER_BUSY_SLOTS - 1], 0);
    /* A whole day. */
    look(&history, 86400000,
         LEDGER_BUSY_SLOTS / 2 * SLOT + 86400000 - LEDGER_BUSY_SLOTS * SLOT - 1);
    assert_true(history.slot_ns * LEDGER_BUSY_SLOTS > 86400000 * MS);
    assert_true(history.slot_ns * LEDGER_BUSY_SLOTS <= 2 * 86400000 * MS);
    check(history.busy[10], ONE);
}

static void clocks_that_go_back_change_nothing(void **state)
{
    (void)state;
    struct ledger_busy_history history = {0};
    look(&history, 10, 10);
    look(&history, 60, 60);
    struct ledger_busy_history before = history;
    look(&history, 50, 70);
    look(&history, 60, 70);
    look(&history, 70, 50);
    assert_memory_equal(&history, &before, sizeof history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_have_what_was_used_in_them),
        cmocka_unit_test(what_lies_between_two_looks_is_spread),
        cmocka_unit_test(slots_become_twice_as_long),
        cmocka_unit_test(clocks_that_go_back_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
