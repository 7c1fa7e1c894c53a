/* Stacks of functions and logical frames, with the words of a C stack that the test lays out
 * itself: what is over when something enters or exits is worked out from the frames' places. */
#include "native/preload/function_stack.h"

#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define WORDS 64u

/* A C stack that grows down; a function's frame ends above its return address. */
struct fake_stack {
    uint64_t words[WORDS];
    struct function_stack stack;
};

static uint64_t address(const struct fake_stack *fake, unsigned word)
{
    return (uint64_t)(uintptr_t)&fake->words[word];
}

static void begin(struct fake_stack *fake)
{
    memset(fake, 0, sizeof(*fake));
    function_stack__init(&fake->stack);
    assert_non_null(fake->stack.frames);
    fake->stack.low = address(fake, 0);
    fake->stack.high = address(fake, WORDS - 1);
}

/* A function whose frame ends at that word, called from `site`. */
static struct open_function function(struct fake_stack *fake, unsigned end, uint64_t site,
                                     uint64_t key)
{
    fake->words[end - 1] = site;
    return (struct open_function){
        .end = address(fake, end), .site = site, .place = site + key, .key = key};
}

static struct open_function logical(const struct fake_stack *fake, unsigned place, uint64_t mark)
{
    return (struct open_function){
        .end = address(fake, place), .mark = mark, .key = LEDGER_LOGICAL_KEYS | mark};
}

static void enter(struct fake_stack *fake, struct open_function frame)
{
    fake->stack.depth = function_stack__alive(&fake->stack, &frame);
    function_stack__add(&fake->stack, &frame);
}

static void calls_nest(void **state)
{
    struct fake_stack fake;
    struct open_function inner;
    bool found;

    (void)state;
    begin(&fake);
    enter(&fake, function(&fake, 60, 0x1000, 1));
    enter(&fake, function(&fake, 50, 0x2000, 2));
    enter(&fake, function(&fake, 40, 0x3000, 3));
    assert_int_equal(fake.stack.depth, 3);
    inner = fake.stack.frames[2];
    assert_int_equal(function_stack__leaving(&fake.stack, &inner, &found), 2);
    assert_true(found);
    function_stack__release(&fake.stack);
}

/* longjmp left two frames: a function enters, from the same place in the code as the youngest one,
 * whose frame ends above theirs. */
static void frames_below_an_entering_one_are_over(void **state)
{
    struct fake_stack fake;

    (void)state;
    begin(&fake);
    enter(&fake, function(&fake, 60, 0x1000, 1));
    enter(&fake, function(&fake, 50, 0x2000, 2));
    enter(&fake, function(&fake, 40, 0x3000, 3));
    enter(&fake, function(&fake, 55, 0x3000, 4));
    assert_int_equal(fake.stack.depth, 2);
    assert_int_equal(fake.stack.frames[1].key, 4);
    function_stack__release(&fake.stack);
}

/* A deeper function enters, where the return address of one that was left is no longer. */
static void a_frame_whose_return_address_is_gone_is_over(void **state)
{
    struct fake_stack fake;

    (void)state;
    begin(&fake);
    enter(&fake, function(&fake, 60, 0x1000, 1));
    enter(&fake, function(&fake, 50, 0x2000, 2));
    fake.words[49] = 0x2abc;
    enter(&fake, function(&fake, 30, 0x5000, 5));
    assert_int_equal(fake.stack.depth, 2);
    assert_int_equal(fake.stack.frames[1].key, 5);
    function_stack__release(&fake.stack);
}

/* The same call at the same place: the first one was left. Another place: an inlined function. */
static void one_call_is_once_on_the_stack(void **state)
{
    struct fake_stack fake;
    struct open_function again;

    (void)state;
    begin(&fake);
    enter(&fake, function(&fake, 60, 0x1000, 1));
    again = function(&fake, 50, 0x2000, 2);
    enter(&fake, again);
    enter(&fake, again);
    assert_int_equal(fake.stack.depth, 2);
    again.place++;
    enter(&fake, again);
    assert_int_equal(fake.stack.depth, 3);
    function_stack__release(&fake.stack);
}

/* Logical frames end with those that are pushed or popped further out, and not before. */
static void logical_frames_are_over_when_one_further_out_comes(void **state)
{
    struct fake_stack fake;
    struct open_function outer;

    (void)state;
    begin(&fake);
    enter(&fake, logical(&fake, 60, 1));
    enter(&fake, logical(&fake, 50, 2));
    enter(&fake, logical(&fake, 40, 3));
    assert_int_equal(fake.stack.depth, 3);
    outer = logical(&fake, 50, 4);
    assert_int_equal(function_stack__alive(&fake.stack, &outer), 2);
    outer = logical(&fake, 60, 4);
    assert_int_equal(function_stack__alive(&fake.stack, &outer), 1);
    outer = logical(&fake, 62, 4);
    assert_int_equal(function_stack__alive(&fake.stack, &outer), 0);
    outer.end = 0; /* its place is not known */
    assert_int_equal(function_stack__alive(&fake.stack, &outer), 3);
    function_stack__release(&fake.stack);
}

