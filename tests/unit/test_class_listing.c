/* What the ledger keeps of the classes that were looked at. */
#include "agent/hooks/class_listing.h"

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

struct bench {
    struct ledger ledger;
    struct method_numbers numbers;
};

static struct class_text text_of(const char *text)
{
    return (struct class_text){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static void begin(struct bench *bench)
{
    memset(bench, 0, sizeof(*bench));
    assert_int_equal(ledger__create(&bench->ledger, NULL, 1u << 20), 0);
    bench->ledger.header->filters = 3;
    method_numbers__init(&bench->numbers, 1u << 20);
}

static void end(struct bench *bench)
{
    ledger__close(&bench->ledger);
}

static struct numbered_class *class_of(struct bench *bench, const char *name)
{
    struct numbered_class *class = method_numbers__class(&bench->numbers, text_of(name));
    assert_non_null(class);
    return class;
}

static const struct ledger_class *record_of(struct bench *bench, struct numbered_class *class)
{
    assert_int_not_equal(*numbered_class__listing(class), 0);
    return ledger__at(&bench->ledger, *numbered_class__listing(class));
}

static void check_string(struct bench *bench, ledger_ref ref, const char *bytes, size_t length)
{
    const struct ledger_string *string = ledger__at(&bench->ledger, ref);
    assert_int_equal(string->length, length);
    assert_memory_equal(string->bytes, bytes, length);
}

static void a_class_has_one_record(void **state)
{
    static const char first[] = "\1run\0()V\0\7get\0()I";
    static struct bench bench; /* the numbers live as long as the process */
    struct class_listing one = {0}, other = {0};
    const struct class_listing none = {0};
    (void)state;
    begin(&bench);
    struct numbered_class *class = class_of(&bench, "app/Main$A");
    class_listing__add(&one, CHOICE_HOOKED, text_of("run"), text_of("()V"));
    class_listing__add(&one, CHOICE_TRIVIAL, text_of("get"), text_of("()I"));
    class_listing__write(&one, &bench.ledger, class, 0);
    const struct ledger_class *record = record_of(&bench, class);
    check_string(&bench, record->name, "app.Main$A", 10);
    check_string(&bench, record->methods, first, sizeof(first));
    assert_int_equal(record->filter, 3);
    assert_int_equal(record->unhooked, 0);
    assert_int_equal(record->is_cut, 0);

    /* The JVM refuses the class: what is known of its methods stays. */
    class_listing__write(&none, &bench.ledger, class, 1 + UNHOOKED_REFUSED);
    check_string(&bench, record->methods, first, sizeof(first));
    assert_int_equal(record->unhooked, 1 + UNHOOKED_REFUSED);

    /* Another filter. */
    bench.ledger.header->filters = 4;
    class_listing__add(&other, CHOICE_EXCLUDED, text_of("run"), text_of("()V"));
    class_listing__write(&other, &bench.ledger, class, 0);
    assert_ptr_equal(record_of(&bench, class), record);
    check_string(&bench, record->methods, "\5run\0()V", 9);
    assert_int_equal(record->filter, 4);
    assert_int_equal(bench.ledger.header->unlisted_classes, 0);
    class_listing__release(&one);
    class_listing__release(&other);
    end(&bench);
}

/* A sixteenth of 1 MiB is 64 KiB: of classes of 1,061 + 64 bytes each 58 find room. */
static void what_finds_no_room_is_counted(void **state)
{
    static struct bench bench; /* the numbers live as long as the process */
    char name[1056];
    (void)state;
    begin(&bench);
    for (int i = 0; i < 100; i++) {
        struct class_listing listing = {0};
        char class[16];
        snprintf(class, sizeof(class), "C%d", i);
        snprintf(name, sizeof(name), "%01055d", i);
        class_listing__add(&listing, CHOICE_HOOKED, text_of(name), text_of("()V"));
        class_listing__write(&listing, &bench.ledger, class_of(&bench, class), 0);
        class_listing__release(&listing);
    }
    /* 1 + 1,055 + 1 + 3 + 1 and the record's 64 */
    assert_int_equal(bench.ledger.header->unlisted_classes, 100 - (1u << 16) / 1125);
    assert_in_range(bench.ledger.header->listed_bytes, 0, 1u << 16);
    assert_int_equal(*numbered_class__listing(class_of(&bench, "C99")), 0);
    end(&bench);
}

static void a_listing_is_as_long_as_a_string(void **state)
{
    struct class_listing listing = {0};
    char name[32];
    (void)state;
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof(name), "method%04d", i);
        class_listing__add(&listing, CHOICE_HOOKED, text_of(name), text_of("()V"));
    }
    /* 16 bytes a method */
    assert_true(listing.is_cut);
    assert_int_equal(listing.length, LEDGER_STRING_MAX / 16 * 16);
    class_listing__release(&listing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_has_one_record),
        cmocka_unit_test(what_finds_no_room_is_counted),
        cmocka_unit_test(a_listing_is_as_long_as_a_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
