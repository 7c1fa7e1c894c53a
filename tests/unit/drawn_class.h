/*
 * Class files drawn by hand for the tests of the rewriter: one class with one method, whose code
 * and tables are written as hexadecimal text, and what became of them read back as such text.
 *
 * In expected text, `E` stands for `ldc id; invokestatic enter`, L for `invokestatic leave`, C for
 * `invokestatic caught`, K for `ldc id; invokestatic called`, T for the pool index of
 * java/lang/Throwable: E and K have 5 bytes, as the drawn pool ends before index 255, L and C
 * have 3. What stores and loads the token is written out: 3f to 42 is lstore_0 to lstore_3, 1e to
 * 21 lload_0 to lload_3.
 */
#ifndef TREADLE_TESTS_DRAWN_CLASS_H
#define TREADLE_TESTS_DRAWN_CLASS_H

#include "agent/classfile/class_rewriter.h"

#include <stdio.h>
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

#define DRAWN_ID    0x12345678u
#define DRAWN_HOOKS "java/lang/TreadleHooks"

/* Indices in the drawn pool. */
enum {
    POOL_THIS = 2,
    POOL_SUPER = 4,
    POOL_SUPER_INIT = 7,    /* Object.<init>()V */
    POOL_THIS_INIT = 8,     /* Drawn.<init>()V */
    POOL_FIELD = 11,        /* a long */
    POOL_CALL = 14,         /* (IJ)I */
    POOL_INIT_OF_THIS = 21, /* Drawn.<init>(LDrawn;)V */
    POOL_CODE = 16,
    POOL_NAME = 17,
    POOL_TYPE = 18,
    POOL_ATTRIBUTES = 22, /* names of the code's attributes */
    DRAWN_ATTRIBUTES = 4,
    POOL_COUNT = POOL_ATTRIBUTES + DRAWN_ATTRIBUTES,
};

struct drawn_method {
    uint16_t version;        /* 52 unless given */
    const char *name;        /* `method` unless given; a constructor is not static */
    const char *descriptor;  /* ()V unless given */
    uint32_t more_constants; /* in the pool, behind those drawn */
    uint16_t max_stack;
    uint16_t max_locals;
    const char *code;
    const uint8_t *code_bytes; /* instead of code, */
    uint32_t code_length;      /* so many of them */
    const char *exceptions;
    bool counted; /* calls are only counted */
    struct {
        const char *name;
        const char *content;
    } attributes[DRAWN_ATTRIBUTES];
};

/* What came of it. */
struct redrawn {
    int error;
    struct class_rewrite rewrite;
    struct constant_pool pool;
    struct class_error read_error;
    struct method_code code;
    uint32_t id_index, enter_index, leave_index, caught_index, called_index, throwable_index;
};

static inline void drawn_text(struct class_writer *out, const char *text)
{
    class_writer__u1(out, CONSTANT_UTF8);
    class_writer__u2(out, (uint32_t)strlen(text));
    class_writer__copy(out, (const uint8_t *)text, strlen(text));
}

static inline void drawn_entry(struct class_writer *out, uint8_t tag, uint32_t first,
                               uint32_t second)
{
    class_writer__u1(out, tag);
    class_writer__u2(out, first);
    if (second)
        class_writer__u2(out, second);
}

static inline void drawn_pool(struct class_writer *out, const struct drawn_method *method)
{
    class_writer__u2(out, POOL_COUNT + method->more_constants);
    drawn_text(out, "Drawn");
    drawn_entry(out, CONSTANT_CLASS, 1, 0);
    drawn_text(out, "java/lang/Object");
    drawn_entry(out, CONSTANT_CLASS, 3, 0);
    drawn_text(out, "<init>");
    drawn_text(out, "()V");
    drawn_entry(out, CONSTANT_METHOD, POOL_SUPER, 9);
    drawn_entry(out, CONSTANT_METHOD, POOL_THIS, 9);
    drawn_entry(out, CONSTANT_NAME_AND_TYPE, 5, 6);
    drawn_text(out, "J");
    drawn_entry(out, CONSTANT_FIELD, POOL_THIS, 12);
    drawn_entry(out, CONSTANT_NAME_AND_TYPE, 10, 10);
    drawn_text(out, "(IJ)I");
    drawn_entry(out, CONSTANT_METHOD, POOL_THIS, 15);
    drawn_entry(out, CONSTANT_NAME_AND_TYPE, 10, 13);
    drawn_text(out, "Code");
    drawn_text(out, method->name ? method->name : "method");
    drawn_text(out, method->descriptor ? method->descriptor : "()V");
    drawn_text(out, "(LDrawn;)V");
    drawn_entry(out, CONSTANT_NAME_AND_TYPE, 5, 19);
    drawn_entry(out, CONSTANT_METHOD, POOL_THIS, 20);
    for (int i = 0; i < DRAWN_ATTRIBUTES; i++)
        drawn_text(out, method->attributes[i].name ? method->attributes[i].name : "none");
    for (uint32_t i = 0; i < method->more_constants; i++)
        drawn_text(out, "");
}

