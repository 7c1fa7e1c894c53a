/* Paths of snapshots: the pattern, the process id, the number and the time. */
#include "native/snapshot/snapshot.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static void patterns_are_expanded(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *path;
    } cases[] = {
        {"treadle-%p.ledger", "treadle-12.ledger"},
        {"/a/%n/%p-%n", "/a/7/12-7"},
        {"%%p%%", "%p%"},
        {"%p%p", "1212"},
        {"", ""},
        {"plain", "plain"},
        {"\xc3\xa9-%n", "\xc3\xa9-7"},
    };
    static const char *const bad[] = {"%", "a%", "%x", "%P", "%%%", "% p", "%-p"};
    char path[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(snapshot__path(path, sizeof path, cases[i].pattern, 12, 7), 0);
        assert_string_equal(path, cases[i].path);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(snapshot__path(path, sizeof path, bad[i], 12, 7), -EINVAL);
}

static void patterns_have_the_time(void **state)
{
    (void)state;
    char path[64];
    struct tm tm = {0};
    assert_int_equal(snapshot__path(path, sizeof path, "x-%t.y", 1, 1), 0);
    assert_int_equal(strlen(path), strlen("x-20240131-235959.y"));
    const char *end = strptime(path, "x-%Y%m%d-%H%M%S.y", &tm);
    assert_non_null(end);
    assert_string_equal(end, "");
    assert_true(tm.tm_year >= 124);
}

static void paths_fit_or_are_refused(void **state)
{
    (void)state;
    char path[9] = "########";
    assert_int_equal(snapshot__path(path, 4, "abc", 1, 1), 0);
    assert_string_equal(path, "abc");
    assert_int_equal(path[4], '#');
    assert_int_equal(snapshot__path(path, 3, "abc", 1, 1), -ENAMETOOLONG);
    assert_int_equal(snapshot__path(path, 8, "%p", 2147483647, 1), -ENAMETOOLONG);
    assert_int_equal(snapshot__path(path, 1, "", 1, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_expanded),
        cmocka_unit_test(patterns_have_the_time),
        cmocka_unit_test(paths_fit_or_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
