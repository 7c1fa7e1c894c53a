/* The table of logical frames: the same texts have the same number, and what finds no room is
 * (other). */
#include "native/activity/logical_frames.h"

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

static struct logical_frames *make_table(void)
{
    struct logical_frames *frames = calloc(1, sizeof(*frames));

    assert_non_null(frames);
    return frames;
}

static void delete_table(struct logical_frames *frames)
{
    logical_frames__release(frames);
    free(frames);
}

static void same_texts_have_the_same_number(void **state)
{
    (void)state;
    struct logical_frames *frames = make_table();
    int32_t sort = logical_frames__number(frames, "sort", "", 0);
    int32_t with = logical_frames__number(frames, "sort", "x", 0);

    assert_true(sort >= 0 && with >= 0 && sort != with);
    assert_int_equal(logical_frames__number(frames, "sort", "", 0), sort);
    assert_int_equal(logical_frames__number(frames, "sort", "x", 0), with);
    /* No text runs into the next one. */
    assert_int_not_equal(logical_frames__number(frames, "sor", "tx", 0), with);
    assert_true(logical_frames__has(frames, sort));
    assert_false(logical_frames__has(frames, sort | LOGICAL_OTHER_PARAMETER));
    assert_false(logical_frames__has(frames, -1));
    assert_false(logical_frames__has(frames, INT32_MAX));
    assert_int_equal(logical_frame__number(logical_frame__key(with)), with);
    /* "sort", "sort" and "x", "sor" and "tx", with their ends and what stands before them */
    assert_true(logical_frames__bytes(frames) > sizeof(*frames) + 5 + 1 + 5 + 2 + 4 + 3);
    size_t bytes = logical_frames__bytes(frames);
    assert_int_equal(logical_frames__number(frames, "sort", "", 0), sort);
    assert_int_equal(logical_frames__bytes(frames), bytes);
    delete_table(frames);
}

static void what_finds_no_room_is_other(void **state)
{
    (void)state;
    struct logical_frames *frames = make_table();
    int32_t other, last = 0;
    char text[32];

    for (unsigned i = 0; i < LOGICAL_PARAMETERS_MAX; i++) {
        snprintf(text, sizeof(text), "%u", i);
        last = logical_frames__number(frames, "scan", text, 0);
        assert_false(last & (LOGICAL_OTHER_PARAMETER | LOGICAL_OTHER_IDENTIFIER));
    }
    other = logical_frames__number(frames, "scan", "one more", 0);
    assert_true(other & LOGICAL_OTHER_PARAMETER);
    assert_int_equal(logical_frames__number(frames, "scan", "and one", 0), other);
    assert_int_equal(logical_frames__number(frames, "scan", text, 0), last);
    for (unsigned i = 0; i < LOGICAL_FRAMES_MAX; i++) {
        snprintf(text, sizeof(text), "identifier %u", i);
        last = logical_frames__number(frames, text, "", 0);
    }
    assert_true(last & LOGICAL_OTHER_IDENTIFIER);
    assert_int_equal(logical_frames__number(frames, "unheard of", "with", 0), last);
    assert_int_equal(frames->count, LOGICAL_FRAMES_MAX);
    delete_table(frames);
}

static void records_say_what_was_pushed(void **state)
{
    (void)state;
    struct logical_frames *frames = make_table();
    struct ledger ledger;
    const struct ledger_method *method;
    const struct ledger_string *text;
    ledger_ref ref;

    assert_int_equal(ledger__create(&ledger, NULL, 1u << 20), 0);
    ref = logical_frames__resolve(
        frames, &ledger, logical_frame__key(logical_frames__number(frames, "scan", "ORDERS", 0)));
    assert_int_not_equal(ref, 0);
    method = ledger__at(&ledger, ref);
    assert_int_equal(method->flags, METHOD_LOGICAL);
    text = ledger__at(&ledger, method->name);
    assert_memory_equal(ledger_string__bytes(text), "scan", 4);
    text = ledger__at(&ledger, method->signature);
    assert_memory_equal(ledger_string__bytes(text), "ORDERS", 6);
    assert_int_equal(logical_frames__resolve(frames, &ledger, LEDGER_LOGICAL_KEYS | 8191), 0);
    ledger__close(&ledger);
    delete_table(frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_texts_have_the_same_number),
        cmocka_unit_test(what_finds_no_room_is_other),
        cmocka_unit_test(records_say_what_was_pushed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
