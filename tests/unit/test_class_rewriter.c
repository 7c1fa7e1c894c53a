/* Hooks in methods: bytes and offsets worked out on paper. The enter hook has 6 bytes, the others
 * have 4, while the token is one of the local variables 0 to 3 (drawn_class.h). */
#include "tests/unit/drawn_class.h"

#include <errno.h>

#define THROWN "0001 07 T" /* the exception on the stack */

/* 0 return    6 leave, 10
 *            11 handler */
static void an_empty_method(void **state)
{
    struct redrawn redrawn = redraw(&(struct drawn_method){.code = "b1"});

    (void)state;
    expect_code(&redrawn, "E 3f 1e L b1 1e L bf");
    expect_exceptions(&redrawn, "0006 000b 000b 0000");
    expect_attribute(&redrawn, "StackMapTable", "0001 ff 000b 0001 04 " THROWN);
    assert_int_equal(redrawn.code.max_stack, 3);
    assert_int_equal(redrawn.code.max_locals, 2);
    assert_int_equal(redrawn.rewrite.methods[METHOD_HOOKED], 1);
    redrawn__close(&redrawn);
}

/*   0 lconst_0        6
 *   1 lreturn         7 leave, 11
 *                    12 handler */
static void what_throws_leaves_through_the_handler(void **state)
{
    const struct drawn_method method = {.descriptor = "()J", .max_stack = 2, .code = "09 ad"};
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_code(&redrawn, "E 3f 09 1e L ad 1e L bf");
    expect_exceptions(&redrawn, "0006 000c 000c 0000");
    expect_attribute(&redrawn, "StackMapTable", "0001 ff 000c 0001 04 " THROWN);
    assert_int_equal(redrawn.code.max_stack, 4);
    redrawn__close(&redrawn);
}

/* Stack maps: none below 50, inferred types in 50 if the method has jumps, one from 51 on. */
static void versions_differ_in_stack_maps(void **state)
{
    struct drawn_method method = {.version = 45, .max_stack = 1, .code = "03 57 b1"};
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_attribute(&redrawn, "StackMapTable", NULL);
    redrawn__close(&redrawn);

    method.version = 50;
    redrawn = redraw(&method);
    expect_attribute(&redrawn, "StackMapTable", "0001 ff 000d 0001 04 " THROWN);
    redrawn__close(&redrawn);

    method.code = "03 99 0003 b1";
    redrawn = redraw(&method);
    expect_exceptions(&redrawn, "0006 000f 000f 0000");
    expect_attribute(&redrawn, "StackMapTable", NULL);
    redrawn__close(&redrawn);

    method.version = 70;
    redrawn = redraw(&method);
    assert_int_equal(redrawn.error, -ENOTSUP);
    assert_null(redrawn.rewrite.bytes);
    assert_int_equal(redrawn.rewrite.error.offset, 6);
}

/*   0 iload_0            6
 *   1 ifeq 7             7 -> 13
 *   4 iinc 0, -1        10
 *   7 return            13 leave, 17
 *   8 goto 0            18 -> 6
 * The jump to the return leads to its leave hook, that to the start behind the enter hook. */
static void branches_lead_to_leave_hooks_and_behind_the_enter_hook(void **state)
{
    const struct drawn_method method = {
        .descriptor = "(I)V",
        .max_stack = 1,
        .max_locals = 1,
        .code = "1a 99 0006 84 00 ff b1 a7 fff8",
        .attributes = {{"StackMapTable", "0003 00 06 00"}}, /* at 0, 7 and 8 */
    };
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_code(&redrawn, "E 40 1a 99 0006 84 00 ff 1f L b1 a7 fff4 1f L bf");
    expect_exceptions(&redrawn, "0006 0015 0015 0000");
    expect_attribute(&redrawn, "StackMapTable",
                     "0004 ff 0006 0002 01 04 0000 06 04 ff 0002 0002 00 04 " THROWN);
    redrawn__close(&redrawn);
}

