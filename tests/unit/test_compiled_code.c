/* Code of the JIT compilers: whose an address is, and what is inlined there, as it stands in
 * memory. */
#include "agent/sampling/compiled_code.h"
#include "fake_jvm.h"

#include <stdio.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define COMPILE_ID 5
#define WHEN_NS    77u

static struct fake_method a, b, c;

struct shelf {
    struct fake_heap heap;
    struct fake_nmethod *nmethod;
    struct shelf *older; /* all can be reached, for the leak checker */
    struct compiled_code code;
    struct java_methods java;
    struct code_cache cache;
};

/* Numbers below 191 are a byte in the format of JDK 17, and one more from JDK 20 on. */
static void write_scopes(struct fake_nmethod *nmethod, const uint8_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        nmethod->scope_bytes[i] = (uint8_t)(numbers[i] + (fake_version >= 20));
}

/* A with B inlined at its bytecode 2, and C in that at B's 7. */
static struct shelf *make(int32_t version)
{
    static struct shelf *newest;
    struct shelf *shelf = aligned_alloc(64, sizeof *shelf);
    /* Each scope: where its caller's is written, 1 + number of its method, 1 + bytecode index. */
    static const uint8_t numbers[] = {0,         /* offset 0 is no scope */
                                      0,  1, 2,  /* at 1: A@1 */
                                      0,  1, 3,  /* at 4: A@2 */
                                      4,  2, 6,  /* at 7: B@5 in A@2 */
                                      4,  2, 8,  /* at 10: B@7 in A@2 */
                                      10, 3, 1}; /* at 13: C@0 in B@7 in A@2 */
    assert_non_null(shelf);
    fake_version = version;
    fake_method__make(&a, "pkg/Class", "A", "()V");
    fake_method__make(&b, "pkg/Class", "B", "()V");
    fake_method__make(&c, "pkg/Class", "C", "()V");
    memset(shelf, 0, sizeof *shelf);
    shelf->older = newest;
    newest = shelf;
    java_methods__init(&shelf->java, &fake_structs);
    fake_heap__make(&shelf->heap, &shelf->cache);
    compiled_code__init(&shelf->code, &shelf->cache, &shelf->java);
    shelf->nmethod = fake_nmethod__make(&shelf->heap, &a, COMPILE_ID);
    shelf->nmethod->metadata[0] = &a;
    shelf->nmethod->metadata[1] = &b;
    shelf->nmethod->metadata[2] = &c;
    write_scopes(shelf->nmethod, numbers, sizeof numbers);
    fake_nmethod__describe(shelf->nmethod, -1, 0);
    fake_nmethod__describe(shelf->nmethod, 16, 1);
    fake_nmethod__describe(shelf->nmethod, 32, 7);
    fake_nmethod__describe(shelf->nmethod, 48, 13);
    fake_nmethod__describe(shelf->nmethod, INT32_MAX, 0);
    return shelf;
}

static uint64_t identity(int32_t compile_id)
{
    struct code_blob blob = {.method = &a, .compile_id = (uint32_t)compile_id};
    return code_blob__identity(&blob);
}

static const struct compiled_place *find(struct shelf *shelf, size_t offset, int32_t compile_id)
{
    return compiled_code__find(&shelf->code, (uint64_t)(uintptr_t)&shelf->nmethod->code[offset],
                               identity(compile_id), WHEN_NS);
}

/* "B@5 A@2": the innermost first. */
static const char *scopes_at(struct shelf *shelf, size_t offset)
{
    static char text[256];
    const struct compiled_place *place = find(shelf, offset, COMPILE_ID);
    text[0] = '\0';
    for (uint32_t i = 0; place != NULL && i < place->scope_count; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s@%d", used ? " " : "",
                       place->scopes[i].method->name, (int)place->scopes[i].bci);
    }
    return place != NULL ? text : "gone";
}

static void scopes_of_inlined_methods(void **state)
{
    (void)state;
    static const int32_t versions[] = {17, 19, 20, 22};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct shelf *shelf = make(versions[i]);
        assert_string_equal(scopes_at(shelf, 0), "A@1");
        assert_string_equal(scopes_at(shelf, 15), "A@1");
        assert_string_equal(scopes_at(shelf, 16), "B@5 A@2");
        assert_string_equal(scopes_at(shelf, 31), "B@5 A@2");
        assert_string_equal(scopes_at(shelf, 32), "C@0 B@7 A@2");
        assert_string_equal(scopes_at(shelf, 48), "A@-1"); /* nothing is said of what is behind */
        assert_int_equal(shelf->code.lost, 0);
        const struct compiled_method *method = find(shelf, 0, COMPILE_ID)->code;
        assert_ptr_equal(method, find(shelf, 32, COMPILE_ID)->code);
        assert_int_equal(method->begin, (uintptr_t)shelf->nmethod->code);
        assert_int_equal(method->end, (uintptr_t)(shelf->nmethod + 1));
        assert_string_equal(method->method->name, "A");
        assert_int_equal(method->loaded_ns, WHEN_NS);
    }
}

