/* Numbers of methods: one for each name, whatever is asked, by however many threads. */
#include "agent/methods/method_numbers.h"

#include <pthread.h>
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

#define MIB     (UINT64_C(1) << 20)
#define CLASSES 20
#define METHODS 500
#define THREADS 4

static struct class_text text_of(const char *word)
{
    return (struct class_text){(const uint8_t *)word, (uint32_t)strlen(word)};
}

static uint32_t number_of(struct method_numbers *numbers, const char *class_name, const char *name,
                          const char *descriptor)
{
    struct numbered_class *class = method_numbers__class(numbers, text_of(class_name));
    return class ? method_numbers__id(numbers, class, text_of(name), text_of(descriptor)) : 0;
}

static void names_have_one_number_each(void **state)
{
    (void)state;
    static struct method_numbers numbers;
    method_numbers__init(&numbers, MIB);
    assert_int_equal(number_of(&numbers, "a/B", "run", "()V"), 1);
    assert_int_equal(number_of(&numbers, "a/B", "run", "(I)V"), 2);
    assert_int_equal(number_of(&numbers, "a/B", "stop", "()V"), 3);
    assert_int_equal(number_of(&numbers, "a/C", "run", "()V"), 4);
    /* Again, in another order: from another loader, after a redefinition, after a stop. */
    assert_int_equal(number_of(&numbers, "a/B", "stop", "()V"), 3);
    assert_int_equal(number_of(&numbers, "a/C", "run", "()V"), 4);
    assert_int_equal(number_of(&numbers, "a/B", "run", "()V"), 1);
    assert_int_equal(number_of(&numbers, "a/B", "run", "(I)V"), 2);
    /* A name and a descriptor are two texts, not one. */
    assert_int_equal(number_of(&numbers, "a/B", "ru", "n()V"), 5);

    const struct numbered_method *method = method_numbers__get(&numbers, 2);
    assert_non_null(method);
    assert_string_equal(method->name, "run");
    assert_string_equal(method->descriptor, "(I)V");
    assert_string_equal(numbered_class__name(method->class), "a/B");
    assert_null(method_numbers__get(&numbers, 6));
    assert_null(method_numbers__get(&numbers, UINT32_MAX));
    assert_null(method_numbers__find_class(&numbers, "a/D"));
    assert_ptr_equal(method_numbers__find_class(&numbers, "a/B"), method->class);
}

/* So many methods are enough for any number of classes that differ in a number. */
static void generated_classes_share_numbers(void **state)
{
    (void)state;
    static struct method_numbers numbers;
    static struct generated_names names;
    char name[40];
    method_numbers__init(&numbers, MIB);
    generated_names__init(&names);
    numbers.generated = &names;
    for (uint32_t i = 1; i <= 3 * GENERATED_NAMES_KEPT; i++) {
        snprintf(name, sizeof name, "a/Made%u", i);
        assert_int_equal(number_of(&numbers, name, "run", "()V"),
                         i <= GENERATED_NAMES_KEPT ? i : GENERATED_NAMES_KEPT + 1);
    }
    struct numbered_class *shared = method_numbers__find_class(&numbers, "a/Made2000");
    assert_non_null(shared);
    assert_string_equal(numbered_class__name(shared), "a/Made#");
    assert_ptr_equal(method_numbers__find_class(&numbers, "a/Made3000"), shared);
    assert_ptr_equal(method_numbers__find_class(&numbers, "a/Made#"), shared);
    assert_string_equal(numbered_class__name(method_numbers__find_class(&numbers, "a/Made7")),
                        "a/Made7");

    /* So do their methods, and what the descriptors name. Others do not. */
    uint32_t first = number_of(&numbers, "a/Made2000", "m1", "(La/Made1;)V");
    char method_name[40], descriptor[60];
    for (uint32_t i = 2; i <= 3 * GENERATED_NAMES_KEPT; i++) {
        snprintf(method_name, sizeof method_name, "m%u", i);
        snprintf(descriptor, sizeof descriptor, "(La/Made%u;)V", i);
        uint32_t found =
            number_of(&numbers, i % 2 ? "a/Made2000" : "a/Made2001", method_name, descriptor);
        assert_int_equal(found, first + (i <= GENERATED_NAMES_KEPT ? i - 1 : GENERATED_NAMES_KEPT));
        assert_int_equal(
            method_numbers__find_id(&numbers, shared, text_of(method_name), text_of(descriptor)),
            found);
    }
    assert_string_equal(method_numbers__get(&numbers, first + 1)->name, "m2");
    assert_string_equal(method_numbers__get(&numbers, first + GENERATED_NAMES_KEPT)->name, "m#");
    assert_string_equal(method_numbers__get(&numbers, first + GENERATED_NAMES_KEPT)->descriptor,
                        "(La/Made#;)V");
    assert_int_not_equal(number_of(&numbers, "a/Other", "m2000", "()V"),
                         number_of(&numbers, "a/Other", "m2001", "()V"));

    /* Each class has its methods; all that any of them has hooked are, until the next time. */
    uint32_t run = number_of(&numbers, "a/Made2000", "run", "()V");
    uint32_t stop = number_of(&numbers, "a/Made2001", "stop", "()V");
    const struct numbered_method *method = method_numbers__get(&numbers, run);
    numbered_class__mark(shared, CLASS_HOOKED);
    method_numbers__set_hooked(&numbers, shared, &run, 1);
    numbered_class__mark(shared, CLASS_SEEN);
    method_numbers__set_hooked(&numbers, shared, &stop, 1);
    assert_true(numbered_method__is_hooked(method));
    method_numbers__unmark(&numbers, CLASS_SEEN);
    method_numbers__set_hooked(&numbers, shared, &stop, 1);
    assert_false(numbered_method__is_hooked(method));
    assert_true(numbered_method__is_hooked(method_numbers__get(&numbers, stop)));
    generated_names__end(&names);
}

