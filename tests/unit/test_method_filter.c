#include "agent/method_filter.h"

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

static void globs_match(void **state)
{
    (void)state;
    static const struct {
        const char *glob;
        const char *text;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"*", "", true},
        {"*", "anything.at.all", true},
        {"***", "", true},
        {"abc", "abc", true},
        {"abc", "abcd", false},
        {"abc", "xabc", false},
        {"a*", "a", true},
        {"*a", "a", true},
        {"*a", "ab", false},
        {"a*c", "ac", true},
        {"a*c", "abbbc", true},
        {"a*c", "abbbd", false},
        {"a*b*c", "aXbXbXc", true},
        {"*aab", "aaaaab", true},
        {"*ab*ab", "abab", true},
        {"*ab*ab", "ab", false},
        {"a**b", "ab", true},
        /* Nothing else is special. */
        {"a.c", "abc", false},
        {"a?c", "abc", false},
        {"[ab]", "a", false},
        {"[ab]", "[ab]", true},
        {"\\*", "*", false},
        {"Map$Node.<init>", "Map$Node.<init>", true},
        {"*.<init>", "java.lang.Object.<init>", true},
        {"ABC", "abc", false},
        {"*\xc3\xa9*", "caf\xc3\xa9.run", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (glob__matches(cases[i].glob, cases[i].text) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].glob, cases[i].text);
}

/* Backtracking over one star only: a glob of many stars is no bomb. */
static void many_stars_are_no_trouble(void **state)
{
    (void)state;
    char glob[201];
    char text[4001];
    for (size_t i = 0; i < 200; i += 2)
        memcpy(glob + i, "*a", 2);
    glob[199] = 'b';
    glob[200] = '\0';
    memset(text, 'a', 4000);
    text[4000] = '\0';
    assert_false(glob__matches(glob, text));
}

static void filters_admit(void **state)
{
    (void)state;
    static const struct {
        const char *include;
        const char *exclude;
        const char *class_name;
        const char *method_name;
        bool admits;
    } cases[] = {
        {NULL, NULL, "Main", "main", true},
        {NULL, NULL, "", "", true},
        {"Main.main", NULL, "Main", "main", true},
        {"Main.main", NULL, "Main", "main2", false},
        {"Main.*", NULL, "Main", "run", true},
        {"Main.*", NULL, "Main$1", "run", false},
        {"Main*", NULL, "Main$1", "run", true},
        {"com.example.*", NULL, "com.example.deep.Er", "run", true},
        {"com.example.*", NULL, "com.other.Er", "run", false},
        {"*.run", NULL, "com.example.Er", "run", true},
        {"a.*;b.*;c.*", NULL, "b.C", "m", true},
        {"a.*;b.*;c.*", NULL, "c.C", "m", true},
        {"a.*;b.*;c.*", NULL, "d.C", "m", false},
        {";;b.*;;", NULL, "b.C", "m", true},
        {";;b.*;;", NULL, "a.C", "m", false},
        /* An empty list includes nothing and excludes nothing. */
        {"", NULL, "a.C", "m", false},
        {";", NULL, "a.C", "m", false},
        {NULL, "", "a.C", "m", true},
        {NULL, ";", "a.C", "m", true},
        {NULL, "java.*", "java.lang.Object", "wait", false},
        {NULL, "java.*", "javax.swing.JFrame", "show", true},
        {NULL, "*.toString;*.hashCode", "a.C", "hashCode", false},
        {NULL, "*", "a.C", "m", false},
        /* exclude takes out of what include admits, whichever is more exact. */
        {"com.*", "com.example.*", "com.example.A", "m", false},
        {"com.*", "com.example.*", "com.other.A", "m", true},
        {"com.example.A.m", "com.*", "com.example.A", "m", false},
        {"org.*", "com.*", "com.example.A", "m", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (method_filter__admits(cases[i].include, cases[i].exclude, cases[i].class_name,
                                  cases[i].method_name) != cases[i].admits)
            fail_msg("case %zu: %s.%s", i, cases[i].class_name, cases[i].method_name);
}

/* A class file allows names of 65535 bytes. */
static void names_of_any_length_are_seen_whole(void **state)
{
    (void)state;
    static char class_name[65536];
    memset(class_name, 'p', sizeof class_name - 1);
    static const size_t lengths[] = {100, 2000, 2040, 2047, 2048, 3000, 65535};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char kept = class_name[lengths[i]];
        class_name[lengths[i]] = '\0';
        assert_true(method_filter__admits("*.run", NULL, class_name, "run"));
        assert_false(method_filter__admits("*.stop", NULL, class_name, "run"));
        assert_false(method_filter__admits(NULL, "*.run", class_name, "run"));
        class_name[lengths[i]] = kept;
    }
}

/* false must be right: then no method of the class is asked for. */
static void classes_without_any_such_method_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *include;
        const char *exclude;
        const char *class_name;
        bool admits_some;
    } cases[] = {
        {NULL, NULL, "a.C", true},        {"a.C.m", NULL, "a.C", true},
        {"a.C.*", NULL, "a.C", true},     {"a.C", NULL, "a.C", false},
        {"a.C.", NULL, "a.C", false},     {"a.*", NULL, "a.C", true},
        {"a.*", NULL, "ab.C", false},     {"a.C*", NULL, "a.C$1", true},
        {"a.C.*", NULL, "a.C$1", false},  {"*", NULL, "a.C", true},
        {"*.run", NULL, "a.C", true},     {"b.*;a.C.run", NULL, "a.C", true},
        {"b.*;c.*", NULL, "a.C", false},  {"", NULL, "a.C", false},
        {NULL, "a.C.run", "a.C", true},   {NULL, "a.*", "a.C", false},
        {NULL, "a.C.*", "a.C", false},    {NULL, "a.C.r*", "a.C", true},
        {NULL, "*.run", "a.C", true},     {NULL, "*", "a.C", false},
        {"a.*", "a.b.*", "a.b.C", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (method_filter__admits_some(cases[i].include, cases[i].exclude, cases[i].class_name) !=
            cases[i].admits_some)
            fail_msg("case %zu: %s", i, cases[i].class_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs_match),
        cmocka_unit_test(many_stars_are_no_trouble),
        cmocka_unit_test(filters_admit),
        cmocka_unit_test(names_of_any_length_are_seen_whole),
        cmocka_unit_test(classes_without_any_such_method_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