/* The same method and a constructor, whose calls are only counted: one hook, no local variable, no
 * handler. All of the code and its frames move by the hook's 5 bytes. */
static void a_counted_method_has_one_hook(void **state)
{
    struct drawn_method method = {
        .descriptor = "(I)V",
        .max_stack = 1,
        .max_locals = 1,
        .code = "1a 99 0006 84 00 ff b1 a7 fff8",
        .counted = true,
        .attributes = {{"StackMapTable", "0003 00 06 00"}},
    };
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_code(&redrawn, "K 1a 99 0006 84 00 ff b1 a7 fff8");
    expect_exceptions(&redrawn, "");
    expect_attribute(&redrawn, "StackMapTable", "0003 ff 0005 0001 01 0000 06 00");
    assert_int_equal(redrawn.code.max_stack, 1);
    assert_int_equal(redrawn.code.max_locals, 1);
    redrawn__close(&redrawn);

    method = (struct drawn_method){
        .name = "<init>",
        .descriptor = "(I)V",
        .max_stack = 2,
        .max_locals = 2,
        .code = "2a 1b 99 0007 04 a7 0004 05 57 b7 0007 b1",
        .counted = true,
        .attributes = {{"StackMapTable", "0002 ff 0009 0002 06 01 0001 06 "
                                         "ff 0000 0002 06 01 0002 06 01"}},
    };
    redrawn = redraw(&method);
    expect_code(&redrawn, "K 2a 1b 99 0007 04 a7 0004 05 57 b7 0007 b1");
    expect_attribute(&redrawn, "StackMapTable",
                     "0002 ff 000e 0002 06 01 0001 06 ff 0000 0002 06 01 0002 06 01");
    assert_int_equal(redrawn.code.max_stack, 2);
    redrawn__close(&redrawn);

    redrawn = redraw(&(struct drawn_method){.code = "b1", .counted = true});
    expect_code(&redrawn, "K b1");
    expect_attribute(&redrawn, "StackMapTable", NULL);
    assert_int_equal(redrawn.code.max_stack, 1);
    assert_int_equal(redrawn.code.max_locals, 0);
    redrawn__close(&redrawn);
}

/* Every kind of frame; the token is local variable 9, so that the enter hook has 7 bytes and the
 * leave hook 5. Those that change the locals, and the first, become full.
 *   0 new 2  3 pop  4 … 15 nop  16 new 2  19 pop  20 return */
static void frames_of_every_kind_move(void **state)
{
    const struct drawn_method method = {
        .max_stack = 1,
        .max_locals = 9,
        .code = "bb 0002 57 00 00 00 00 00 00 00 00 00 00 00 00 bb 0002 57 b1",
        .attributes = {{"StackMapTable", "0009 "
                                         "04 "                    /* 4: same */
                                         "40 01 "                 /* 5: one on the stack, an int */
                                         "f7 0000 08 0000 "       /* 6: extended, from `new` at 0 */
                                         "fc 0000 07 0002 "       /* 7: one more local */
                                         "fe 0000 01 04 08 0010 " /* 8: three more, `new` at 16 */
                                         "f9 0001 "               /* 10: two less */
                                         "fb 0000 "               /* 11: same, extended */
                                         "ff 0000 0002 00 03 0001 08 0010 " /* 12: full */
                                         "07"}},                            /* 20: same */
    };
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_code(&redrawn, "E 37 09 bb 0002 57 00 00 00 00 00 00 00 00 00 00 00 00 bb 0002 57"
                          "16 09 L b1 16 09 L bf");
    expect_attribute(&redrawn, "StackMapTable",
                     "000a "
                     "ff 000b 000a 00 00 00 00 00 00 00 00 00 04 0000"
                     "40 01 40 08 0007"
                     "ff 0000 000a 07 0002 00 00 00 00 00 00 00 00 04 0000"
                     "ff 0000 0009 07 0002 01 04 08 0017 00 00 00 00 04 0000"
                     "ff 0001 000a 07 0002 01 00 00 00 00 00 00 00 04 0000"
                     "00"
                     "ff 0000 0009 00 03 00 00 00 00 00 00 04 0001 08 0017"
                     "07"
                     "ff 0005 000a 00 00 00 00 00 00 00 00 00 04 " THROWN);
    redrawn__close(&redrawn);
}

