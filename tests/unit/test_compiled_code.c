/* Code of the JIT compilers: whose an address is, at a time, and what is inlined there. */
#include "agent/compiled_code.h"
#include "fake_jvm.h"
#include "native/ledger_time.h"

#include <stdio.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static const struct fake_id a = {"Lpkg/Class;", "A", "()V"}, b = {"Lpkg/Class;", "B", "()V"},
                            c = {"Lpkg/Class;", "C", "()V"}, gone = {NULL, "D", "()V"};

struct shelf {
    struct java_methods java;
    struct ledger_time time;
    struct compiled_code code;
    struct shelf *older; /* all can be reached, for the leak checker */
};

static struct shelf *make(void)
{
    static struct shelf *newest;
    struct shelf *shelf = calloc(1, sizeof *shelf);
    assert_non_null(shelf);
    shelf->older = newest;
    newest = shelf;
    java_methods__init(&shelf->java, &fake_structs);
    ledger_time__start(&shelf->time, 0);
    compiled_code__init(&shelf->code, &shelf->java, &shelf->time);
    return shelf;
}

static uint64_t now(const struct shelf *shelf)
{
    return ledger_time__now_ns(&shelf->time);
}

static void load(struct shelf *shelf, const struct fake_id *id, uintptr_t begin, uintptr_t end,
                 const void *info)
{
    compiled_code__loaded(&shelf->code, &fake_jvmti, id_of(id), (jint)(end - begin),
                          (const void *)begin, info);
}

static const char *name_at(struct shelf *shelf, uint64_t address, uint64_t when_ns)
{
    compiled_code__lock(&shelf->code);
    const struct compiled_method *found = compiled_code__find(&shelf->code, address, when_ns);
    compiled_code__unlock(&shelf->code);
    return found != NULL ? found->method->name : "none";
}

/* "B@5 A@2": the innermost first. */
static const char *scopes_at(struct shelf *shelf, uint64_t address)
{
    static char text[256];
    text[0] = '\0';
    const struct compiled_method *found = compiled_code__find(&shelf->code, address, now(shelf));
    const struct code_scope *scope = found != NULL ? compiled_method__scope(found, address) : NULL;
    while (scope != NULL) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s@%d", used ? " " : "",
                       scope->method->name, (int)scope->bci);
        scope = scope->caller ? &found->scopes[scope->caller - 1] : NULL;
    }
    return text;
}

/* In the order of the JVM's: any. The last is outside. */
static void scopes_of_inlined_methods(void **state)
{
    (void)state;
    struct shelf *shelf = make();
    jmethodID in_a[] = {id_of(&a)}, in_b[] = {id_of(&b), id_of(&a)},
              in_c[] = {id_of(&c), id_of(&b), id_of(&a)};
    jint bci_1[] = {1}, bcis_b[] = {5, 2}, bcis_c[] = {0, 7, 2}, bci_9[] = {9};
    PCStackInfo info[] = {
        {(void *)0x1020, 2, in_b, bcis_b}, {(void *)0x1010, 1, in_a, bci_1},
        {(void *)0x1030, 3, in_c, bcis_c}, {(void *)0x1060, 1, in_a, bci_9},
        {(void *)0x0fff, 1, in_a, bci_1},  {(void *)0x1101, 1, in_a, bci_1},
    };
    jvmtiCompiledMethodLoadInlineRecord record = {
        .header = {.kind = JVMTI_CMLR_INLINE_INFO}, .numpcs = 6, .pcinfo = info};
    jvmtiCompiledMethodLoadRecordHeader dummy = {.kind = JVMTI_CMLR_DUMMY, .next = &record.header};
    load(shelf, &a, 0x1000, 0x1100, &dummy);
    assert_string_equal(scopes_at(shelf, 0x1000), "A@1");
    assert_string_equal(scopes_at(shelf, 0x100f), "A@1");
    assert_string_equal(scopes_at(shelf, 0x1010), "B@5 A@2");
    assert_string_equal(scopes_at(shelf, 0x101f), "B@5 A@2");
    assert_string_equal(scopes_at(shelf, 0x1020), "C@0 B@7 A@2");
    assert_string_equal(scopes_at(shelf, 0x1030), "A@9");
    assert_string_equal(scopes_at(shelf, 0x105f), "A@9");
    assert_string_equal(scopes_at(shelf, 0x1060), ""); /* nothing is said of what comes behind */
    assert_string_equal(name_at(shelf, 0x10ff, now(shelf)), "A");
    assert_string_equal(name_at(shelf, 0x1100, now(shelf)), "none");
    assert_string_equal(name_at(shelf, 0x0fff, now(shelf)), "none");
}

