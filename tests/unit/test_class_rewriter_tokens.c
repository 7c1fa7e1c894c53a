/* The token: which instructions keep it, what frames say of it, which handlers ask for it, and the
 * handlers of constructors. Bytes and offsets worked out on paper (drawn_class.h). */
#include "tests/unit/drawn_class.h"

#include <errno.h>

#define THROWN "0001 07 T" /* the exception on the stack */

static void the_token_has_the_shortest_instructions(void **state)
{
    static const struct {
        uint16_t max_locals;
        const char *code;
    } rows[] = {
        {0, "E 3f 1e L b1 1e L bf"},
        {3, "E 42 21 L b1 21 L bf"},
        {4, "E 37 04 16 04 L b1 16 04 L bf"},
        {255, "E 37 ff 16 ff L b1 16 ff L bf"},
        {256, "E c4 37 0100 c4 16 0100 L b1 c4 16 0100 L bf"},
        {65533, "E c4 37 fffd c4 16 fffd L b1 c4 16 fffd L bf"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct redrawn redrawn = redraw(
            &(struct drawn_method){.version = 49, .max_locals = rows[i].max_locals, .code = "b1"});

        expect_code(&redrawn, rows[i].code);
        assert_int_equal(redrawn.code.max_locals, rows[i].max_locals + 2);
        redrawn__close(&redrawn);
    }
}

static void full_local_variables_are_left_alone(void **state)
{
    struct redrawn redrawn = redraw(&(struct drawn_method){.max_locals = 65534, .code = "b1"});

    (void)state;
    assert_null(redrawn.rewrite.bytes);
    assert_int_equal(redrawn.rewrite.methods[METHOD_LOCALS_FULL], 1);
}

static void frames_have_no_more_locals_than_the_method(void **state)
{
    struct redrawn redrawn = redraw(&(struct drawn_method){
        .max_locals = 1, .code = "00 b1", .attributes = {{"StackMapTable", "0001 fc 0001 04"}}});

    (void)state;
    assert_int_equal(redrawn.error, -EBADMSG);
    assert_string_equal(redrawn.rewrite.error.expected, "at most max_locals variables");
}

/* 300 frames, of which every other has one local more: 300 times 65533 bytes. */
static void too_many_large_frames_are_left_alone(void **state)
{
    uint8_t code[300] = {[299] = 0xb1};
    char frames[300 * 11 + 5];
    size_t length = (size_t)snprintf(frames, sizeof frames, "012c fc 0000 01");
    struct redrawn redrawn;

    (void)state;
    for (int i = 1; i < 300; i++)
        length += (size_t)snprintf(frames + length, sizeof frames - length,
                                   i % 2 ? " fa 0000" : " fc 0000 01");
    redrawn = redraw(&(struct drawn_method){.max_locals = 65533,
                                            .code_bytes = code,
                                            .code_length = sizeof code,
                                            .attributes = {{"StackMapTable", frames}}});
    assert_int_equal(redrawn.error, 0);
    assert_null(redrawn.rewrite.bytes);
    assert_int_equal(redrawn.rewrite.methods[METHOD_LOCALS_FULL], 1);
}

/* 0 nop  1 return  2 pop  3 nop  4 pop  5 return */
static void handlers_begin_with_a_hook(void **state)
{
    static const struct {
        const char *exceptions;
        const char *code;
    } rows[] = {
        {"0000 0001 0002 0000", "E 3f 00 1e L b1 1e C 57 00 57 1e L b1 1e L bf"},
        {"0000 0002 0002 0000", "E 3f 00 1e L b1 1e C 57 00 57 1e L b1 1e L bf"},
        /* a return: both hooks */
        {"0000 0001 0001 0000", "E 3f 00 1e C 1e L b1 57 00 57 1e L b1 1e L bf"},
        /* it covers itself */
        {"0000 0001 0002 0000 0002 0004 0002 0000", "E 3f 00 1e L b1 57 00 57 1e L b1 1e L bf"},
        {"0000 0003 0002 0000", "E 3f 00 1e L b1 57 00 57 1e L b1 1e L bf"},
        /* what stands behind it is covered */
        {"0000 0001 0002 0000 0003 0005 0002 0000",
         "E 3f 00 1e L b1 1e C 57 00 57 1e L b1 1e L bf"},
        /* it is covered, by a handler before it */
        {"0000 0001 0002 0000 0001 0003 0000 0000",
         "E 3f 1e C 00 1e L b1 57 00 57 1e L b1 1e L bf"},
        /* it is covered, by a handler behind it */
        {"0000 0001 0002 0000 0002 0003 0004 0000",
         "E 3f 00 1e L b1 1e C 57 00 1e C 57 1e L b1 1e L bf"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct redrawn redrawn = redraw(&(struct drawn_method){.version = 49,
                                                               .max_stack = 1,
                                                               .code = "00 b1 57 00 57 b1",
                                                               .exceptions = rows[i].exceptions});

        expect_code(&redrawn, rows[i].code);
        redrawn__close(&redrawn);
    }
}

/* 0 goto 3    6 -> 9
 * 3 pop       9 caught, 13
 * 4 return   14 leave, 18 */
static void branches_to_handlers_lead_to_their_hooks(void **state)
{
    struct redrawn redrawn = redraw(&(struct drawn_method){.version = 49,
                                                           .max_stack = 1,
                                                           .code = "a7 0003 57 b1",
                                                           .exceptions = "0000 0003 0003 0000"});

    (void)state;
    expect_code(&redrawn, "E 3f a7 0003 1e C 57 1e L b1 1e L bf");
    expect_exceptions(&redrawn, "0006 0009 0009 0000 0006 0013 0013 0000");
    redrawn__close(&redrawn);
}

/* 0 aload_0         6
 * 1 invokespecial   7
 * 4 nop            10
 * 5 return         11 leave, 15
 *                  16 handler, 21 handler of what precedes the call */
static void a_constructor_has_two_handlers(void **state)
{
    struct drawn_method method = {
        .name = "<init>", .max_stack = 1, .max_locals = 1, .code = "2a b7 0007 00 b1"};
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_code(&redrawn, "E 40 2a b7 0007 00 1f L b1 1f L bf 1f L bf");
    expect_exceptions(&redrawn, "000a 0010 0010 0000 0006 0007 0015 0000");
    expect_attribute(&redrawn, "StackMapTable",
                     "0002 ff 0010 0002 00 04 " THROWN " ff 0004 0002 06 04 " THROWN);
    redrawn__close(&redrawn);
}

/* Where no frame need tell, one handler is enough. */
static void an_old_constructor_has_one_handler(void **state)
{
    struct drawn_method method = {.version = 49,
                                  .name = "<init>",
                                  .max_stack = 1,
                                  .max_locals = 1,
                                  .code = "2a b7 0007 00 b1"};
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_code(&redrawn, "E 40 2a b7 0007 00 1f L b1 1f L bf");
    expect_exceptions(&redrawn, "0006 0010 0010 0000");
    expect_attribute(&redrawn, "StackMapTable", NULL);
    redrawn__close(&redrawn);
}

static void a_constructor_that_cannot_be_followed_is_left_alone(void **state)
{
    struct redrawn redrawn =
        redraw(&(struct drawn_method){.name = "<init>", .max_locals = 1, .code = "57 b1"});

    (void)state;
    assert_int_equal(redrawn.error, 0);
    assert_null(redrawn.rewrite.bytes);
    assert_int_equal(redrawn.rewrite.methods[METHOD_CONSTRUCTOR_UNCLEAR], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_token_has_the_shortest_instructions),
        cmocka_unit_test(full_local_variables_are_left_alone),
        cmocka_unit_test(frames_have_no_more_locals_than_the_method),
        cmocka_unit_test(too_many_large_frames_are_left_alone),
        cmocka_unit_test(handlers_begin_with_a_hook),
        cmocka_unit_test(branches_to_handlers_lead_to_their_hooks),
        cmocka_unit_test(a_constructor_has_two_handlers),
        cmocka_unit_test(an_old_constructor_has_one_handler),
        cmocka_unit_test(a_constructor_that_cannot_be_followed_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