/* In two bytes: 200 is 8 + 192 with the next byte 0, in JDK 17; there 64 more for each of that. */
static void numbers_of_more_bytes(void **state)
{
    (void)state;
    struct shelf *shelf = make(17);
    static const uint8_t old[] = {0, 0, 1, 193, 3}, new[] = {1, 1, 2, 194, 4};
    memcpy(shelf->nmethod->scope_bytes, old, sizeof old);
    assert_string_equal(scopes_at(shelf, 0), "A@384"); /* 193 + 3 * 64 - 1 */
    shelf = make(21); /* the layout of 17, the numbers of 20 and later */
    memcpy(shelf->nmethod->scope_bytes, new, sizeof new);
    assert_string_equal(scopes_at(shelf, 0), "A@384");
}

/* What is known of an address stays known; what is not was lost. */
static void code_that_is_gone(void **state)
{
    (void)state;
    struct shelf *shelf = make(17);
    assert_string_equal(scopes_at(shelf, 20), "B@5 A@2");
    shelf->nmethod->compile_id++;
    assert_string_equal(scopes_at(shelf, 20), "B@5 A@2");
    assert_string_equal(scopes_at(shelf, 21), "gone");
    shelf->nmethod->compile_id--;
    shelf->nmethod->method = &b;
    assert_string_equal(scopes_at(shelf, 21), "gone");
    shelf->nmethod->method = &a;
    shelf->nmethod->used = 0;
    assert_string_equal(scopes_at(shelf, 21), "gone");
    assert_int_equal(shelf->code.lost, 3);
    shelf->nmethod->used = 1;
    assert_string_equal(scopes_at(shelf, 21), "B@5 A@2");
}

/* Another compilation at the same address is other code. */
static void code_that_is_compiled_anew(void **state)
{
    (void)state;
    struct shelf *shelf = make(17);
    const struct compiled_method *before = find(shelf, 20, COMPILE_ID)->code;
    shelf->nmethod->compile_id = COMPILE_ID + 1;
    shelf->nmethod->descriptions[2].scope_offset = 13;
    const struct compiled_place *place = find(shelf, 20, COMPILE_ID + 1);
    assert_non_null(place);
    assert_int_equal(place->scope_count, 3);
    assert_ptr_not_equal(place->code, before);
    assert_int_equal(find(shelf, 20, COMPILE_ID)->scope_count, 2);
}

/* Whatever stands there: the method that was compiled is known, and nothing else is believed. */
static void what_makes_no_sense(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t byte;
    } damage[] = {
        {8, 0},   /* no method */
        {8, 200}, /* a number without an end, or far too large */
        {8, 60},  /* beyond the methods that there are */
        {7, 7},   /* its own caller */
        {7, 13},  /* a caller behind it */
        {5, 2},   /* the outermost is not what was compiled */
    };
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        struct shelf *shelf = make(17);
        shelf->nmethod->scope_bytes[damage[i].at] = damage[i].byte;
        if (strcmp(scopes_at(shelf, 20), "A@-1") != 0)
            fail_msg("case %zu: %s", i, scopes_at(shelf, 20));
    }
    struct shelf *shelf = make(17);
    shelf->nmethod->descriptions[2].scope_offset = 1000;
    assert_string_equal(scopes_at(shelf, 20), "A@-1");
    shelf = make(17);
    shelf->nmethod->dependencies_offset = -1;
    assert_string_equal(scopes_at(shelf, 20), "A@-1");
    shelf = make(17);
    shelf->nmethod->metadata[1] = NULL;
    assert_string_equal(scopes_at(shelf, 20), "A@-1");
    static struct fake_method nameless;
    fake_method__make(&nameless, "pkg/Class", "", "()V");
    shelf = make(17);
    shelf->nmethod->metadata[1] = &nameless;
    assert_string_equal(scopes_at(shelf, 20), "A@-1");
}

static void native_methods_have_no_scopes(void **state)
{
    (void)state;
    struct shelf *shelf = make(17);
    shelf->nmethod->name = "native nmethod";
    assert_string_equal(scopes_at(shelf, 20), "A@-1");
    shelf->nmethod->name = "RuntimeStub";
    assert_string_equal(scopes_at(shelf, 21), "gone");
}

/* Code is compiled, thrown away and compiled again, for as long as the process lives. */
static void any_amount_of_code_has_room(void **state)
{
    (void)state;
    static struct fake_method methods[10];
    struct shelf *shelf = make(17);
    size_t most = 0;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        fake_method__make(&methods[i], "pkg/Class", "A", "()V");
    for (uint32_t i = 0; i < COMPILED_CODES_MAX * 5 / 4; i++) {
        shelf->nmethod->compile_id = (int32_t)(i / 10);
        shelf->nmethod->method = &methods[i % 10];
        const struct code_blob blob = {.method = &methods[i % 10], .compile_id = i / 10};
        compiled_code__tidy(&shelf->code);
        assert_non_null(compiled_code__find(&shelf->code,
                                            (uint64_t)(uintptr_t)&shelf->nmethod->code[20],
                                            code_blob__identity(&blob), WHEN_NS));
        size_t bytes = compiled_code__bytes(&shelf->code);
        most = bytes > most ? bytes : most;
    }
    assert_in_range(compiled_code__bytes(&shelf->code), 1, most / 2);
    assert_int_equal(shelf->code.lost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scopes_of_inlined_methods),
        cmocka_unit_test(numbers_of_more_bytes),
        cmocka_unit_test(code_that_is_gone),
        cmocka_unit_test(code_that_is_compiled_anew),
        cmocka_unit_test(what_makes_no_sense),
        cmocka_unit_test(native_methods_have_no_scopes),
        cmocka_unit_test(any_amount_of_code_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