static void logical_frames_are_found_among_functions(void **state)
{
    struct fake_stack fake;
    struct open_function leaving;
    bool found;

    (void)state;
    begin(&fake);
    enter(&fake, function(&fake, 60, 0x1000, 1));
    assert_int_equal(function_stack__logical(&fake.stack, 1), 0);
    enter(&fake, logical(&fake, 52, 7));
    enter(&fake, function(&fake, 50, 0x2000, 2));
    enter(&fake, function(&fake, 40, 0x3000, 3));
    enter(&fake, logical(&fake, 32, 9));
    assert_int_equal(function_stack__logical(&fake.stack, 5), 5);
    assert_int_equal(function_stack__logical(&fake.stack, 4), 2);
    assert_int_equal(function_stack__marked(&fake.stack, 7), 2);
    assert_int_equal(function_stack__marked(&fake.stack, 8), 0);
    assert_int_equal(function_stack__marked(&fake.stack, 9), 5);
    /* The function around it exits: what it pushed is behind it. */
    leaving = fake.stack.frames[3];
    assert_int_equal(function_stack__leaving(&fake.stack, &leaving, &found), 3);
    assert_true(found);
    /* A function of which nothing was heard exits: what lies further in is over. */
    leaving = (struct open_function){.end = address(&fake, 51), .site = 0x9000, .key = 9};
    assert_int_equal(function_stack__leaving(&fake.stack, &leaving, &found), 2);
    assert_false(found);
    function_stack__release(&fake.stack);
}

/* What a sample asks: a hook that it interrupted may have moved in the tree, and not here yet. */
static void the_current_frame_has_a_place(void **state)
{
    struct fake_stack fake;
    bool found;

    (void)state;
    begin(&fake);
    assert_int_equal(function_stack__place_of(&fake.stack, LEDGER_LOGICAL_KEYS | 7, &found), 0);
    assert_false(found);
    enter(&fake, logical(&fake, 60, 7));
    enter(&fake, logical(&fake, 50, 8));
    enter(&fake, function(&fake, 40, 0x1000, 1));
    /* Being popped: the tree is in the one below. */
    assert_int_equal(function_stack__place_of(&fake.stack, LEDGER_LOGICAL_KEYS | 8, &found),
                     address(&fake, 50));
    assert_true(found);
    /* Neither being pushed, nor a function, nor deeper. */
    assert_int_equal(function_stack__place_of(&fake.stack, LEDGER_LOGICAL_KEYS | 9, &found), 0);
    assert_false(found);
    assert_int_equal(function_stack__place_of(&fake.stack, 1, &found), 0);
    assert_false(found);
    assert_int_equal(function_stack__place_of(&fake.stack, LEDGER_LOGICAL_KEYS | 7, &found), 0);
    assert_false(found);
    /* On no stack, or one that is not the thread's own. */
    enter(&fake, (struct open_function){.end = 0, .mark = 3, .key = LEDGER_LOGICAL_KEYS | 3});
    assert_int_equal(function_stack__place_of(&fake.stack, LEDGER_LOGICAL_KEYS | 3, &found), 0);
    assert_true(found);
    function_stack__release(&fake.stack);
}

/* On another stack addresses say nothing. */
static void frames_on_other_stacks_stay(void **state)
{
    struct fake_stack fake, other;
    struct open_function elsewhere;

    (void)state;
    begin(&fake);
    begin(&other);
    enter(&fake, function(&fake, 60, 0x1000, 1));
    enter(&fake, function(&fake, 20, 0x2000, 2));
    elsewhere = function(&other, 62, 0x3000, 3);
    enter(&fake, elsewhere);
    assert_int_equal(fake.stack.depth, 3);
    function_stack__release(&fake.stack);
    function_stack__release(&other.stack);
}

/* A handler on another stack jumps out of itself: what it pushed ends with what happens on the
 * thread's own stack. */
static void logical_frames_of_another_stack_end_with_an_event_on_the_own(void **state)
{
    struct fake_stack fake, other;
    struct open_function elsewhere = {
        .end = FUNCTION_STACK_ELSEWHERE, .mark = 5, .key = LEDGER_LOGICAL_KEYS | 5};
    struct open_function unknown = {.end = 0, .mark = 6, .key = LEDGER_LOGICAL_KEYS | 6}, own;
    bool found;

    (void)state;
    begin(&fake);
    begin(&other);
    own = logical(&fake, 40, 9);
    enter(&fake, logical(&fake, 60, 1));
    enter(&fake, logical(&fake, 50, 2));
    enter(&fake, elsewhere);
    enter(&fake, elsewhere);
    assert_int_equal(fake.stack.depth, 4);
    assert_int_equal(function_stack__place_of(&fake.stack, elsewhere.key, &found), 0);
    assert_true(found);
    assert_int_equal(function_stack__alive(&fake.stack, &own), 2);
    own.end = address(&fake, 55);
    assert_int_equal(function_stack__alive(&fake.stack, &own), 1);
    /* A frame that does not know its place stays, and so does what is below. */
    fake.stack.depth = 2;
    enter(&fake, unknown);
    enter(&fake, elsewhere);
    assert_int_equal(function_stack__alive(&fake.stack, &own), 3);
    /* A function of the other stack around it is not over, for all that is known. */
    fake.stack.depth = 2;
    enter(&fake, function(&other, 62, 0x3000, 3));
    enter(&fake, elsewhere);
    assert_int_equal(function_stack__alive(&fake.stack, &own), 4);
    function_stack__release(&fake.stack);
    function_stack__release(&other.stack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_nest),
        cmocka_unit_test(frames_below_an_entering_one_are_over),
        cmocka_unit_test(a_frame_whose_return_address_is_gone_is_over),
        cmocka_unit_test(one_call_is_once_on_the_stack),
        cmocka_unit_test(logical_frames_are_over_when_one_further_out_comes),
        cmocka_unit_test(logical_frames_are_found_among_functions),
        cmocka_unit_test(the_current_frame_has_a_place),
        cmocka_unit_test(frames_on_other_stacks_stay),
        cmocka_unit_test(logical_frames_of_another_stack_end_with_an_event_on_the_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
