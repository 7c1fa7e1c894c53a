/* The classes that push logical frames have no nodes of their own. */
#include "agent/methods/api_class.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static void the_api_has_no_nodes(void **state)
{
    (void)state;
    assert_true(api_class__is("treadle/Activity"));
    assert_true(api_class__is("treadle.Activity$Captured"));
    assert_false(api_class__is("treadle.Activities"));
    assert_false(api_class__is("treadle.Other"));
    assert_false(api_class__is("treadle"));
    assert_false(api_class__is(""));
    assert_false(api_class__is("my.treadle.Activity"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_api_has_no_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
