#include "agent/methods/method_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* As the agent reads them from its options; NULL: not given. */
static void make_filter(struct method_filter *filter, const char *include, const char *exclude)
{
    char message[256];
    *filter = (struct method_filter){0};
    if (include && glob_list__new(&filter->include, include, message, sizeof message) != 0)
        fail_msg("%s", message);
    if (exclude && glob_list__new(&filter->exclude, exclude, message, sizeof message) != 0)
        fail_msg("%s", message);
}

static bool admits(const char *include, const char *exclude, const char *class_name,
                   const char *method_name)
{
    struct method_filter filter;
    make_filter(&filter, include, exclude);
    bool result = method_filter__admits(&filter, class_name, method_name);
    method_filter__release(&filter);
    return result;
}

static bool admits_some(const char *include, const char *exclude, const char *class_name)
{
    struct method_filter filter;
    make_filter(&filter, include, exclude);
    bool result = method_filter__admits_some(&filter, class_name);
    method_filter__release(&filter);
    return result;
}

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
        if (glob__matches(cases[i].glob, strlen(cases[i].glob), cases[i].text,
                          strlen(cases[i].text)) != cases[i].matches)
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
    assert_false(glob__matches(glob, 200, text, 4000));
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
        if (admits(cases[i].include, cases[i].exclude, cases[i].class_name, cases[i].method_name) !=
            cases[i].admits)
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
        assert_true(admits("*.run", NULL, class_name, "run"));
        assert_false(admits("*.stop", NULL, class_name, "run"));
        assert_false(admits(NULL, "*.run", class_name, "run"));
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
        if (admits_some(cases[i].include, cases[i].exclude, cases[i].class_name) !=
            cases[i].admits_some)
            fail_msg("case %zu: %s", i, cases[i].class_name);
}

/* A small random world of names and globs over it: whatever the list's structure makes of them, the
 * answers are those of one comparison with each glob after the other. */