/* A return in between makes the deltas grow past what the short forms hold. */
static void short_frames_become_extended(void **state)
{
    uint8_t code[64] = {[61] = 0xb1, [63] = 0xb1};
    struct redrawn redrawn;

    (void)state;
    redrawn = redraw(&(struct drawn_method){
        .max_stack = 1,
        .max_locals = 1,
        .code_bytes = code,
        .code_length = sizeof code,
        .attributes = {{"StackMapTable", "0003 00 7d 05 00"}}, /* 0; 62: null on the stack; 63 */
    });
    expect_attribute(&redrawn, "StackMapTable",
                     "0004 ff 0006 0002 00 04 0000 f7 0041 05 00 ff 0004 0002 00 04 " THROWN);
    redrawn__close(&redrawn);
}

/*   0 iload_0                              6
 *   1 tableswitch 1..2  (2 of padding)     7 (none)
 *        default 44, 24, 25
 *  24 nop                                 28
 *  25 iload_0                             29
 *  26 lookupswitch      (1 of padding)    30 (1 of padding)
 *        default 44, 5: 24
 *  44 return                              48 leave, 52 */
static void switches_are_padded_anew(void **state)
{
    const struct drawn_method method = {
        .version = 49,
        .descriptor = "(I)V",
        .max_stack = 1,
        .max_locals = 1,
        .code = "1a aa 0000 0000002b 00000001 00000002 00000017 00000018"
                "00 1a ab 00 00000012 00000001 00000005 fffffffe b1",
    };
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_code(&redrawn, "E 40 1a aa 00000029 00000001 00000002 00000015 00000016"
                          "00 1a ab 00 00000012 00000001 00000005 fffffffe 1f L b1 1f L bf");
    redrawn__close(&redrawn);
}

/*   0 jsr 4      6 -> 14
 *   3 return     9 leave, 13
 *   4 astore_0  14
 *   5 wide ret  15 */
static void subroutines_return_to_leave_hooks(void **state)
{
    const struct drawn_method method = {
        .version = 48, .max_stack = 1, .max_locals = 1, .code = "a8 0004 b1 4b c4 a9 0000"};
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_code(&redrawn, "E 40 a8 0008 1f L b1 4b c4 a9 0000 1f L bf");
    expect_exceptions(&redrawn, "0006 0013 0013 0000");
    redrawn__close(&redrawn);
}

/*   0 aconst_null   6
 *   1 athrow        7
 *   2 astore_0      8 caught, 12
 *   3 return       13 leave, 17
 *   4 pop          18 caught, 22
 *   5 return       23 leave, 27 */
static void own_handlers_stay_first(void **state)
{
    const struct drawn_method method = {
        .max_stack = 1,
        .max_locals = 1,
        .code = "01 bf 4b b1 57 b1",
        .exceptions = "0000 0002 0002 0004"
                      "0002 0004 0004 0000",
        .attributes = {{"StackMapTable", "0002 42 07 0004 41 07 0004"}},
    };
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_code(&redrawn, "E 40 01 bf 1f C 4b 1f L b1 1f C 57 1f L b1 1f L bf");
    expect_exceptions(&redrawn, "0006 0008 0008 0004"
                                "0008 0012 0012 0000"
                                "0006 001c 001c 0000");
    expect_attribute(&redrawn, "StackMapTable",
                     "0003 ff 0008 0002 00 04 0001 07 0004 49 07 0004 ff 0009 0002 00 04 " THROWN);
    redrawn__close(&redrawn);
}

/*   0 iconst_0   6
 *   1 istore_0   7
 *   2 return     8 leave, 12
 *   3 nop       13
 *   4 return    14 leave, 18 */
