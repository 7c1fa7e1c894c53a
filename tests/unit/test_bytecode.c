/* The instruction table, against the chapter of the specification read once more. */
#include "agent/classfile/bytecode.h"

#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define OPCODES 202u

/* Lengths of 0x00 … 0xc9, sixteen a line; 0 for the switches and wide. */
static const char lengths[] = "1111111111111111"
                              "2323322222111111"
                              "1111111111111111"
                              "1111112222211111"
                              "1111111111111111"
                              "1111111111111111"
                              "1111111111111111"
                              "1111111111111111"
                              "1111311111111111"
                              "1111111113333333"
                              "3333333332001111"
                              "1133333335532311"
                              "3311043355";

/* What the operand stack gains (1, 2) or loses (a one, b two, …) by 0x00 … 0xb1. */
static const char effects[] = "-111111112211122"
                              "1111212121111122"
                              "22111122221111a-"
                              "a-aaaaababaaaaab"
                              "bbbaaaabbbbaaaac"
                              "dcdccccab111222-"
                              "abababababababab"
                              "abab----aaaaaaab"
                              "abab-1-1aa--11a-"
                              "a---caaccaaaaaab"
                              "bbbbbbb-1-aaabab"
                              "a-";

static int expected_effect(char letter)
{
    if (letter == '-')
        return 0;
    return letter >= 'a' ? 'a' - letter - 1 : letter - '0';
}

static void lengths_are_those_of_the_specification(void **state)
{
    (void)state;
    assert_int_equal(strlen(lengths), OPCODES);
    for (uint32_t opcode = 0; opcode < OPCODES; opcode++) {
        assert_int_equal(bytecode__of((uint8_t)opcode)->length, lengths[opcode] - '0');
        assert_int_not_equal(bytecode__of((uint8_t)opcode)->kind, BYTECODE_INVALID);
    }
    for (uint32_t opcode = OPCODES; opcode < 256; opcode++)
        assert_int_equal(bytecode__of((uint8_t)opcode)->kind, BYTECODE_INVALID);
}

static void stack_effects_are_those_of_the_specification(void **state)
{
    (void)state;
    assert_int_equal(strlen(effects), OP_RETURN + 1);
    for (uint32_t opcode = 0; opcode <= OP_RETURN; opcode++) {
        const struct bytecode *bytecode = bytecode__of((uint8_t)opcode);

        assert_int_equal(bytecode->pushes - bytecode->pops, expected_effect(effects[opcode]));
    }
}

static void an_inverse_is_its_inverses_inverse(void **state)
{
    (void)state;
    assert_int_equal(bytecode__inverse(0x99), 0x9a); /* ifeq, ifne */
    assert_int_equal(bytecode__inverse(0x9b), 0x9c); /* iflt, ifge */
    assert_int_equal(bytecode__inverse(0xa5), 0xa6); /* if_acmpeq, if_acmpne */
    assert_int_equal(bytecode__inverse(0xc6), 0xc7); /* ifnull, ifnonnull */
    for (uint32_t opcode = 0; opcode < OPCODES; opcode++)
        if (bytecode__of((uint8_t)opcode)->kind == BYTECODE_CONDITIONAL)
            assert_int_equal(bytecode__inverse(bytecode__inverse((uint8_t)opcode)), opcode);
}

/* At 1: tableswitch -1 … 1 with two bytes of padding, 2 + 12 + 12 + 1 long. */
static void switches_have_their_targets(void **state)
{
    static const uint8_t code[] = {0, 0xaa, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0,    0,
                                   0, 1,    0, 0, 0, 2, 0, 0, 0,    3,    0xff, 0xff, 0xff, 0xff};

    (void)state;
    assert_int_equal(bytecode__length(code, sizeof code, 1), 27);
    assert_int_equal(bytecode__length(code, sizeof code - 1, 1), 0);
    assert_int_equal(bytecode__target_count(code, 1), 4);
    assert_int_equal(bytecode__target(code, 1, 0), 2);
    assert_int_equal(bytecode__target(code, 1, 1), 3);
    assert_int_equal(bytecode__target(code, 1, 2), 4);
    assert_int_equal(bytecode__target(code, 1, 3), 0);
}

/* for (i = 0; i < 10; i++); compiled with the test at the end: the loop is from 5 to 11. */
static void a_loop_is_between_a_jump_back_and_its_target(void **state)
{
    static const uint8_t code[] = {0x03, 0x3c, 0xa7, 0,    6,    0x84, 1,   1,
                                   0x1b, 0x10, 10,   0xa1, 0xff, 0xfa, 0xb1};
    static const uint32_t inside[] = {5, 8, 9, 11}, outside[] = {0, 1, 2, 14};

    (void)state;
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        assert_true(bytecode__is_in_loop(code, sizeof code, inside[i]));
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        assert_false(bytecode__is_in_loop(code, sizeof code, outside[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_those_of_the_specification),
        cmocka_unit_test(stack_effects_are_those_of_the_specification),
        cmocka_unit_test(an_inverse_is_its_inverses_inverse),
        cmocka_unit_test(switches_have_their_targets),
        cmocka_unit_test(a_loop_is_between_a_jump_back_and_its_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