static void without_a_name_there_is_no_scope(void **state)
{
    (void)state;
    struct shelf *shelf = make();
    jmethodID of_gone[] = {id_of(&gone), id_of(&a)}, in_a[] = {id_of(&a)};
    jint bcis[] = {5, 2};
    PCStackInfo info[] = {{(void *)0x1010, 2, of_gone, bcis}, {(void *)0x1020, 1, in_a, bcis}};
    jvmtiCompiledMethodLoadInlineRecord record = {
        .header = {.kind = JVMTI_CMLR_INLINE_INFO}, .numpcs = 2, .pcinfo = info};
    load(shelf, &a, 0x1000, 0x1100, &record);
    assert_string_equal(scopes_at(shelf, 0x1000), "A@5");
    load(shelf, &b, 0x2000, 0x2100, NULL);
    assert_string_equal(scopes_at(shelf, 0x2000), "");
    assert_string_equal(name_at(shelf, 0x2000, now(shelf)), "B");
}

static void code_that_is_unloaded(void **state)
{
    (void)state;
    struct shelf *shelf = make();
    uint64_t before = now(shelf);
    load(shelf, &a, 0x1000, 0x1100, NULL);
    load(shelf, &b, 0x1100, 0x1200, NULL);
    uint64_t there = now(shelf);
    compiled_code__unloaded(&shelf->code, (const void *)0x1000);
    compiled_code__unloaded(&shelf->code, (const void *)0x1050); /* nobody's */
    uint64_t after = now(shelf) + 1;
    assert_string_equal(name_at(shelf, 0x1010, there), "A");
    assert_string_equal(name_at(shelf, 0x1010, after), "none");
    assert_string_equal(name_at(shelf, 0x1110, after), "B");
    /* What is there was there before its event came. */
    assert_string_equal(name_at(shelf, 0x1110, before), "B");
    compiled_code__forget(&shelf->code, there);
    assert_string_equal(name_at(shelf, 0x1010, there), "A");
    compiled_code__forget(&shelf->code, after);
    assert_string_equal(name_at(shelf, 0x1010, there), "none");
    assert_int_equal(shelf->code.gone_count, 0);
}

/* The event of unloading may be missing: code where other code was is enough. */
static void code_that_is_overwritten(void **state)
{
    (void)state;
    struct shelf *shelf = make();
    load(shelf, &a, 0x1000, 0x1100, NULL);
    load(shelf, &c, 0x1100, 0x1200, NULL);
    load(shelf, &c, 0x3000, 0x3100, NULL);
    uint64_t there = now(shelf);
    load(shelf, &b, 0x1080, 0x1180, NULL);
    uint64_t after = now(shelf) + 1;
    assert_string_equal(name_at(shelf, 0x1090, there), "A");
    assert_string_equal(name_at(shelf, 0x1110, there), "C");
    assert_string_equal(name_at(shelf, 0x1090, after), "B");
    assert_string_equal(name_at(shelf, 0x1110, after), "B");
    assert_string_equal(name_at(shelf, 0x1010, after), "none");
    assert_string_equal(name_at(shelf, 0x1190, after), "none");
    assert_string_equal(name_at(shelf, 0x3000, after), "C");
    assert_int_equal(shelf->code.count, 2);
    assert_int_equal(shelf->code.gone_count, 2);
}

static void many_in_any_order(void **state)
{
    (void)state;
    struct shelf *shelf = make();
    for (uintptr_t i = 0; i < 3000; i++) {
        uintptr_t begin = (i * 1777 % 3000 + 1) * 0x100;
        load(shelf, i % 2 ? &a : &b, begin, begin + 0xf0, NULL);
    }
    assert_int_equal(shelf->code.count, 3000);
    for (uintptr_t i = 0; i < 3000; i++) {
        uintptr_t begin = (i * 1777 % 3000 + 1) * 0x100;
        assert_string_equal(name_at(shelf, begin + 0xef, now(shelf)), i % 2 ? "A" : "B");
        assert_string_equal(name_at(shelf, begin + 0xf0, now(shelf)), "none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scopes_of_inlined_methods),
        cmocka_unit_test(without_a_name_there_is_no_scope),
        cmocka_unit_test(code_that_is_unloaded),
        cmocka_unit_test(code_that_is_overwritten),
        cmocka_unit_test(many_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