static void debug_tables_move(void **state)
{
    const struct drawn_method method = {
        .version = 49,
        .max_stack = 1,
        .max_locals = 1,
        .code = "03 3b b1 00 b1",
        .attributes = {{"LineNumberTable", "0003 0000 0001 0002 0002 0003 0003"},
                       {"LocalVariableTable", "0002 0000 0005 0005 0006 0000"
                                              "0002 0003 0005 0006 0000"},
                       {"LocalVariableTypeTable", "0001 0002 0001 0005 0006 0000"},
                       {"CharacterRangeTable", "0000"}},
    };
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_attribute(&redrawn, "LineNumberTable", "0003 0000 0001 0008 0002 000d 0003");
    expect_attribute(&redrawn, "LocalVariableTable",
                     "0002 0000 0013 0005 0006 0000"
                     "0008 000b 0005 0006 0000");
    expect_attribute(&redrawn, "LocalVariableTypeTable", "0001 0008 0005 0005 0006 0000");
    expect_attribute(&redrawn, "CharacterRangeTable", NULL);
    redrawn__close(&redrawn);
}

/*   0 new      6
 *   3 pop      9
 *   4 return  10 leave, 14
 * One annotation a target: a local variable, a catch, `new` at 0, a cast's argument at 3. Each has
 * a path of one step; the last one's value is an array of an enum constant and an annotation. */
static void type_annotations_move(void **state)
{
    const struct drawn_method method = {
        .version = 49,
        .max_stack = 1,
        .max_locals = 1,
        .code = "bb 0002 57 b1",
        .attributes = {{"RuntimeVisibleTypeAnnotations",
                        "0004"
                        "40 0001 0003 0002 0000 01 0300 0005 0000"
                        "42 0000 01 0300 0005 0000"
                        "44 0000 01 0300 0005 0000"
                        "47 0003 00 01 0300 0005 0001 0005 5b 0002 65 0005 0005 40 0005 0000"},
                       {"Unknown", "0003 0004"}},
    };
    struct redrawn redrawn = redraw(&method);

    (void)state;
    expect_attribute(&redrawn, "RuntimeVisibleTypeAnnotations",
                     "0004"
                     "40 0001 0009 0006 0000 01 0300 0005 0000"
                     "42 0000 01 0300 0005 0000"
                     "44 0006 01 0300 0005 0000"
                     "47 0009 00 01 0300 0005 0001 0005 5b 0002 65 0005 0005 40 0005 0000");
    expect_attribute(&redrawn, "Unknown", "0003 0004");
    redrawn__close(&redrawn);
}

static uint8_t *nops(uint32_t length)
{
    uint8_t *code = calloc(length, 1);

    assert_non_null(code);
    return code;
}

static void put_u2(uint8_t *here, uint32_t value)
{
    here[0] = (uint8_t)(value >> 8);
    here[1] = (uint8_t)value;
}

/* A goto and a conditional jump over 32767 bytes reach until a leave hook comes between. */
static uint8_t *far_code(uint32_t *length)
{
    uint8_t *code = nops(*length = 32780);

    code[0] = 0x03;          /*     0 iconst_0 */
    code[1] = 0x99;          /*     1 ifeq 32768 */
    put_u2(code + 2, 32767); /*       */
    code[4] = 0xa7;          /*     4 goto 32771 */
    put_u2(code + 5, 32767); /*       */
    code[7] = 0xb1;          /*     7 return */
    code[32767] = 0xb1;      /* 32767 return */
    code[32779] = 0xb1;      /* 32779 return */
    return code;
}

/* Behind the enter hook: iconst_0, ifne +8, goto_w, goto_w, leave, return: each jump's target, its
 * own relocation counted, is 6 (enter) + 5 (invert) + 2 (widen) + 8 (two leave hooks) further on.
 */
