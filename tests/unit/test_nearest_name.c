#include "native/nearest_name.h"

#include <limits.h>
#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static void distances_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *a;
        const char *b;
        unsigned distance;
    } cases[] = {
        {"", "", 0},
        {"a", "", 1},
        {"abc", "", 3},
        {"same", "same", 0},
        {"kitten", "sitting", 3},
        {"saturday", "sunday", 3},
        {"flaw", "lawn", 2},
        {"ab", "ba", 2},
        {"metric", "metrics", 1},
        {"xyz", "abc", 3},
        {"a", "aaaa", 3},
        {"intention", "execution", 5},
        {"events", "Events", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(name__distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(name__distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

static void words_of_63_bytes_are_compared_longer_ones_are_far(void **state)
{
    (void)state;
    char word[65];
    memset(word, 'x', sizeof word);
    word[63] = '\0';
    assert_int_equal(name__distance(word, ""), 63);
    assert_int_equal(name__distance(word, word), 0);
    assert_int_equal(name__distance(word, "x"), 62);
    word[63] = 'x';
    word[64] = '\0';
    assert_int_equal(name__distance(word, word), UINT_MAX);
    assert_int_equal(name__distance(word, ""), UINT_MAX);
    assert_int_equal(name__distance("", word), UINT_MAX);
}

static void the_nearest_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"include", NULL, "exclude", "events", "metrics", "file"};
    static const struct {
        const char *word;
        const char *nearest;
    } cases[] = {
        {"file", "file"},      {"flie", "file"},      {"metric", "metrics"}, {"event", "events"},
        {"eclude", "exclude"}, {"inclde", "include"}, {"evnets", "events"},  {"xxclude", "exclude"},
        {"iclude", "include"}, {"", "file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(name__nearest(cases[i].word, names, 6), cases[i].nearest);
    static const char *const tie[] = {"abx", "aby"};
    assert_string_equal(name__nearest("abz", tie, 2), "abx");
}

static void without_names_there_is_no_nearest(void **state)
{
    (void)state;
    static const char *const none[] = {NULL, NULL};
    assert_null(name__nearest("word", none, 2));
    assert_null(name__nearest("word", NULL, 0));
}

/* "or NULL if there are none": a word that is far from everything still has a nearest one. */
static void a_long_word_has_a_nearest_name_too(void **state)
{
    (void)state;
    static const char *const names[] = {"include", "exclude"};
    char word[101];
    memset(word, 'x', 100);
    word[100] = '\0';
    assert_non_null(name__nearest(word, names, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_known),
        cmocka_unit_test(words_of_63_bytes_are_compared_longer_ones_are_far),
        cmocka_unit_test(the_nearest_is_found),
        cmocka_unit_test(without_names_there_is_no_nearest),
        cmocka_unit_test(a_long_word_has_a_nearest_name_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