/* Two digits a byte; blanks between bytes do not count. */
static inline void drawn_hex(struct class_writer *out, const char *hex)
{
    while (hex && *hex) {
        if (*hex == ' ') {
            hex++;
            continue;
        }
        char digits[3] = {hex[0], hex[1], '\0'};
        class_writer__u1(out, (uint32_t)strtoul(digits, NULL, 16));
        hex += 2;
    }
}

static inline void drawn_code(struct class_writer *out, const struct drawn_method *method)
{
    struct class_writer code = {0}, exceptions = {0};
    uint32_t attributes = 0;

    drawn_hex(&code, method->code);
    class_writer__copy(&code, method->code_bytes, method->code_length);
    drawn_hex(&exceptions, method->exceptions);
    class_writer__u2(out, method->max_stack);
    class_writer__u2(out, method->max_locals);
    class_writer__u4(out, (uint32_t)code.length);
    class_writer__copy(out, code.bytes, code.length);
    class_writer__u2(out, (uint32_t)exceptions.length / 8);
    class_writer__copy(out, exceptions.bytes, exceptions.length);
    while (attributes < DRAWN_ATTRIBUTES && method->attributes[attributes].name)
        attributes++;
    class_writer__u2(out, attributes);
    for (uint32_t i = 0; i < attributes; i++) {
        struct class_writer content = {0};

        drawn_hex(&content, method->attributes[i].content);
        class_writer__u2(out, POOL_ATTRIBUTES + i);
        class_writer__u4(out, (uint32_t)content.length);
        class_writer__copy(out, content.bytes, content.length);
        class_writer__close(&content);
    }
    class_writer__close(&code);
    class_writer__close(&exceptions);
}

/* The class file; the caller closes it. */
static inline struct class_writer drawn_class(const struct drawn_method *method)
{
    bool is_constructor = method->name && strcmp(method->name, "<init>") == 0;
    struct class_writer out = {0}, code = {0};

    class_writer__u4(&out, 0xcafebabe);
    class_writer__u4(&out, method->version ? method->version : 52);
    drawn_pool(&out, method);
    class_writer__u2(&out, 0x21);
    class_writer__u2(&out, POOL_THIS);
    class_writer__u2(&out, POOL_SUPER);
    class_writer__u4(&out, 0); /* interfaces, fields */
    class_writer__u2(&out, 1);
    class_writer__u2(&out, is_constructor ? 0x1 : 0x9);
    class_writer__u2(&out, POOL_NAME);
    class_writer__u2(&out, POOL_TYPE);
    class_writer__u2(&out, 1);
    class_writer__u2(&out, POOL_CODE);
    drawn_code(&code, method);
    class_writer__u4(&out, (uint32_t)code.length);
    class_writer__copy(&out, code.bytes, code.length);
    class_writer__u2(&out, 0);
    class_writer__close(&code);
    assert_false(out.failed);
    return out;
}

static inline bool drawn_choice(void *context, const struct class_method *method,
                                struct method_choice *choice)
{
    const struct drawn_method *drawn = context;

    (void)method;
    choice->id = DRAWN_ID;
    choice->counted = drawn && drawn->counted;
    return true;
}

static inline uint32_t find_hook(const struct redrawn *redrawn, const char *wanted,
                                 const char *type)
{
    for (uint32_t i = 1; i < redrawn->pool.count; i++) {
        const uint8_t *entry = redrawn->rewrite.bytes + redrawn->pool.offset[i];
        struct class_text owner, name, descriptor;

        if (*entry == CONSTANT_METHOD &&
            constant_pool__member(&redrawn->pool, i, &name, &descriptor) &&
            constant_pool__class_name(&redrawn->pool, big_endian_u2(entry + 1), &owner) &&
            class_text__is(owner, DRAWN_HOOKS) && class_text__is(name, wanted) &&
            class_text__is(descriptor, type))
            return i;
    }
    return 0;
}

static inline void find_constants(struct redrawn *redrawn)
{
    for (uint32_t i = 1; i < redrawn->pool.count; i++) {
        const uint8_t *entry = redrawn->rewrite.bytes + redrawn->pool.offset[i];
        struct class_text name;

        if (*entry == CONSTANT_INTEGER && big_endian_u4(entry + 1) == DRAWN_ID)
            redrawn->id_index = i;
        if (constant_pool__class_name(&redrawn->pool, i, &name) &&
            class_text__is(name, "java/lang/Throwable"))
            redrawn->throwable_index = i;
    }
    redrawn->enter_index = find_hook(redrawn, "enter", "(I)J");
    redrawn->leave_index = find_hook(redrawn, "leave", "(J)V");
    redrawn->called_index = find_hook(redrawn, "called", "(I)V");
    redrawn->caught_index = find_hook(redrawn, "caught", "(J)V");
}