static bool one_by_one(char *const *globs, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (glob__matches(globs[i], strlen(globs[i]), text, strlen(text)))
            return true;
    return false;
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static void random_text(char *text, const char *letters, unsigned *seed)
{
    size_t length = 1 + next_random(seed) % 7;
    for (size_t i = 0; i < length; i++)
        text[i] = letters[next_random(seed) % strlen(letters)];
    text[length] = '\0';
}

static void lists_answer_as_their_globs_one_by_one(void **state)
{
    (void)state;
    unsigned seed = 7;
    unsigned matched = 0;
    for (unsigned round = 0; round < 2000; round++) {
        char globs[12][8], text[8], list_text[120] = "", message[64];
        char *pointers[12];
        size_t count = 1 + next_random(&seed) % 12, used = 0;
        struct glob_list *list;
        for (size_t i = 0; i < count; i++) {
            random_text(globs[i], "aab..*", &seed);
            pointers[i] = globs[i];
            used += (size_t)snprintf(list_text + used, sizeof list_text - used, "%s%s",
                                     i ? ";" : "", globs[i]);
        }
        assert_int_equal(glob_list__new(&list, list_text, message, sizeof message), 0);
        for (unsigned i = 0; i < 50; i++) {
            random_text(text, "aab..", &seed);
            bool expected = one_by_one(pointers, count, text);
            matched += expected;
            if (glob_list__matches(list, text, strlen(text), NULL) != expected)
                fail_msg("'%s' in '%s'", text, list_text);
        }
        glob_list__delete(list);
    }
    assert_in_range(matched, 10000, 90000);
}

#define MANY 100000u

static bool are_same(const char *text, const char *other)
{
    struct glob_list *a = NULL, *b = NULL;
    char message[64];
    bool same;

    assert_true(!text || glob_list__new(&a, text, message, sizeof message) == 0);
    assert_true(!other || glob_list__new(&b, other, message, sizeof message) == 0);
    same = glob_list__is_same(a, b);
    assert_int_equal(glob_list__is_same(b, a), same);
    glob_list__delete(a);
    glob_list__delete(b);
    return same;
}

static void lists_of_one_text_are_the_same(void **state)
{
    (void)state;
    assert_true(are_same(NULL, NULL));
    assert_true(are_same("a.B.*;c*", "a.B.*;c*"));
    assert_false(are_same("a.B.*;c*", "a.B.*;d*"));
    assert_false(are_same("a.B.*;c*", "a.B.*"));
    assert_false(are_same("a.B.*", NULL));
    assert_false(are_same("a;b", "a;;b"));
}

/* A list of so many names of methods, and behind them `globs` globs, each of a class of its own. */
static struct glob_list *long_list(unsigned names, unsigned globs)
{
    char *text = malloc((size_t)(names + globs) * 48 + 1), message[64];
    struct glob_list *list;
    size_t used = 0;
    for (unsigned i = 0; i < names; i++)
        used +=
            (size_t)sprintf(text + used, "com.example.p%u.Class%u.method%u;", i % 100, i, i % 7);
    for (unsigned i = 0; i < globs; i++)
        used += (size_t)sprintf(text + used, "org.example.p%u.Class%u.*;", i % 100, i);
    assert_int_equal(glob_list__new(&list, text, message, sizeof message), 0);
    free(text);
    return list;
}

static unsigned looks_for(const struct glob_list *list, const char *name, bool matches)
{
    unsigned looks = 0;
    if (glob_list__matches(list, name, strlen(name), &looks) != matches)
        fail_msg("%s", name);
    return looks;
}

/* Counted, not timed. A name without a star is one look; with globs it is one for each length that
 * their literal parts have (of "org.example.pN.ClassN." here 18 to 26 bytes) and as many as match.
 */
static void a_list_is_looked_up_in_a_time_that_does_not_grow_with_it(void **state)
{
    (void)state;
    struct glob_list *names = long_list(MANY, 0);
    assert_int_equal(looks_for(names, "com.example.p42.Class42.method0", true), 1);
    assert_int_equal(looks_for(names, "com.example.p99.Class99999.method4", true), 1);
    assert_int_equal(looks_for(names, "com.example.p99.Class99999.method5", false), 1);
    assert_int_equal(looks_for(names, "com.example.p99.Class99999.method", false), 1);
    glob_list__delete(names);
    struct glob_list *few = long_list(10, 10);
    struct glob_list *many = long_list(MANY, MANY);
    assert_in_range(looks_for(few, "org.example.p9.Class9.run", true), 1, 11);
    assert_in_range(looks_for(many, "org.example.p99.Class99999.run", true), 1, 11);
    assert_in_range(looks_for(many, "org.example.p99.Class99998.run", false), 1, 11);
    assert_in_range(looks_for(many, "com.example.p99.Class99999.method4", true), 1, 11);
    assert_true(glob_list__reaches_into(many, "com.example.p99.Class99999.", 27));
    assert_true(glob_list__reaches_into(many, "org.example.p99.Class99999.", 27));
    assert_false(glob_list__reaches_into(many, "org.example.p98.Class99999.", 27));
    assert_true(glob_list__takes_whole(many, "org.example.p99.Class99999.", 27));
    assert_false(glob_list__takes_whole(many, "com.example.p99.Class99999.", 27));
    glob_list__delete(few);
    glob_list__delete(many);
}

static void write_list(char path[64], const char *text, size_t length)
{
    (void)snprintf(path, 64, "/tmp/test_method_filter.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    close(fd);
}

static void files_hold_a_glob_a_line(void **state)
{
    (void)state;
    static const char text[] = "# what is hot\n"
                               "a.B.first\n"
                               "  a.B.second\t \n"
                               "\n"
                               "   # a.B.third\n"
                               "a.B.fourth # not a.B.fifth\n"
                               "c.*\r\n"
                               "d.E.sharp#name\n"
                               "#\n"
                               "a.B.last"; /* no end of line */
    static const struct {
        const char *name;
        bool matches;
    } cases[] = {
        {"a.B.first", true},      {"a.B.second", true}, {"a.B.third", false},
        {"a.B.fourth", true},     {"a.B.fifth", false}, {"c.D.e", true},
        {"d.E.sharp#name", true}, {"d.E.sharp", false}, {"a.B.last", true},
        {"what is hot", false},   {"", false},          {"x.Y.z", true},
        {"z.Y.x", false},
    };
    char path[64], list_text[96], message[256];
    struct glob_list *list;
    write_list(path, text, sizeof text - 1);
    (void)snprintf(list_text, sizeof list_text, "x.*;@%s;y.*", path);
    assert_int_equal(glob_list__new(&list, list_text, message, sizeof message), 0);
    (void)unlink(path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (glob_list__matches(list, cases[i].name, strlen(cases[i].name), NULL) !=
            cases[i].matches)
            fail_msg("%s", cases[i].name);
    glob_list__delete(list);
}

/* Some editors begin each file with a byte order mark. */
static void a_byte_order_mark_is_no_glob(void **state)
{
    static const char text[] = "\xef\xbb\xbf"
                               "a.B.first\na.B.second\n";
    char path[64], list_text[96], message[256];
    struct glob_list *list;

    (void)state;
    write_list(path, text, sizeof text - 1);
    (void)snprintf(list_text, sizeof list_text, "@%s", path);
    assert_int_equal(glob_list__new(&list, list_text, message, sizeof message), 0);
    (void)unlink(path);
    assert_true(glob_list__matches(list, "a.B.first", 9, NULL));
    assert_true(glob_list__matches(list, "a.B.second", 10, NULL));
    glob_list__delete(list);
}

static void files_that_cannot_be_read_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"@/nowhere/list", "/nowhere/list: cannot be read: No such file or directory"},
        {"a.*;@/nowhere/list", "/nowhere/list: cannot be read: No such file or directory"},
        {"@/tmp", "/tmp: cannot be read: Is a directory"},
        {"@/dev/null", "/dev/null: cannot be read: not a regular file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct glob_list *list = NULL;
        char message[256];
        assert_int_not_equal(glob_list__new(&list, cases[i].text, message, sizeof message), 0);
        assert_string_equal(message, cases[i].message);
        assert_null(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs_match),
        cmocka_unit_test(many_stars_are_no_trouble),
        cmocka_unit_test(filters_admit),
        cmocka_unit_test(names_of_any_length_are_seen_whole),
        cmocka_unit_test(classes_without_any_such_method_are_known),
        cmocka_unit_test(lists_answer_as_their_globs_one_by_one),
        cmocka_unit_test(lists_of_one_text_are_the_same),
        cmocka_unit_test(a_list_is_looked_up_in_a_time_that_does_not_grow_with_it),
        cmocka_unit_test(files_hold_a_glob_a_line),
        cmocka_unit_test(a_byte_order_mark_is_no_glob),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
