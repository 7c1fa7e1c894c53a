/* What the rewriter says of a method without hooks, as the ledger says it. */
#include "agent/methods/unhooked_method.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static void outcomes_have_reasons(void **state)
{
    static const struct {
        enum method_outcome outcome;
        enum unhooked_reason reason;
    } rows[] = {
        {METHOD_CODE_TOO_LARGE, UNHOOKED_CODE_TOO_LARGE},
        {METHOD_POOL_FULL, UNHOOKED_POOL_FULL},
        {METHOD_BRANCH_OUT_OF_REACH, UNHOOKED_BRANCH_OUT_OF_REACH},
        {METHOD_TOO_MANY_HANDLERS, UNHOOKED_TOO_MANY_HANDLERS},
        {METHOD_STACK_TOO_DEEP, UNHOOKED_STACK_TOO_DEEP},
        {METHOD_LOCALS_FULL, UNHOOKED_LOCALS_FULL},
        {METHOD_CONSTRUCTOR_UNCLEAR, UNHOOKED_CONSTRUCTOR_UNCLEAR},
    };
    enum unhooked_reason reason;

    (void)state;
    assert_false(unhooked_method__reason(METHOD_HOOKED, &reason));
    assert_false(unhooked_method__reason(METHOD_NOT_CHOSEN, &reason));
    assert_false(unhooked_method__reason(METHOD_WITHOUT_CODE, &reason));
    assert_int_equal(sizeof rows / sizeof *rows, METHOD_OUTCOMES - METHOD_CODE_TOO_LARGE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(unhooked_method__reason(rows[i].outcome, &reason));
        assert_int_equal(reason, rows[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_have_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