/* Reads the one method's code of the new class. */
static inline void read_redrawn(struct redrawn *redrawn)
{
    struct class_reader reader = {.bytes = redrawn->rewrite.bytes,
                                  .end = redrawn->rewrite.length,
                                  .error = &redrawn->read_error};
    struct class_reader content;

    class_reader__skip(&reader, 8);
    assert_int_equal(constant_pool__read(&redrawn->pool, &reader), 0);
    class_reader__skip(&reader, 10 + 2 + 8 + 2); /* to the length of the Code attribute */
    content = class_reader__part(&reader, class_reader__u4(&reader));
    method_code__read(&redrawn->code, &content);
    assert_int_equal(class_reader__u2(&reader), 0);
    assert_true(class_reader__ok(&reader));
    assert_int_equal(reader.at, reader.end);
    find_constants(redrawn);
}

static inline struct redrawn redraw(const struct drawn_method *method)
{
    struct class_writer drawn = drawn_class(method);
    struct redrawn redrawn = {0};

    redrawn.error = class_rewriter__rewrite(drawn.bytes, drawn.length, DRAWN_HOOKS, drawn_choice,
                                            (void *)method, &redrawn.rewrite);
    class_writer__close(&drawn);
    if (redrawn.rewrite.bytes)
        read_redrawn(&redrawn);
    return redrawn;
}

static inline void redrawn__close(struct redrawn *redrawn)
{
    constant_pool__close(&redrawn->pool);
    free(redrawn->rewrite.bytes);
    free(redrawn->rewrite.hooked);
}

/* Expected text to bytes. */
static inline struct class_writer expected_bytes(const struct redrawn *redrawn, const char *text)
{
    struct class_writer out = {0};

    while (*text) {
        char digits[3] = {text[0], text[1], '\0'};

        if (*text == 'E' || *text == 'K') {
            class_writer__u1(&out, 0x12);
            class_writer__u1(&out, redrawn->id_index);
            class_writer__u1(&out, 0xb8);
            class_writer__u2(&out, *text == 'E' ? redrawn->enter_index : redrawn->called_index);
        } else if (*text == 'L' || *text == 'C') {
            class_writer__u1(&out, 0xb8);
            class_writer__u2(&out, *text == 'L' ? redrawn->leave_index : redrawn->caught_index);
        } else if (*text == 'T') {
            class_writer__u2(&out, redrawn->throwable_index);
        } else if (*text != ' ') {
            class_writer__u1(&out, (uint32_t)strtoul(digits, NULL, 16));
            text++;
        }
        text++;
    }
    return out;
}

static inline void print_hex(const char *title, const uint8_t *bytes, size_t length)
{
    fprintf(stderr, "%s", title);
    for (size_t i = 0; i < length; i++)
        fprintf(stderr, " %02x", bytes[i]);
    fprintf(stderr, "\n");
}

static inline void expect_bytes(const struct redrawn *redrawn, const uint8_t *bytes, size_t length,
                                const char *text)
{
    struct class_writer expected = expected_bytes(redrawn, text);

    if (length != expected.length || (length && memcmp(bytes, expected.bytes, length) != 0)) {
        print_hex("expected", expected.bytes, expected.length);
        print_hex("found   ", bytes, length);
        fail();
    }
    class_writer__close(&expected);
}

static inline void expect_code(const struct redrawn *redrawn, const char *text)
{
    assert_int_equal(redrawn->error, 0);
    assert_non_null(redrawn->rewrite.bytes);
    expect_bytes(redrawn, redrawn->code.bytes, redrawn->code.length, text);
}

static inline void expect_exceptions(const struct redrawn *redrawn, const char *text)
{
    expect_bytes(redrawn, redrawn->code.exceptions, 8u * redrawn->code.exception_count, text);
}

/* The content of an attribute of the code; NULL: there is none of that name. */
static inline void expect_attribute(const struct redrawn *redrawn, const char *wanted,
                                    const char *text)
{
    struct class_reader attributes = redrawn->code.attributes;
    struct class_error error = {0};

    attributes.error = &error;
    for (uint32_t i = 0; i < redrawn->code.attribute_count; i++) {
        struct class_text name = {0};

        constant_pool__text(&redrawn->pool, class_reader__u2(&attributes), &name);
        struct class_reader content =
            class_reader__part(&attributes, class_reader__u4(&attributes));
        if (class_text__is(name, wanted)) {
            assert_non_null(text);
            expect_bytes(redrawn, content.bytes + content.at, content.end - content.at, text);
            return;
        }
    }
    assert_null(text);
}

#endif
