/* What hooks took, look by look: the test says how many there were, and what the timed ones took.
 * Reading the counter takes 30 ticks. */
#include "native/thread/timed_hooks.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define COUNTER_TICKS 30u

static void add(struct timed_hooks *hooks, uint64_t calls, uint64_t timed, uint64_t ticks)
{
    hooks->calls += calls;
    hooks->timed += timed;
    hooks->timed_ticks += timed * (ticks + COUNTER_TICKS);
}

/* The first hook that is timed gives a price at once. Later ones wait until there are enough of
 * them, and count with the last price until then. What is over keeps its price. */
static void hooks_have_the_price_of_their_time(void **state)
{
    (void)state;
    struct hook_account account = {.ticks = 0};
    struct timed_hooks hooks = {.calls = 0};
    assert_int_equal(hook_account__look(&account, &hooks, COUNTER_TICKS), 0);
    add(&hooks, 10, 0, 0);
    assert_int_equal(hook_account__look(&account, &hooks, COUNTER_TICKS), 0);
    add(&hooks, 10, 1, 100);
    assert_int_equal(hook_account__look(&account, &hooks, COUNTER_TICKS), 20 * 100);
    add(&hooks, 300, HOOK_ACCOUNT_LEAST - 1, 700);
    assert_int_equal(hook_account__look(&account, &hooks, COUNTER_TICKS), 20 * 100 + 300 * 100);
    assert_int_equal(account.mean_ticks, 100);
    add(&hooks, 20, 1, 700);
    assert_int_equal(hook_account__look(&account, &hooks, COUNTER_TICKS), 20 * 100 + 320 * 700);
    assert_int_equal(account.mean_ticks, 700);
    add(&hooks, 1000, 50, 200);
    assert_int_equal(hook_account__look(&account, &hooks, COUNTER_TICKS),
                     20 * 100 + 320 * 700 + 1000 * 200);
    assert_int_equal(hook_account__look(&account, &hooks, COUNTER_TICKS),
                     20 * 100 + 320 * 700 + 1000 * 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_have_the_price_of_their_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