static void far_branches_are_inverted_and_widened(void **state)
{
    uint32_t length;
    uint8_t *code = far_code(&length);
    struct redrawn redrawn = redraw(&(struct drawn_method){
        .version = 49, .max_stack = 1, .code_bytes = code, .code_length = length});

    (void)state;
    assert_int_equal(redrawn.error, 0);
    expect_bytes(&redrawn, redrawn.code.bytes, 25,
                 "E 3f 03 9a 0008 c8 0000800b c8 00008009 1e L b1");
    assert_int_equal(redrawn.code.length, 32780 + 6 + 5 + 2 + 12 + 5);
    redrawn__close(&redrawn);
    free(code);
}

/* With a stack map the conditional jump goes to a trampoline in the gap behind the goto, whose
 * frame is that of the target in full. */
static void far_branches_with_frames_use_trampolines(void **state)
{
    uint32_t length;
    uint8_t *code = far_code(&length);
    struct redrawn redrawn = redraw(&(struct drawn_method){
        .descriptor = "(ILDrawn;)V",
        .max_stack = 1,
        .max_locals = 3,
        .code_bytes = code,
        .code_length = length,
        /* at 7, 8, 32768 (with a local more) and 32771 */
        .attributes = {{"StackMapTable", "0004 07 00 fc 7ff7 05 02"}},
    });

    (void)state;
    assert_int_equal(redrawn.error, 0);
    /* The trampoline is at 15; behind it all is 17 further on, behind the second return 21. */
    expect_bytes(&redrawn, redrawn.code.bytes, 25,
                 "E 42 03 99 0008 c8 0000800e c8 00008006 21 L b1");
    expect_attribute(&redrawn, "StackMapTable",
                     "0006 ff 000f 0004 01 07 0002 05 04 0000"
                     "ff 0004 0004 01 07 0002 00 04 0000 04"
                     "ff 7ffb 0004 01 07 0002 05 04 0000 02"
                     "ff 000c 0004 00 00 00 04 " THROWN);
    redrawn__close(&redrawn);
    free(code);
}

/* With all of the code in an exception range there is no place for a trampoline. */
static void a_branch_out_of_reach_is_left_alone(void **state)
{
    uint32_t length;
    uint8_t *code = far_code(&length);
    struct redrawn redrawn = redraw(&(struct drawn_method){
        .max_stack = 1,
        .code_bytes = code,
        .code_length = length,
        .exceptions = "0000 800c 800b 0000",
        .attributes = {{"StackMapTable", "0001 07"}},
    });

    (void)state;
    assert_int_equal(redrawn.error, 0);
    assert_null(redrawn.rewrite.bytes);
    assert_int_equal(redrawn.rewrite.methods[METHOD_BRANCH_OUT_OF_REACH], 1);
    redrawn__close(&redrawn);
    free(code);
}

static void code_that_would_be_too_large_is_left_alone(void **state)
{
    uint8_t *code = nops(65535);
    struct redrawn redrawn;

    (void)state;
    code[65534] = 0xb1;
    redrawn =
        redraw(&(struct drawn_method){.version = 49, .code_bytes = code, .code_length = 65535});
    assert_int_equal(redrawn.error, 0);
    assert_null(redrawn.rewrite.bytes);
    assert_int_equal(redrawn.rewrite.methods[METHOD_CODE_TOO_LARGE], 1);
    redrawn = redraw(
        &(struct drawn_method){.version = 49, .code_bytes = code + 15, .code_length = 65520});
    assert_int_equal(redrawn.code.length, 65535);
    redrawn__close(&redrawn);
    redrawn = redraw(
        &(struct drawn_method){.version = 49, .code_bytes = code + 14, .code_length = 65521});
    assert_int_equal(redrawn.rewrite.methods[METHOD_CODE_TOO_LARGE], 1);
    free(code);
}

/* 17 entries are added: two for the class, three names, two types, three pairs, three methods, two
 * for Throwable, the stack map's name and the id. Behind index 255 the id needs ldc_w. */