static void a_class_has_a_source_and_marks(void **state)
{
    (void)state;
    static struct method_numbers numbers;
    method_numbers__init(&numbers, MIB);
    struct numbered_class *class = method_numbers__class(&numbers, text_of("a/B"));
    assert_null(numbered_class__source(class));
    numbered_class__set_source(&numbers, class, text_of(""));
    assert_null(numbered_class__source(class));
    numbered_class__set_source(&numbers, class, text_of("B.java"));
    numbered_class__set_source(&numbers, class, text_of("Other.java"));
    assert_string_equal(numbered_class__source(class), "B.java");
    assert_false(numbered_class__is(class, CLASS_SEEN));
    assert_true(numbered_class__mark(class, CLASS_SEEN));
    assert_false(numbered_class__mark(class, CLASS_SEEN));
    assert_true(numbered_class__mark(class, CLASS_HOOKED));
    method_numbers__unmark(&numbers, CLASS_SEEN);
    assert_false(numbered_class__is(class, CLASS_SEEN));
    assert_true(numbered_class__is(class, CLASS_HOOKED));
}

static void memory_is_bounded(void **state)
{
    (void)state;
    static struct method_numbers numbers;
    char name[32];
    uint32_t given = 0, id = 1;
    method_numbers__init(&numbers, 64u << 10);
    for (uint32_t i = 0; i < 10000 && id != 0; i++) {
        (void)snprintf(name, sizeof name, "method%u", i);
        id = number_of(&numbers, "a/B", name, "()V");
        given = id != 0 ? id : given;
    }
    assert_int_equal(id, 0);
    assert_true(given > 100 && given < 2000);
    assert_true(numbers.bytes <= numbers.bytes_max);
    /* What is there stays. */
    assert_int_equal(number_of(&numbers, "a/B", "method0", "()V"), 1);
    assert_string_equal(method_numbers__get(&numbers, given)->descriptor, "()V");
}

static void *ask(void *context)
{
    struct method_numbers *numbers = context;
    char class_name[32], name[32];
    for (int i = 0; i < CLASSES * METHODS; i++) {
        (void)snprintf(class_name, sizeof class_name, "pkg/C%d", i % CLASSES);
        (void)snprintf(name, sizeof name, "m%d", i / CLASSES);
        const struct numbered_method *method =
            method_numbers__get(numbers, number_of(numbers, class_name, name, "()V"));
        if (method == NULL || strcmp(method->name, name) != 0 ||
            strcmp(numbered_class__name(method->class), class_name) != 0)
            return numbers;
    }
    return NULL;
}

static void threads_get_the_same_numbers(void **state)
{
    (void)state;
    static struct method_numbers numbers;
    pthread_t threads[THREADS];
    method_numbers__init(&numbers, 16 * MIB);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &numbers), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(numbers.count, CLASSES * METHODS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_one_number_each),
        cmocka_unit_test(generated_classes_share_numbers),
        cmocka_unit_test(a_class_has_a_source_and_marks),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(threads_get_the_same_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
