/* Constructors: where `this` is initialised on every path, where it is on none, and where it cannot
 * be told. Each expected text has a letter for each instruction: i, u or a dash. */
#include "agent/classfile/code_layout.h"
#include "agent/classfile/constructor_flow.h"
#include "tests/unit/drawn_class.h"

#include <errno.h>

/* What constructor_flow__mark returns; letters has room for all instructions. */
static int follow(const struct drawn_method *drawn, char *letters)
{
    struct drawn_method method = *drawn;
    struct class_writer class;
    struct class_error read_error = {0};
    struct class_reader reader = {.error = &read_error};
    struct constant_pool pool;
    struct method_code code;
    struct code_layout layout;
    uint32_t steps = CONSTRUCTOR_FLOW_STEPS;
    int error;

    method.name = "<init>";
    class = drawn_class(&method);
    reader.bytes = class.bytes;
    reader.end = class.length;
    class_reader__skip(&reader, 8);
    assert_int_equal(constant_pool__read(&pool, &reader), 0);
    class_reader__skip(&reader, 10 + 2 + 8 + 6); /* to the content of the Code attribute */
    method_code__read(&code, &reader);
    assert_true(class_reader__ok(&reader));
    assert_int_equal(code_layout__open(&layout, &code, &reader), 0);
    error = constructor_flow__mark(&layout, &pool, &steps);
    for (uint32_t pc = 0; pc < code.length; pc = code_layout__next(&layout, pc))
        *letters++ = layout.flags[pc] & CODE_EARLY       ? 'u'
                     : layout.flags[pc] & CODE_UNCOVERED ? '-'
                                                         : 'i';
    *letters = '\0';
    code_layout__close(&layout);
    constant_pool__close(&pool);
    class_writer__close(&class);
    return error;
}

static void expect_letters(const struct drawn_method *drawn, const char *expected)
{
    char letters[64];

    assert_int_equal(follow(drawn, letters), 0);
    assert_string_equal(letters, expected);
}

/* 0 aload_0  1 invokespecial super  4 nop  5 return */
static void initialised_behind_super(void **state)
{
    const struct drawn_method method = {
        .max_stack = 1, .max_locals = 1, .code = "2a b7 0007 00 b1"};

    (void)state;
    expect_letters(&method, "u-ii");
}

/* 0 aload_0  1 new Drawn  4 dup  5 invokespecial Drawn()  8 invokespecial this(Drawn)  11 nop  12
 * return The first call initialises another object of the same class. */
static void another_object_of_the_class_is_not_this(void **state)
{
    const struct drawn_method method = {
        .max_stack = 3, .max_locals = 1, .code = "2a bb 0002 59 b7 0008 b7 0015 00 b1"};

    (void)state;
    expect_letters(&method, "uuuu-ii");
}

/* 0 new Drawn  3 aload_0  4 swap  5 pop  6 dup  7 astore_2  8 pop  9 aload_2  10 aconst_null
 * 11 swap  12 dup_x1  13 pop2  14 wide aload 2  18 invokespecial  21 nop  22 return */
static void copies_are_followed_through_stack_and_locals(void **state)
{
    const struct drawn_method method = {
        .max_stack = 4,
        .max_locals = 3,
        .code = "bb 0002 2a 5f 57 59 4d 57 2c 01 5f 5a 58 c4 19 0002 b7 0007 00 b1"};

    (void)state;
    expect_letters(&method, "uuuuuuuuuuuuu-ii");
}

/* 0 aload_0  1 iload_1  2 ifeq 9  5 iconst_1  6 goto 10  9 iconst_2  10 pop  11 invokespecial
 * 14 return: a ternary among the arguments. */
static void a_ternary_among_the_arguments(void **state)
{
    const struct drawn_method method = {.descriptor = "(I)V",
                                        .max_stack = 2,
                                        .max_locals = 2,
                                        .code = "2a 1b 99 0007 04 a7 0004 05 57 b7 0007 b1"};

    (void)state;
    expect_letters(&method, "uuuuuuu-i");
}

/*  0 iload_1  1 ifeq 12   4 aload_0  5 invokespecial super()  8 nop  9 goto 16
 * 12 aload_0  13 invokespecial this()  16 nop  17 return: a call on either path. */
