/* Names in a ledger: strings, methods and threads' renames. */
#include "ledger_racers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_string(struct ledger *ledger, const char *bytes, size_t length)
{
    ledger_ref ref = ledger__string(ledger, bytes, length);
    assert_int_not_equal(ref, 0);
    const struct ledger_string *string = ledger__at(ledger, ref);
    assert_int_equal(string->length, length);
    assert_memory_equal((const char *)string + offsetof(struct ledger_string, bytes), bytes,
                        length);
    assert_int_equal(ledger__string(ledger, bytes, length), ref);
}

static void equal_strings_are_one(void **state)
{
    (void)state;
    /* Around the ends of cells and chunks, where 12 bytes of the first cell are the head. */
    static const size_t lengths[] = {0,    1,    51,   52,   53,    115,  116,  117,
                                     4018, 4019, 4020, 4021, 4022,  8000, 8116, 8117,
                                     4083, 4084, 4085, 4096, 40000, 65535};
    struct ledger ledger;
    char *bytes = malloc(LEDGER_STRING_MAX + 2);
    assert_non_null(bytes);
    for (size_t i = 0; i < LEDGER_STRING_MAX + 2; i++)
        bytes[i] = (char)('a' + i * 7 % 26);
    create(&ledger, 4 * MIB);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
            check_string(&ledger, bytes, lengths[i]);
    uint32_t used = ledger.header->chunks_used;

    /* Bytes, not text: what differs behind a NUL differs. */
    ledger_ref one = ledger__string(&ledger, "a\0b", 3);
    assert_int_not_equal(ledger__string(&ledger, "a\0c", 3), one);
    assert_int_not_equal(ledger__string(&ledger, "a", 1), one);

    /* Longer than the longest is cut there. */
    ledger_ref longest = ledger__string(&ledger, bytes, LEDGER_STRING_MAX);
    assert_int_equal(ledger__string(&ledger, bytes, LEDGER_STRING_MAX + 1), longest);
    assert_true(ledger.header->chunks_used <= used + 1);
    free(bytes);
    ledger__close(&ledger);
}

#define NAMES 2000

struct name_racer {
    struct ledger *ledger;
    pthread_barrier_t *start;
    ledger_ref refs[NAMES];
};

static void *race_for_names(void *context)
{
    struct name_racer *racer = context;
    for (unsigned i = 0; i < NAMES; i++) {
        char name[64];
        int length = snprintf(name, sizeof name, "pool-1-thread-%u", i);
        (void)pthread_barrier_wait(racer->start);
        racer->refs[i] = ledger__string(racer->ledger, name, (size_t)length);
    }
    return NULL;
}

/* Two threads of one name start together: whichever record each got, the name that one has when it
 * ends is the name it began with, not a rename. */
static void racing_equal_names_are_no_renames(void **state)
{
    (void)state;
    static struct name_racer racers[RACERS];
    pthread_barrier_t start;
    struct ledger ledger;
    unsigned renames = 0;
    unsigned doubles = 0;
    create(&ledger, 4 * MIB);
    assert_int_equal(pthread_barrier_init(&start, NULL, RACERS), 0);
    for (int i = 0; i < RACERS; i++) {
        racers[i].ledger = &ledger;
        racers[i].start = &start;
    }
    race(race_for_names, racers, sizeof racers[0]);
    for (unsigned i = 0; i < NAMES; i++) {
        char name[64];
        int length = snprintf(name, sizeof name, "pool-1-thread-%u", i);
        for (int j = 0; j < RACERS; j++) {
            const struct ledger_string *string = ledger__at(&ledger, racers[j].refs[i]);
            struct ledger_thread thread = {.name = racers[j].refs[i]};
            assert_int_equal(string->length, length);
            assert_memory_equal(string->bytes, name, (size_t)length);
            doubles += racers[j].refs[i] != racers[0].refs[i];
            ledger__rename_thread(&ledger, &thread, name, (size_t)length, 1);
            renames += thread.rename_count;
        }
    }
    if (doubles > 0)
        print_message("%u of %d refs were doubles\n", doubles, NAMES * RACERS);
    assert_int_equal(renames, 0);
    (void)pthread_barrier_destroy(&start);
    ledger__close(&ledger);
}

#define METHODS 2000

struct method_racer {
    struct ledger *ledger;
    pthread_barrier_t *start;
    ledger_ref refs[METHODS];
};

static void *race_for_methods(void *context)
{
    static const struct ledger_method_names names = {"pkg.Class", "method", "()V", "Class.java"};
    struct method_racer *racer = context;
    for (uint64_t i = 0; i < METHODS; i++) {
        if (i % 16 == 0)
            (void)pthread_barrier_wait(racer->start);
        racer->refs[i] = ledger__add_method(racer->ledger, 0x7f0000001000 + i * 8, &names, 0);
    }
    return NULL;
}

