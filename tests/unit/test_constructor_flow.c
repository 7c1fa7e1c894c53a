/* Constructors: the handler covers what runs once `this` is initialised on every path, no more.
 * Hooks have 5 bytes (drawn_class.h): behind the enter hook an offset is 5 more, and again 5 more
 * behind each return. */
#include "tests/unit/drawn_class.h"

static void expect_ranges(const struct drawn_method *drawn, const char *ranges)
{
    struct drawn_method method = *drawn;
    struct redrawn redrawn;

    method.name = "<init>";
    redrawn = redraw(&method);
    assert_int_equal(redrawn.rewrite.methods[METHOD_HOOKED], 1);
    expect_exceptions(&redrawn, ranges);
    redrawn__close(&redrawn);
}

/* 0 aload_0  1 invokespecial super  4 nop  5 return */
static void covered_behind_super(void **state)
{
    const struct drawn_method method = {
        .max_stack = 1, .max_locals = 1, .code = "2a b7 0007 00 b1"};

    (void)state;
    expect_ranges(&method, "0009 000a 0010 0000");
}

/* 0 aload_0  1 new Drawn  4 dup  5 invokespecial Drawn()  8 invokespecial this(Drawn)  11 nop  12
 * return The first call initialises another object of the same class. */
static void another_object_of_the_class_is_not_this(void **state)
{
    const struct drawn_method method = {
        .max_stack = 3, .max_locals = 1, .code = "2a bb 0002 59 b7 0008 b7 0015 00 b1"};

    (void)state;
    expect_ranges(&method, "0010 0011 0017 0000");
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
    expect_ranges(&method, "001a 001b 0021 0000");
}

/* 0 aload_0  1 iload_1  2 ifeq 9  5 iconst_1  6 goto 10  9 iconst_2  10 pop  11 invokespecial
 * 14 return: a ternary among the arguments. Nothing is left to cover. */
static void a_ternary_among_the_arguments(void **state)
{
    const struct drawn_method method = {.descriptor = "(I)V",
                                        .max_stack = 2,
                                        .max_locals = 2,
                                        .version = 49,
                                        .code = "2a 1b 99 0007 04 a7 0004 05 57 b7 0007 b1"};

    (void)state;
    expect_ranges(&method, "");
}

/*  0 iload_1  1 ifeq 12   4 aload_0  5 invokespecial super()  8 nop  9 goto 16
 * 12 aload_0  13 invokespecial this()  16 nop  17 return: a call on either path. */
static void two_calls_on_two_paths(void **state)
{
    const struct drawn_method method = {.descriptor = "(I)V",
                                        .max_stack = 1,
                                        .max_locals = 2,
                                        .version = 49,
                                        .code =
                                            "1b 99 000b 2a b7 0007 00 a7 0007 2a b7 0008 00 b1"};

    (void)state;
    expect_ranges(&method, "000d 0011 001c 0000 0015 0016 001c 0000");
}

/* 0 iload_1  1 ifeq 8   4 aload_0  5 invokespecial   8 nop  9 return: only perhaps initialised. */
static void perhaps_is_not_surely(void **state)
{
    const struct drawn_method method = {.descriptor = "(I)V",
                                        .max_stack = 1,
                                        .max_locals = 2,
                                        .version = 49,
                                        .code = "1b 99 0007 2a b7 0007 00 b1"};

    (void)state;
    expect_ranges(&method, "");
}

/* 0 aload_0  1 invokespecial  4 return  5 athrow, the handler of 0 … 4: it may run before. */
static void a_handler_around_the_call(void **state)
{
    const struct drawn_method method = {.max_stack = 1,
                                        .max_locals = 1,
                                        .version = 49,
                                        .code = "2a b7 0007 b1 bf",
                                        .exceptions = "0000 0004 0005 0000"};

    (void)state;
    expect_ranges(&method, "0005 0009 000f 0000");
}

/* 0 aload_0  1 lconst_0  2 putfield  5 aload_0  6 invokespecial  9 aload_0  10 getfield  13 pop2
 * 14 return: a field is written first, as flexible constructors may. */
static void fields_before_super(void **state)
{
    const struct drawn_method method = {
        .max_stack = 3, .max_locals = 1, .code = "2a 09 b5 000b 2a b7 0007 2a b4 000b 58 b1"};

    (void)state;
    expect_ranges(&method, "000e 0013 0019 0000");
}

/* 0 aload_0  1 jsr 8  4 invokespecial  7 return   8 astore_1  9 nop  10 ret 1: the subroutine runs
 * before the call. */
static void a_subroutine_before_super(void **state)
{
    const struct drawn_method method = {.max_stack = 2,
                                        .max_locals = 2,
                                        .version = 48,
                                        .code = "2a a8 0007 b7 0007 b1 4c 00 a9 01"};

    (void)state;
    expect_ranges(&method, "");
}

/* 0 aload_0  1 iconst_0  2 lconst_0  3 invokestatic call(IJ)  6 pop  7 invokespecial  10 nop
 * 11 return */
static void arguments_of_calls_are_counted(void **state)
{
    const struct drawn_method method = {
        .max_stack = 4, .max_locals = 1, .code = "2a 03 09 b8 000e 57 b7 0007 00 b1"};

    (void)state;
    expect_ranges(&method, "000f 0010 0016 0000");
}

/* The stack runs empty; it does not fit; paths join with different heights. */
static void what_no_verifier_takes_is_left_alone(void **state)
{
    static const char *const codes[] = {"57 b1", "2a 2a 2a b1", "03 99 0004 03 b1", "b8 0001 b1"};

    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const struct drawn_method method = {
            .name = "<init>", .max_stack = 2, .max_locals = 1, .version = 49, .code = codes[i]};
        struct redrawn redrawn = redraw(&method);

        assert_int_equal(redrawn.error, 0);
        assert_int_equal(redrawn.rewrite.methods[METHOD_CONSTRUCTOR_UNCLEAR], 1);
        redrawn__close(&redrawn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covered_behind_super),
        cmocka_unit_test(another_object_of_the_class_is_not_this),
        cmocka_unit_test(copies_are_followed_through_stack_and_locals),
        cmocka_unit_test(a_ternary_among_the_arguments),
        cmocka_unit_test(two_calls_on_two_paths),
        cmocka_unit_test(perhaps_is_not_surely),
        cmocka_unit_test(a_handler_around_the_call),
        cmocka_unit_test(fields_before_super),
        cmocka_unit_test(a_subroutine_before_super),
        cmocka_unit_test(arguments_of_calls_are_counted),
        cmocka_unit_test(what_no_verifier_takes_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