static void a_full_pool_is_left_alone(void **state)
{
    const uint32_t room = 17;
    struct drawn_method method = {.more_constants = 65535 - POOL_COUNT - room, .code = "b1"};
    struct redrawn redrawn = redraw(&method);

    (void)state;
    assert_int_equal(redrawn.pool.count, 65535);
    assert_int_equal(redrawn.code.length, 7 + 4 + 1 + 5);
    redrawn__close(&redrawn);
    method.more_constants++;
    redrawn = redraw(&method);
    assert_int_equal(redrawn.error, 0);
    assert_null(redrawn.rewrite.bytes);
    assert_int_equal(redrawn.rewrite.methods[METHOD_POOL_FULL], 1);
}

static void a_full_stack_is_left_alone(void **state)
{
    struct redrawn redrawn = redraw(&(struct drawn_method){.max_stack = 65535, .code = "00 b1"});

    (void)state;
    assert_null(redrawn.rewrite.bytes);
    assert_int_equal(redrawn.rewrite.methods[METHOD_STACK_TOO_DEEP], 1);
}

static void malformed_code_says_where(void **state)
{
    static const struct {
        const char *code;
        const char *exceptions;
        uint32_t offset; /* from the code on */
        const char *expected;
    } rows[] = {
        {"00 cb b1", "", 1, "an instruction"},
        {"00 11 00", "", 1, "an instruction"},
        {"aa 000000 00000000 00000002 00000001 b1", "", 0, "an instruction"},
        {"ab 000000 00000000 ffffffff", "", 0, "an instruction"},
        {"c4 b1 00 00", "", 0, "an instruction"},
        {"00 a7 0002 b1", "", 1, "a branch to an instruction"},
        {"a7 8000 b1", "", 0, "a branch to an instruction"},
        {"11 0000 57 b1", "0000 0002 0003 0000", 7, "an exception range of instructions"},
        {"00 01", "", 1, "an instruction that ends"},
        {"00 99 ffff", "", 1, "an instruction that ends"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct drawn_method method = {
            .max_stack = 1, .code = rows[i].code, .exceptions = rows[i].exceptions};
        struct class_writer drawn = drawn_class(&method);
        struct class_writer code = {0};
        struct redrawn redrawn = redraw(&method);

        drawn_hex(&code, rows[i].code);
        /* behind the code: its exceptions, two counts, and one of the class's attributes */
        size_t at = drawn.length - 6 - strlen(rows[i].exceptions) / 19 * 8 - code.length;
        assert_int_equal(redrawn.error, -EBADMSG);
        assert_null(redrawn.rewrite.bytes);
        assert_string_equal(redrawn.rewrite.error.expected, rows[i].expected);
        assert_int_equal(redrawn.rewrite.error.offset, at + rows[i].offset);
        class_writer__close(&drawn);
        class_writer__close(&code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_method),
        cmocka_unit_test(what_throws_leaves_through_the_handler),
        cmocka_unit_test(versions_differ_in_stack_maps),
        cmocka_unit_test(branches_lead_to_leave_hooks_and_behind_the_enter_hook),
        cmocka_unit_test(a_counted_method_has_one_hook),
        cmocka_unit_test(frames_of_every_kind_move),
        cmocka_unit_test(short_frames_become_extended),
        cmocka_unit_test(switches_are_padded_anew),
        cmocka_unit_test(subroutines_return_to_leave_hooks),
        cmocka_unit_test(own_handlers_stay_first),
        cmocka_unit_test(debug_tables_move),
        cmocka_unit_test(type_annotations_move),
        cmocka_unit_test(far_branches_are_inverted_and_widened),
        cmocka_unit_test(far_branches_with_frames_use_trampolines),
        cmocka_unit_test(a_branch_out_of_reach_is_left_alone),
        cmocka_unit_test(code_that_would_be_too_large_is_left_alone),
        cmocka_unit_test(a_full_pool_is_left_alone),
        cmocka_unit_test(a_full_stack_is_left_alone),
        cmocka_unit_test(malformed_code_says_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