static void one_live_record_a_method(void **state)
{
    (void)state;
    static struct method_racer racers[RACERS];
    static unsigned live[METHODS];
    pthread_barrier_t start;
    struct ledger ledger;
    create(&ledger, 16 * MIB);
    assert_int_equal(pthread_barrier_init(&start, NULL, RACERS), 0);
    for (int i = 0; i < RACERS; i++) {
        racers[i].ledger = &ledger;
        racers[i].start = &start;
    }
    race(race_for_methods, racers, sizeof racers[0]);
    for (uint64_t i = 0; i < METHODS; i++) {
        ledger_ref found = ledger__find_method(&ledger, 0x7f0000001000 + i * 8);
        assert_int_not_equal(found, 0);
        for (int j = 0; j < RACERS; j++)
            assert_int_equal(racers[j].refs[i], found);
    }
    ledger_ref ref = 0;
    while ((ref = ledger__next(&ledger, LEDGER_METHODS, ref)) != 0) {
        const struct ledger_method *method = ledger__at(&ledger, ref);
        if (method->flags & METHOD_DEAD)
            continue;
        uint64_t i = (method->key - 0x7f0000001000) / 8;
        assert_true(i < METHODS);
        assert_int_equal(racers[0].refs[i], ref);
        live[i]++;
    }
    for (unsigned i = 0; i < METHODS; i++)
        assert_int_equal(live[i], 1);
    (void)pthread_barrier_destroy(&start);
    ledger__close(&ledger);
}

static void methods_have_names_and_flags(void **state)
{
    (void)state;
    static const struct ledger_method_names put = {"java.util.HashMap", "put", "(II)V", NULL};
    static const struct ledger_method_names other = {"other", "other", "()V", "Other.java"};
    struct ledger ledger;
    create(&ledger, MIB);
    assert_int_equal(ledger__find_method(&ledger, 7), 0);
    ledger_ref ref = ledger__add_method(&ledger, 7, &put, METHOD_NATIVE | METHOD_EXCLUDED);
    const struct ledger_method *method = ledger__at(&ledger, ref);
    assert_int_equal(method->key, 7);
    assert_int_equal(method->flags, METHOD_NATIVE | METHOD_EXCLUDED);
    assert_int_equal(method->class_name, ledger__string(&ledger, put.class_name, 17));
    assert_int_equal(method->name, ledger__string(&ledger, put.name, 3));
    assert_int_equal(method->signature, ledger__string(&ledger, put.signature, 5));
    assert_int_equal(method->source, 0);
    /* The first one stays. */
    assert_int_equal(ledger__add_method(&ledger, 7, &other, 0), ref);
    assert_int_equal(ledger__find_method(&ledger, 7), ref);
    assert_int_not_equal(ledger__add_method(&ledger, 8, &other, 0), ref);
    ledger__close(&ledger);
}

/*
 *  began as "one"; renames, newest first: three@30, one@25, two@20
 */
static void renames_are_a_history(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t when_ns;
    } expected[] = {{"three", 30}, {"one", 25}, {"two", 20}};
    struct ledger ledger;
    create(&ledger, MIB);
    struct ledger_thread thread = {.name = ledger__string(&ledger, "one", 3)};
    ledger__rename_thread(&ledger, &thread, "one", 3, 10);
    ledger__rename_thread(&ledger, &thread, "two", 3, 20);
    ledger__rename_thread(&ledger, &thread, "two", 3, 21);
    ledger__rename_thread(&ledger, &thread, "one", 3, 25);
    ledger__rename_thread(&ledger, &thread, "three", 5, 30);
    assert_int_equal(thread.rename_count, 3);
    assert_int_equal(thread.name, ledger__string(&ledger, "one", 3));
    ledger_ref ref = thread.renames;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct ledger_rename *rename = ledger__at(&ledger, ref);
        assert_int_not_equal(ref, 0);
        assert_int_equal(rename->name,
                         ledger__string(&ledger, expected[i].name, strlen(expected[i].name)));
        assert_int_equal(rename->when_ns, expected[i].when_ns);
        ref = rename->older;
    }
    assert_int_equal(ref, 0);
    ledger__close(&ledger);
}

/* A pool that names its thread after each request: the count goes on, the ledger does not grow. */
static void renames_are_bounded(void **state)
{
    (void)state;
    struct ledger ledger;
    create(&ledger, 16 * MIB);
    struct ledger_thread thread = {.name = ledger__string(&ledger, "idle", 4)};
    uint32_t used = 0;
    for (unsigned i = 0; i < 20000; i++) {
        char name[64];
        int length = snprintf(name, sizeof name, "worker: GET /orders/%u", i);
        ledger__rename_thread(&ledger, &thread, name, (size_t)length, i);
        if (i == LEDGER_RENAMES_MAX)
            used = ledger.header->chunks_used;
    }
    assert_int_equal(thread.rename_count, 20000);
    unsigned kept = 0;
    for (ledger_ref ref = thread.renames; ref != 0;
         ref = ((const struct ledger_rename *)ledger__at(&ledger, ref))->older)
        kept++;
    assert_int_equal(kept, LEDGER_RENAMES_MAX);
    assert_true(ledger.header->chunks_used <= used + 1);
    ledger__close(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_strings_are_one),
        cmocka_unit_test(racing_equal_names_are_no_renames),
        cmocka_unit_test(one_live_record_a_method),
        cmocka_unit_test(methods_have_names_and_flags),
        cmocka_unit_test(renames_are_a_history),
        cmocka_unit_test(renames_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