static void two_calls_on_two_paths(void **state)
{
    const struct drawn_method method = {.descriptor = "(I)V",
                                        .max_stack = 1,
                                        .max_locals = 2,
                                        .code =
                                            "1b 99 000b 2a b7 0007 00 a7 0007 2a b7 0008 00 b1"};

    (void)state;
    expect_letters(&method, "uuu-iiu-ii");
}

/* 0 iload_1  1 ifeq 8   4 aload_0  5 invokespecial   8 nop  9 return: only perhaps initialised. */
static void perhaps_is_not_surely(void **state)
{
    const struct drawn_method method = {.descriptor = "(I)V",
                                        .max_stack = 1,
                                        .max_locals = 2,
                                        .code = "1b 99 0007 2a b7 0007 00 b1"};

    (void)state;
    expect_letters(&method, "uuu---");
}

/* 0 aload_0  1 invokespecial  4 return  5 athrow, the handler of 0 … 4: it may run before. */
static void a_handler_around_the_call(void **state)
{
    const struct drawn_method method = {.max_stack = 1,
                                        .max_locals = 1,
                                        .code = "2a b7 0007 b1 bf",
                                        .exceptions = "0000 0004 0005 0000"};

    (void)state;
    expect_letters(&method, "u-iu");
}

/* 0 aload_0  1 lconst_0  2 putfield  5 aload_0  6 invokespecial  9 aload_0  10 getfield  13 pop2
 * 14 return: a field is written first, as flexible constructors may. */
static void fields_before_super(void **state)
{
    const struct drawn_method method = {
        .max_stack = 3, .max_locals = 1, .code = "2a 09 b5 000b 2a b7 0007 2a b4 000b 58 b1"};

    (void)state;
    expect_letters(&method, "uuuu-iiii");
}

/* 0 aload_0  1 jsr 8  4 invokespecial  7 return   8 astore_1  9 nop  10 ret 1: the subroutine runs
 * before the call. */
static void a_subroutine_before_super(void **state)
{
    const struct drawn_method method = {
        .max_stack = 2, .max_locals = 2, .code = "2a a8 0007 b7 0007 b1 4c 00 a9 01"};

    (void)state;
    expect_letters(&method, "uu-iuuu");
}

/* 0 aload_0  1 iconst_0  2 lconst_0  3 invokestatic call(IJ)  6 pop  7 invokespecial  10 nop
 * 11 return */
static void arguments_of_calls_are_counted(void **state)
{
    const struct drawn_method method = {
        .max_stack = 4, .max_locals = 1, .code = "2a 03 09 b8 000e 57 b7 0007 00 b1"};

    (void)state;
    expect_letters(&method, "uuuuu-ii");
}

/* 0 aload_0  1 astore_1  2 aconst_null  3 astore_0  4 nop  5 aload_1  6 invokespecial  9 return:
 * the handler's frame could not say where `this` is. */
static void this_moves_to_another_variable(void **state)
{
    const struct drawn_method method = {
        .max_stack = 1, .max_locals = 2, .code = "2a 4c 01 4b 00 2b b7 0007 b1"};

    (void)state;
    expect_letters(&method, "uuuu---i");
}

/* The stack runs empty; it does not fit; paths join with different heights. */
static void what_no_verifier_takes_cannot_be_followed(void **state)
{
    static const char *const codes[] = {"57 b1", "2a 2a 2a b1", "03 99 0004 03 b1", "b8 0001 b1"};

    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const struct drawn_method method = {.max_stack = 2, .max_locals = 1, .code = codes[i]};
        char letters[64];

        assert_int_equal(follow(&method, letters), LIMIT_FLOW);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initialised_behind_super),
        cmocka_unit_test(another_object_of_the_class_is_not_this),
        cmocka_unit_test(copies_are_followed_through_stack_and_locals),
        cmocka_unit_test(a_ternary_among_the_arguments),
        cmocka_unit_test(two_calls_on_two_paths),
        cmocka_unit_test(perhaps_is_not_surely),
        cmocka_unit_test(a_handler_around_the_call),
        cmocka_unit_test(fields_before_super),
        cmocka_unit_test(a_subroutine_before_super),
        cmocka_unit_test(arguments_of_calls_are_counted),
        cmocka_unit_test(this_moves_to_another_variable),
        cmocka_unit_test(what_no_verifier_takes_cannot_be_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
