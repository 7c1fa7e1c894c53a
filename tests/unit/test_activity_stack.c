/* Logical stacks as a reader outside sees them: pushes and pops of all kinds, and what functions
 * leave open. */
#include "native/activity/segment_reader.h"
#include "native/activity/treadle.h"

#include <stdio.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "logical_stack.h"
/* clang-format on */

static void frames_are_seen_with_their_parameters(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();

    treadle_push("query");
    treadle_push_with("scan", "ORDERS");
    treadle_push_number("batch", -42);
    assert_string_equal(stack_text(reader), "query/scan ORDERS/batch -42");
    treadle_pop();
    assert_string_equal(stack_text(reader), "query/scan ORDERS");
    treadle_pop();
    treadle_push_with("scan", NULL);
    assert_string_equal(stack_text(reader), "query/scan");
    treadle_pop();
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

static void a_scope_ends_with_its_block(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();

    {
        treadle_scope("outer");
        {
            treadle_scope_with("scan", "ITEMS");
            treadle_scope_number("row", 7);
            treadle_push("left open");
            assert_string_equal(stack_text(reader), "outer/scan ITEMS/row 7/left open");
        }
        assert_string_equal(stack_text(reader), "outer");
    }
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

static void a_long_parameter_is_cut_and_counted(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t before = segment_reader__losses(reader).cut_parameters;
    const char *volatile long_text = "0123456789012345678901234567890123456789";
    const char *volatile fits = "01234567890123456789012345678901";

    treadle_push_with("scan", long_text);
    assert_string_equal(stack_text(reader), "scan 01234567890123456789012345678901");
    treadle_pop();
    treadle_push_with("scan", fits);
    assert_string_equal(stack_text(reader), "scan 01234567890123456789012345678901");
    treadle_pop();
    assert_int_equal(segment_reader__losses(reader).cut_parameters - before, 1);
    unwatched(reader);
}

/* Those that cannot be told apart are one, which is said. */
static void a_long_identifier_is_cut_and_counted(void **state)
{
    (void)state;
    static const char fits[] = "012345678901234567890123456789012345678901234567890123456789";
    static const char one[] = "012345678901234567890123456789012345678901234567890123456789 one";
    static const char two[] = "012345678901234567890123456789012345678901234567890123456789 two";
    struct segment_reader *reader = watched();
    uint64_t before = segment_reader__losses(reader).cut_identifiers;

    for (unsigned i = 0; i < 3; i++) {
        const char *const texts[] = {fits, one, two};

        treadle_push(texts[i]);
        assert_string_equal(stack_text(reader), fits);
        treadle_pop();
    }
    assert_int_equal(segment_reader__losses(reader).cut_identifiers - before, 2);
    unwatched(reader);
}

/* A character of two to four bytes that the cut went through is gone; one that fits is not. */
static void a_text_is_cut_between_characters(void **state)
{
    (void)state;
#define TWENTY_EIGHT "0123456789012345678901234567"
    static const char *const texts[][2] = {
        {TWENTY_EIGHT "890\xc3\xa9", TWENTY_EIGHT "890"},
        {TWENTY_EIGHT "89\xe2\x82\xac", TWENTY_EIGHT "89"},
        {TWENTY_EIGHT "890\xe2\x82\xac", TWENTY_EIGHT "890"},
        {TWENTY_EIGHT "8\xf0\x9d\x84\x9e", TWENTY_EIGHT "8"},
        {TWENTY_EIGHT "\xf0\x9d\x84\x9e", TWENTY_EIGHT "\xf0\x9d\x84\x9e"},
        {TWENTY_EIGHT "89\xc3\xa9", TWENTY_EIGHT "89\xc3\xa9"},
        {TWENTY_EIGHT "8\xe2\x82\xac", TWENTY_EIGHT "8\xe2\x82\xac"},
    };
    static char identifiers[sizeof(texts) / sizeof(texts[0])][80];
    struct segment_reader *reader = watched();

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char expected[128];

        snprintf(identifiers[i], sizeof(identifiers[i]), TWENTY_EIGHT "%s", texts[i][0]);
        snprintf(expected, sizeof(expected), TWENTY_EIGHT "%s %s", texts[i][1], texts[i][1]);
        treadle_push_with(identifiers[i], texts[i][0]);
        assert_string_equal(stack_text(reader), expected);
        treadle_pop();
    }
    unwatched(reader);
#undef TWENTY_EIGHT
}

/* Each time, and what was looked up after it, too. */
static void an_empty_identifier_is_other_and_counted(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t before = segment_reader__losses(reader).lost_identifiers;

    for (unsigned i = 0; i < 3; i++) {
        treadle_push("");
        assert_string_equal(stack_text(reader), "(other)");
        treadle_push("named");
        assert_string_equal(stack_text(reader), "(other)/named");
        treadle_pop();
        treadle_pop();
    }
    assert_int_equal(segment_reader__losses(reader).lost_identifiers - before, 3);
    unwatched(reader);
}

static void what_is_deeper_than_the_stack_is_counted(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t before = segment_reader__losses(reader).lost_frames;

    for (unsigned i = 0; i < TREADLE_FRAMES + 3; i++)
        treadle_push("deep");
    assert_int_equal(segment_reader__losses(reader).lost_frames - before, 3);
    for (unsigned i = 0; i < 3; i++)
        treadle_pop();
    assert_string_equal(stack_text(reader), "deep/deep/deep/deep/deep/deep/deep/deep/deep/deep");
    for (unsigned i = 0; i < TREADLE_FRAMES - 1; i++)
        treadle_pop();
    assert_string_equal(stack_text(reader), "deep");
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

/* What is open when a reader comes is not known, and does no harm. */
static void frames_from_before_a_watch_are_unknown(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    treadle_mark mark;

    unwatched(reader);
    mark = treadle_push("unknown");
    treadle_push("unknown, too");
    reader = watched();
    treadle_push("known");
    assert_string_equal(stack_text(reader), "known");
    treadle_pop();
    treadle_pop();
    treadle_push("next");
    assert_string_equal(stack_text(reader), "next");
    treadle_pop_to(mark);
    assert_string_equal(stack_text(reader), "");
    treadle_push("of this watch");
    unwatched(reader);
    treadle_pop();
    reader = watched();
    treadle_push("of the next");
    assert_string_equal(stack_text(reader), "of the next");
    treadle_pop();
    unwatched(reader);
}

__attribute__((noinline)) static void leave_open(unsigned frames)
{
    for (unsigned i = 0; i < frames; i++)
        treadle_push("left open");
    __asm__ volatile("" ::: "memory");
}

static void what_a_function_left_open_ends_with_the_next_of_its_caller(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();

    treadle_push("caller");
    leave_open(2);
    assert_string_equal(stack_text(reader), "caller/left open/left open");
    treadle_push("next");
    assert_string_equal(stack_text(reader), "caller/next");
    treadle_pop();
    leave_open(3);
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    treadle_push("caller");
    leave_open(TREADLE_FRAMES + 5);
    treadle_push("next");
    assert_string_equal(stack_text(reader), "caller/next");
    treadle_pop();
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

static jmp_buf point;

__attribute__((noinline)) static void jump_out(void)
{
    treadle_push("innermost");
    longjmp(point, 1);
}

__attribute__((noinline)) static void jump_out_twice(void)
{
    treadle_push("inner");
    jump_out();
}

static void longjmp_leaves_what_an_outer_frame_ends(void **state)
{
    (void)state;
    struct segment_reader *volatile reader = watched();
    volatile treadle_mark mark;

    mark = treadle_push("outer");
    if (setjmp(point) == 0)
        jump_out_twice();
    assert_string_equal(stack_text(reader), "outer/inner/innermost");
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    treadle_push("outer");
    if (setjmp(point) == 0)
        jump_out_twice();
    treadle_push("next");
    assert_string_equal(stack_text(reader), "outer/next");
    treadle_pop_to(mark);
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_seen_with_their_parameters),
        cmocka_unit_test(a_scope_ends_with_its_block),
        cmocka_unit_test(a_long_parameter_is_cut_and_counted),
        cmocka_unit_test(a_long_identifier_is_cut_and_counted),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(an_empty_identifier_is_other_and_counted),
        cmocka_unit_test(what_is_deeper_than_the_stack_is_counted),
        cmocka_unit_test(frames_from_before_a_watch_are_unknown),
        cmocka_unit_test(what_a_function_left_open_ends_with_the_next_of_its_caller),
        cmocka_unit_test(longjmp_leaves_what_an_outer_frame_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
