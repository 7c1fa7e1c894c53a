/* Bytecode as text: every kind of operands, and what is cut or no instruction. */
#include "tools/report/bytecode_text.h"

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

static void every_kind_of_operands(void **state)
{
    static const struct {
        unsigned char bytes[32];
        size_t length;
        size_t taken;
        const char *text;
    } instructions[] = {
        {{0x00}, 1, 1, "nop"},
        {{0x10, 0xff}, 2, 2, "bipush -1"},
        {{0x11, 0x80, 0x00}, 3, 3, "sipush -32768"},
        {{0x12, 0xff}, 2, 2, "ldc 255"},
        {{0x15, 0x04}, 2, 2, "iload 4"},
        {{0x84, 0x05, 0xfe}, 3, 3, "iinc 5, -2"},
        {{0x99, 0x00, 0x08}, 3, 3, "ifeq 8"},
        {{0xa7, 0xff, 0xff}, 3, 3, "goto -1"},
        {{0xb1}, 1, 1, "return"},
        {{0xb8, 0x01, 0x02}, 3, 3, "invokestatic #258"},
        {{0xb9, 0x00, 0x07, 0x01, 0x00}, 5, 5, "invokeinterface #7"},
        {{0xba, 0x00, 0x07, 0x00, 0x00}, 5, 5, "invokedynamic #7"},
        {{0xbc, 0x0a}, 2, 2, "newarray int"},
        {{0xbc, 0x03}, 2, 2, "newarray ?"},
        {{0xc5, 0x00, 0x03, 0x02}, 4, 4, "multianewarray #3, 2"},
        {{0xc4, 0x15, 0x01, 0x00}, 4, 4, "wide iload 256"},
        {{0xc4, 0x84, 0x01, 0x00, 0xff, 0xff}, 6, 6, "wide iinc 256, -1"},
        {{0xc8, 0x00, 0x01, 0x00, 0x00}, 5, 5, "goto_w 65536"},
        {{0xc9, 0xff, 0xff, 0xff, 0xff}, 5, 5, "jsr_w -1"},
        /* default 100, from 1 to 2, to 10 and 20 */
        {{0xaa, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 10, 0, 0, 0, 20},
         24,
         24,
         "tableswitch 2 cases, default 100"},
        /* default -1, one case: 7, to 9 */
        {{0xab, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 9},
         20,
         20,
         "lookupswitch 1 cases, default -1"},
        {{0xca}, 1, 1, ".byte 0xca"},
        {{0xff}, 1, 1, ".byte 0xff"},
        {{0xb8, 0x01}, 2, 1, ".byte 0xb8"},
        {{0xc4}, 1, 1, ".byte 0xc4"},
        {{0xc4, 0x00, 0x00, 0x00}, 4, 1, ".byte 0xc4"},
        {{0xc4, 0xff, 0x00, 0x00}, 4, 1, ".byte 0xc4"},
        {{0xaa, 0, 0, 0, 0, 0}, 6, 1, ".byte 0xaa"},
        /* from the smallest to the largest number, from 2 to 1 less than none, 2^31 - 1 cases */
        {{0xaa, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff}, 16, 1, ".byte 0xaa"},
        {{0xaa, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1}, 16, 1, ".byte 0xaa"},
        {{0xab, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff}, 12, 1, ".byte 0xab"},
        {{0xab, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, 12, 1, ".byte 0xab"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
        char text[BYTECODE_TEXT_BYTES];
        size_t taken =
            bytecode_text__instruction(instructions[i].bytes, instructions[i].length, 0, text);
        assert_string_equal(text, instructions[i].text);
        assert_int_equal(taken, instructions[i].taken);
    }
}

/* A switch's table begins at a multiple of 4 of the method; a branch counts from its instruction.
 */
static void where_an_instruction_stands_counts(void **state)
{
    static const unsigned char bytes[] = {0x00, 0x00, 0xab, 0x00, 0,    0, 0, 8,
                                          0,    0,    0,    0,    0xa7, 0, 3};
    char text[BYTECODE_TEXT_BYTES];
    (void)state;
    assert_int_equal(bytecode_text__instruction(bytes, sizeof(bytes), 2, text), 10);
    assert_string_equal(text, "lookupswitch 0 cases, default 10");
    assert_int_equal(bytecode_text__instruction(bytes, sizeof(bytes), 12, text), 3);
    assert_string_equal(text, "goto 15");
}

/* Whatever stands there: it goes on, and ends at the end. Each in memory of its own size, so that a
 * sanitizer sees a byte too far. */
static void any_bytes_come_to_an_end(void **state)
{
    uint32_t chance = 12345;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t length = 1 + (size_t)round % 40;
        unsigned char *bytes = malloc(length);
        assert_non_null(bytes);
        for (size_t i = 0; i < length; i++) {
            chance = chance * 1664525 + 1013904223;
            bytes[i] = chance & 0x80000000 ? (unsigned char)(chance >> 16) : (unsigned char)(0xaa);
        }
        for (size_t at = 0; at < length;) {
            char text[BYTECODE_TEXT_BYTES];
            size_t taken = bytecode_text__instruction(bytes, length, at, text);
            assert_in_range(taken, 1, length - at);
            assert_true(strlen(text) > 0);
            at += taken;
        }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_operands),
        cmocka_unit_test(where_an_instruction_stands_counts),
        cmocka_unit_test(any_bytes_come_to_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
