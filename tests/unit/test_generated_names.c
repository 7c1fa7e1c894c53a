/* Names of generated classes: which are alike, how many of a kind keep their own, and that any
 * number of them needs no more memory than there are slots. */
#include "agent/methods/generated_names.h"

#include <stdio.h>
#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* What the class goes by. */
static const char *known_as(struct generated_names *names, const char *name, bool is_made)
{
    static struct shared_name shared;
    if (!generated_names__shares(names, name, strlen(name), is_made, &shared))
        return name;
    shared.text[shared.length] = '\0';
    return shared.text;
}

/* So many names "PREFIXn" of a kind are made. */
static void make_some(struct generated_names *names, const char *prefix, unsigned count)
{
    char name[100];
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s%u", prefix, i);
        assert_string_equal(known_as(names, name, true), name);
    }
}

static void the_first_of_a_kind_keep_their_names(void **state)
{
    (void)state;
    static struct generated_names names;
    generated_names__init(&names);
    make_some(&names, "app/$Proxy", GENERATED_NAMES_KEPT);
    assert_string_equal(known_as(&names, "app/$Proxy1024", true), "app/$Proxy#");
    assert_string_equal(known_as(&names, "app/$Proxy1000000", false), "app/$Proxy#");
    /* Those that had one keep it, however their separators are written. */
    make_some(&names, "app/$Proxy", GENERATED_NAMES_KEPT);
    assert_string_equal(known_as(&names, "app.$Proxy7", true), "app.$Proxy7");
    assert_string_equal(known_as(&names, "app.$Proxy4711", true), "app.$Proxy#");
    /* Other kinds, and what has no number, are not concerned. */
    assert_string_equal(known_as(&names, "app/Proxy4711", true), "app/Proxy4711");
    assert_string_equal(known_as(&names, "lib/$Proxy4711", true), "lib/$Proxy4711");
    assert_string_equal(known_as(&names, "app/$Proxy", true), "app/$Proxy");
    assert_string_equal(known_as(&names, "app/$Proxy#", true), "app/$Proxy#");
    generated_names__end(&names);
}

static void a_question_keeps_no_name(void **state)
{
    (void)state;
    static struct generated_names names;
    generated_names__init(&names);
    for (unsigned i = 0; i < 2 * GENERATED_NAMES_KEPT; i++)
        make_some(&names, "a/Asked", 1);
    for (unsigned i = 1; i < 2 * GENERATED_NAMES_KEPT; i++) {
        char name[100];
        snprintf(name, sizeof name, "a/Asked%u", i);
        assert_string_equal(known_as(&names, name, false), name);
    }
    assert_int_equal(generated_names__bytes(&names), 2 * sizeof(struct generated_name));
    generated_names__end(&names);
}

/* What is taken for a number; each kind is full first. */
static void numbers_are_what_differs(void **state)
{
    static const struct {
        const char *prefix, *name, *shared;
    } kinds[] = {
        {"a/B$", "a/B$4711", "a/B$#"},
        {"a/Lambda$14.0x", "a/Lambda$2000.0x00007f0c2a0e4000", "a/Lambda$#.#"},
        {"a/Page_1_", "a/Page_22_333", "a/Page_#_#"},
        {"a/T_00000000", "a/T_d41d8cd98f00b204", "a/T_#"},
        {"a/Facade", "a/Facade12345678", "a/Facade#"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        static struct generated_names names;
        generated_names__init(&names);
        make_some(&names, kinds[i].prefix, GENERATED_NAMES_KEPT);
        assert_string_equal(known_as(&names, kinds[i].name, true), kinds[i].shared);
        assert_string_equal(known_as(&names, "a/Other", true), "a/Other");
        generated_names__end(&names);
    }
}

static void any_number_of_names_finds_its_place(void **state)
{
    (void)state;
    static struct generated_names names;
    char name[GENERATED_NAME_MAX + 10], all_of_letters[5] = {0};
    size_t full;
    generated_names__init(&names);
    for (unsigned kind = 0; kind < 40000; kind++) {
        for (unsigned i = 0, n = kind; i < 4; i++, n /= 20)
            all_of_letters[i] = (char)('g' + n % 20);
        for (unsigned i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "a/%s%u", all_of_letters, i);
            (void)known_as(&names, name, true);
        }
    }
    full = generated_names__bytes(&names);
    assert_in_range(full, 1, GENERATED_NAMES_SLOTS / 4 * 3 * sizeof(struct generated_name));
    assert_string_equal(known_as(&names, "b/New1", true), "b/New#");
    assert_int_equal(generated_names__bytes(&names), full);
    /* Too long a name is its own, and takes nothing. */
    memset(name, '1', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_string_equal(known_as(&names, name, true), name);
    assert_int_equal(generated_names__bytes(&names), full);
    assert_string_equal(known_as(NULL, "b/New1", true), "b/New1");
    generated_names__end(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_a_kind_keep_their_names),
        cmocka_unit_test(a_question_keeps_no_name),
        cmocka_unit_test(numbers_are_what_differs),
        cmocka_unit_test(any_number_of_names_finds_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
