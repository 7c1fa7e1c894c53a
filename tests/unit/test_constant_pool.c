/* Entries that are added: texts and classes once, and gone again after going back. */
#include "tests/unit/drawn_class.h"

struct opened {
    struct class_writer class;
    struct class_error error;
    struct constant_pool pool;
};

static void open_pool(struct opened *opened)
{
    struct class_reader reader = {.error = &opened->error};

    opened->class = drawn_class(&(struct drawn_method){.code = "b1"});
    opened->error = (struct class_error){0};
    reader.bytes = opened->class.bytes;
    reader.end = opened->class.length;
    class_reader__skip(&reader, 8);
    assert_int_equal(constant_pool__read(&opened->pool, &reader), 0);
}

static void close_pool(struct opened *opened)
{
    assert_false(opened->pool.added.failed);
    constant_pool__close(&opened->pool);
    class_writer__close(&opened->class);
}

static struct class_text text_of(const char *word)
{
    return (struct class_text){(const uint8_t *)word, (uint32_t)strlen(word)};
}

static void what_is_there_is_found(void **state)
{
    struct opened opened;

    (void)state;
    open_pool(&opened);
    assert_int_equal(constant_pool__add_text(&opened.pool, text_of("Code")), POOL_CODE);
    assert_int_equal(constant_pool__add_class(&opened.pool, text_of("Drawn")), POOL_THIS);
    /* `<init>` is a text, but no class */
    assert_int_equal(constant_pool__add_class(&opened.pool, text_of("<init>")), POOL_COUNT);
    assert_int_equal(constant_pool__add_class(&opened.pool, text_of("New")), POOL_COUNT + 2);
    assert_int_equal(constant_pool__add_text(&opened.pool, text_of("New")), POOL_COUNT + 1);
    assert_int_equal(constant_pool__add_class(&opened.pool, text_of("New")), POOL_COUNT + 2);
    assert_int_equal(constant_pool__add_text(&opened.pool, text_of("")), POOL_COUNT + 3);
    assert_int_equal(constant_pool__add_text(&opened.pool, text_of("")), POOL_COUNT + 3);
    close_pool(&opened);
}

static void what_was_taken_back_is_gone(void **state)
{
    struct opened opened;
    struct constant_pool_mark mark;
    size_t length;

    (void)state;
    open_pool(&opened);
    assert_int_equal(constant_pool__add_text(&opened.pool, text_of("kept")), POOL_COUNT);
    mark = constant_pool__mark(&opened.pool);
    length = opened.pool.added.length;
    assert_int_equal(constant_pool__add_class(&opened.pool, text_of("gone")), POOL_COUNT + 2);
    constant_pool__go_back(&opened.pool, mark);
    assert_int_equal(opened.pool.added.length, length);
    assert_int_equal(constant_pool__add_text(&opened.pool, text_of("other")), POOL_COUNT + 1);
    assert_int_equal(constant_pool__add_text(&opened.pool, text_of("gone")), POOL_COUNT + 2);
    assert_int_equal(constant_pool__add_text(&opened.pool, text_of("kept")), POOL_COUNT);
    close_pool(&opened);
}

/* Once its table is half full, the pool still grows, and what is in the table is still found. */
static void many_are_added(void **state)
{
    struct opened opened;
    struct constant_pool_mark mark;

    (void)state;
    open_pool(&opened);
    mark = constant_pool__mark(&opened.pool);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            char word[16];

            snprintf(word, sizeof word, "%u", i);
            assert_int_equal(constant_pool__add_text(&opened.pool, text_of(word)), POOL_COUNT + i);
        }
        assert_int_equal(constant_pool__add_text(&opened.pool, text_of("7")), POOL_COUNT + 7);
        constant_pool__go_back(&opened.pool, mark);
    }
    close_pool(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_found),
        cmocka_unit_test(what_was_taken_back_is_gone),
        cmocka_unit_test(many_are_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
