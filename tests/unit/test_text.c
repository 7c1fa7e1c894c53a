/* Names and numbers as people see them. */
#include "tools/report/nearest.h"
#include "tools/report/quantity.h"
#include "tools/report/text.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* A string constant with its NULs inside, and its length. */
#define BYTES(constant) (constant), (sizeof(constant) - 1)

static struct text text_of(const char *bytes, size_t length)
{
    return (struct text){bytes, length};
}

static void assert_from_java(const char *java, size_t java_length, const char *expected,
                             size_t expected_length)
{
    struct text_store store = {0};
    struct text text = text__from_java(&store, java, java_length);
    assert_int_equal(text.length, expected_length);
    assert_memory_equal(text.bytes, expected, expected_length + 1);
    text_store__release(&store);
}

static void utf8_stays_as_it_is(void **state)
{
    (void)state;
    assert_from_java(BYTES(""), BYTES(""));
    assert_from_java(BYTES("main"), BYTES("main"));
    assert_from_java(BYTES("Zoë"), BYTES("Zoë"));
    assert_from_java(BYTES("日本"), BYTES("日本"));
    assert_from_java(BYTES("\xf0\x9d\x84\x9e"), BYTES("\xf0\x9d\x84\x9e"));
    assert_from_java(BYTES("a\0b"), BYTES("a\0b"));
}

static void modified_utf8_becomes_utf8(void **state)
{
    (void)state;
    assert_from_java(BYTES("a\xc0\x80z"), BYTES("a\0z"));
    /* U+1D11E as D834 DD1E */
    assert_from_java(BYTES("\xed\xa0\xb4\xed\xb4\x9e"), BYTES("\xf0\x9d\x84\x9e"));
    assert_from_java(BYTES("x\xed\xaf\xbf\xed\xbf\xbfy"), BYTES("x\xf4\x8f\xbf\xbfy"));
}

