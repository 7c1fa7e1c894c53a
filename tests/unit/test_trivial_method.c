/* Which methods are trivial: rows of code and answer. */
#include "agent/classfile/trivial_method.h"
#include "tests/unit/drawn_class.h"

static bool is_trivial(const char *hex, uint16_t access_flags)
{
    struct class_writer code = {0};
    struct class_method method = {.access_flags = access_flags};
    bool answer;

    drawn_hex(&code, hex);
    method.code = code.bytes;
    method.code_length = (uint32_t)code.length;
    answer = class_method__is_trivial(&method);
    class_writer__close(&code);
    return answer;
}

static void straight_code_to_a_return_is_trivial(void **state)
{
    static const struct {
        const char *code;
        bool expected;
    } rows[] = {
        {"b1", true},                      /* return */
        {"2a b4 0001 b0", true},           /* aload_0, getfield, areturn */
        {"2a 1b b5 0001 b1", true},        /* aload_0, iload_1, putfield, return */
        {"2a 1f b5 0001 2a b0", true},     /* …, aload_0, areturn: 7 bytes */
        {"b2 0001 b0", true},              /* getstatic, areturn */
        {"12 01 b0", true},                /* ldc, areturn */
        {"1a 1b 60 ac", true},             /* iload_0, iload_1, iadd, ireturn */
        {"00 00 00 00 00 00 00 b1", true}, /* 8 bytes */
        {"00 00 00 00 00 00 00 00 b1", false} /* 9 */,
        {"2a b7 0001 b1", false},    /* invokespecial */
        {"b8 0001 b1", false},       /* invokestatic */
        {"bb 0001 b0", false},       /* new */
        {"04 bc 04 b0", false},      /* newarray */
        {"04 bd 0001 b0", false},    /* anewarray */
        {"04 c5 0001 01 b0", false}, /* multianewarray */
        {"1a 99 0003 b1", false},    /* ifeq */
        {"a7 0000", false},          /* goto */
        {"01 bf", false},            /* athrow */
        {"2a c2 b1", false},         /* monitorenter */
        {"2a c3 b1", false},         /* monitorexit */
        {"b1 b1", false},            /* something behind the return */
        {"00", false},               /* no return */
        {"2a b4 00", false},         /* cut off */
        {"cb b1", false},            /* no instruction */
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_trivial(rows[i].code, 0) != rows[i].expected)
            fail_msg("row %zu: %s", i, rows[i].code);
}

static void a_synchronized_method_is_not_trivial(void **state)
{
    (void)state;
    assert_false(is_trivial("b1", 0x0020));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_code_to_a_return_is_trivial),
        cmocka_unit_test(a_synchronized_method_is_not_trivial),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