static void what_is_no_text_becomes_a_mark(void **state)
{
    (void)state;
    assert_from_java(BYTES("\xff"), BYTES("\xef\xbf\xbd"));
    assert_from_java(BYTES("a\x80z"), BYTES("a\xef\xbf\xbdz"));
    /* cut in the middle of a character */
    assert_from_java(BYTES("a\xe6\x97"), BYTES("a\xef\xbf\xbd\xef\xbf\xbd"));
    /* overlong '/' */
    assert_from_java(BYTES("\xc0\xaf"), BYTES("\xef\xbf\xbd\xef\xbf\xbd"));
    /* surrogates alone, and in the wrong order */
    assert_from_java(BYTES("\xed\xa0\xb4"), BYTES("\xef\xbf\xbd"));
    assert_from_java(BYTES("\xed\xb4\x9e\xed\xa0\xb4"), BYTES("\xef\xbf\xbd\xef\xbf\xbd"));
    /* beyond U+10FFFF */
    assert_from_java(BYTES("\xf4\x90\x80\x80"),
                     BYTES("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
}

static void assert_printable(const char *bytes, size_t length, size_t columns, const char *expected)
{
    char *printable = text__printable(text_of(bytes, length), columns);
    assert_string_equal(printable, expected);
    free(printable);
}

static void dangerous_characters_are_shown(void **state)
{
    (void)state;
    assert_printable(BYTES("\033[31mred"), 0, "\\x1b[31mred");
    assert_printable(BYTES("a\nb\tc\rd"), 0, "a\\nb\\tc\\rd");
    assert_printable(BYTES("a\0b\x7f"), 0, "a\\x00b\\x7f");
    assert_printable(BYTES("\xc2\x9b"), 0, "\\x9b");       /* CSI in C1 */
    assert_printable(BYTES("\xe2\x80\xae"), 0, "\\u202e"); /* right-to-left override */
    assert_printable(BYTES("\xe2\x81\xa6\xe2\x81\xa9"), 0, "\\u2066\\u2069"); /* isolates */
    assert_printable(BYTES("\xe2\x80\x8e\xe2\x80\x8f"), 0, "\\u200e\\u200f"); /* marks */
    assert_printable(BYTES("a\xe2\x80\x8b"
                           "b"),
                     0, "a\\u200bb"); /* zero-width space */
    assert_printable(BYTES("\xef\xbb\xbf"), 0, "\\ufeff");
    assert_printable(BYTES("\xf3\xa0\x81\x81"), 0, "\\U000e0041"); /* a tag character */
    assert_printable(BYTES("日本 é"), 0, "日本 é");
}

static void few_marks_on_a_letter_are_fine(void **state)
{
    (void)state;
    assert_printable(BYTES("e\xcc\x81"), 0, "e\xcc\x81");
    assert_printable(BYTES("\xcc\x81"), 0, "\\u0301");
    assert_printable(BYTES("e\xcc\x81\xcc\x81\xcc\x81"), 0, "e\xcc\x81\xcc\x81\\u0301");
}

static void long_names_are_cut(void **state)
{
    (void)state;
    assert_printable(BYTES("abcdef"), 6, "abcdef");
    assert_printable(BYTES("abcdef"), 5, "abcd…");
    assert_printable(BYTES("日本語"), 6, "日本語");
    assert_printable(BYTES("日本語"), 5, "日本…");
    assert_printable(BYTES("日本語"), 4, "日…");   /* half a character is none */
    assert_printable(BYTES("ab\033cd"), 5, "ab…"); /* nor is half an escape */
}

static void cut_in_the_middle_keeps_the_end(void **state)
{
    (void)state;
    struct text name = text_of(BYTES("com.example.deep.package.Worker.run"));
    char *cut = text__printable_middle(name, 20);
    assert_int_equal(text__columns(cut), 20);
    assert_string_equal(cut, "com.ex…ge.Worker.run");
    free(cut);
    cut = text__printable_middle(name, 100);
    assert_string_equal(cut, "com.example.deep.package.Worker.run");
    free(cut);
}

static void columns_are_those_of_a_terminal(void **state)
{
    (void)state;
    assert_int_equal(text__columns(""), 0);
    assert_int_equal(text__columns("main"), 4);
    assert_int_equal(text__columns("日本"), 4);
    assert_int_equal(text__columns("e\xcc\x81"), 1);
    assert_int_equal(text__columns("1.00 µs"), 7);
}

static void without_utf8_all_is_ascii(void **state)
{
    (void)state;
    setlocale(LC_CTYPE, "C");
    assert_printable(BYTES("日本"), 0, "\\u65e5\\u672c");
    assert_printable(BYTES("abcdef"), 5, "ab...");
    assert_string_equal(quantity__ns(1500).text, "1.50 us");
    setlocale(LC_CTYPE, "C.UTF-8");
}

static void digits_fold_once(void **state)
{
    (void)state;
    static const struct {
        const char *name, *folded;
    } cases[] = {
        {"", ""},
        {"main", "main"},
        {"pool-1-thread-12", "pool-#-thread-#"},
        {"7", "#"},
        {"VirtualThread[#31]", "VirtualThread[#]"},
        {"VirtualThread[#]", "VirtualThread[#]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct text_store store = {0};
        struct text name = text_of(cases[i].name, strlen(cases[i].name));
        assert_string_equal(text__with_digits_folded(&store, name).bytes, cases[i].folded);
        text_store__release(&store);
    }
}

static void times_have_three_digits_and_a_unit(void **state)
{
    (void)state;
    const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "1 ns"},
        {999, "999 ns"},
        {1000, "1.00 µs"},
        {12345, "12.3 µs"},
        {999499, "999 µs"},
        {999500, "1.00 ms"},
        {12345678, "12.3 ms"},
        {999499999, "999 ms"},
        {999500000, "1.000 s"},
        {1234567890, "1.235 s"},
        {UINT64_C(59990000000), "59.99 s"},
        {UINT64_C(187000000000), "3 m 07 s"},
        {UINT64_C(93780000000000), "26 h 03 m"},
        {UINT64_C(1047600000000000), "12 d 03 h"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(quantity__ns(cases[i].ns).text, cases[i].text);
        assert_true(text__columns(cases[i].text) <= QUANTITY_COLUMNS);
    }
    assert_true(strlen(quantity__ns(UINT64_MAX).text) < QUANTITY_BYTES);
}

static void sizes_and_counts_are_short(void **state)
{
    (void)state;
    assert_string_equal(quantity__bytes(0).text, "0");
    assert_string_equal(quantity__bytes(1023).text, "1023 B");
    assert_string_equal(quantity__bytes(1024).text, "1.00 KiB");
    assert_string_equal(quantity__bytes(4718592).text, "4.50 MiB");
    assert_string_equal(quantity__bytes(UINT64_MAX).text, "16.0 EiB");
    assert_string_equal(quantity__count(999).text, "999");
    assert_string_equal(quantity__count(12345).text, "12 345");
    assert_string_equal(quantity__count(1007).text, "1 007");
    assert_string_equal(quantity__count(12345678).text, "12.3 M");
    assert_string_equal(quantity__count(UINT64_MAX).text, "18.4 E");
    assert_string_equal(quantity__share(0, 10).text, "0 %");
    assert_string_equal(quantity__share(1, 100000).text, "<0.01 %");
    assert_string_equal(quantity__share(4, 10000).text, "0.04 %");
    assert_string_equal(quantity__share(1, 3).text, "33.3 %");
    assert_string_equal(quantity__share(3, 3).text, "100.0 %");
    assert_string_equal(quantity__share(3, 0).text, "");
}

static void the_nearest_name_is_found(void **state)
{
    (void)state;
    const char *names[] = {"threads", "tree", "flat", "callers", "minor_faults"};
    assert_string_equal(nearest__of("treee", names, 5), "tree");
    assert_string_equal(nearest__of("falt", names, 5), "flat");
    assert_string_equal(nearest__of("caller", names, 5), "callers");
    assert_string_equal(nearest__of("faults", names, 5), "minor_faults");
    assert_null(nearest__of("xyzzy", names, 5));
    assert_null(nearest__of("", names, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_stays_as_it_is),
        cmocka_unit_test(modified_utf8_becomes_utf8),
        cmocka_unit_test(what_is_no_text_becomes_a_mark),
        cmocka_unit_test(dangerous_characters_are_shown),
        cmocka_unit_test(few_marks_on_a_letter_are_fine),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(cut_in_the_middle_keeps_the_end),
        cmocka_unit_test(columns_are_those_of_a_terminal),
        cmocka_unit_test(without_utf8_all_is_ascii),
        cmocka_unit_test(digits_fold_once),
        cmocka_unit_test(times_have_three_digits_and_a_unit),
        cmocka_unit_test(sizes_and_counts_are_short),
        cmocka_unit_test(the_nearest_name_is_found),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
