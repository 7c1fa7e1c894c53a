/* Frames that hooks name by tokens: what is drawn beside a program is what must come out. */
#include "token_world.h"

static void check_program(const char *program, const char *drawing)
{
    char text[DRAWING_BYTES];
    struct world world;
    make_world(&world, MIB, 0);
    play_tokens(&world, program);
    assert_string_equal(draw(&world.ledger, world.root, text), drawing);
    assert_int_equal(world.ledger.header->resynchronised, 0);
    ledger__close(&world.ledger);
}

static void calls_nest(void **state)
{
    (void)state;
    check_program("A /0", "root\n  A 1\n");
    check_program("A B /1 B /1 C /1 /0 D", "root\n  A 1\n    B 2\n    C 1\n  D 1\n");
    check_program("A A A /2 /1 A /1 /0 A", "root\n  A 2\n    A 2 rl1\n      A 1 rl2\n");
}

/* A method that catches what nobody missed: nothing changes. */
static void catching_is_no_event_where_none_was_missed(void **state)
{
    (void)state;
    check_program("A B /1 ^0 C", "root\n  A 1\n    B 1\n    C 1\n");
    check_program("A ^0 ^0 B ^1 C", "root\n  A 1\n    B 1\n      C 1\n");
}

static void missed_exits_are_made_good_by_the_next_event(void **state)
{
    (void)state;
    /* B and C were left without a hook, A leaves. */
    check_program("A B C /0 D", "root\n  A 1\n    B 1\n      C 1\n  D 1\n");
    /* The same, and A catches. */
    check_program("A B C ^0 D", "root\n  A 1\n    B 1\n      C 1\n    D 1\n");
    /* Recursion: only the token says which frame it is. */
    check_program("A A A A ^1 B /2 /1 C",
                  "root\n  A 1\n    A 1 rl1\n      A 1 rl2\n        A 1 rl3\n      B 1\n    C 1\n");
    /* One exit missed, of one frame. */
    check_program("A B ^0 /0 C", "root\n  A 1\n    B 1\n  C 1\n");
}

/* A's logical frames end by pops of their own, however A catches; those of the frames above do not.
 */
static void catching_keeps_logical_frames(void **state)
{
    (void)state;
    check_program("A ~L B ^0 =2 C /2 /1 D",
                  "root\n  A 1\n    L 1\n      B 1\n      C 1\n    D 1\n");
    check_program("A ~L ~M ^0 =3 C /3 /2 D /2 /1 E",
                  "root\n  A 1\n    L 1\n      M 1\n        C 1\n      D 1\n    E 1\n");
    /* N is B's. */
    check_program("A ~L B ~N ^0 =2 C", "root\n  A 1\n    L 1\n      B 1\n        N 1\n      C 1\n");
    check_program("A B ~N ^0 C", "root\n  A 1\n    B 1\n      N 1\n    C 1\n");
    /* Forgotten: it ends with A. */
    check_program("A ~L B ^0 =2 /0 C", "root\n  A 1\n    L 1\n      B 1\n  C 1\n");
}

/* A return whose hook threw after it had left: the handler leaves once more. */
static void leaving_twice_is_leaving_once(void **state)
{
    (void)state;
    check_program("A B /1 /1 C", "root\n  A 1\n    B 1\n    C 1\n");
    check_program("A /0 /0 /0 B", "root\n  A 1\n  B 1\n");
}

static void tokens_of_another_epoch_do_not_count(void **state)
{
    (void)state;
    char text[DRAWING_BYTES];
    struct world world;
    make_world(&world, MIB, 0);
    play_tokens(&world, "A B C");
    uint64_t old[DEPTH_MAX];
    memcpy(old, world.tokens, sizeof old);

    /* Stopped and started: what was entered before is left now, in the middle of new calls. */
    call_tree__go_to(&world.tree, world.root, 0);
    call_tree__begin_epoch(&world.tree, 2);
    world.depth = 0;
    play_tokens(&world, "D E");
    call_tree__pop(&world.tree, old[2]);
    call_tree__catch(&world.tree, old[1]);
    call_tree__pop(&world.tree, old[0]);
    call_tree__pop(&world.tree, CALL_TOKEN_NONE);
    call_tree__catch(&world.tree, CALL_TOKEN_NONE);
    play_tokens(&world, "F /2 /1 G");
    assert_string_equal(draw(&world.ledger, world.root, text),
                        "root\n  A 1\n    B 1\n      C 1\n"
                        "  D 1\n    E 1\n      F 1\n    G 1\n");
    assert_int_equal(world.ledger.header->resynchronised, 0);
    ledger__close(&world.ledger);
}

/* Another Java thread on the same kernel thread begins at depth 0. */
static void another_thread_has_tokens_of_its_own(void **state)
{
    (void)state;
    struct world world;
    make_world(&world, MIB, 0);
    play_tokens(&world, "A B");
    uint64_t second = world.tokens[1];
    ledger_ref other = call_tree__add_plain_node(&world.tree, 0, NODE_ROOT);
    call_tree__go_to(&world.tree, other, 0);
    world.depth = 0;
    play_tokens(&world, "A B");
    assert_int_equal(world.tokens[1], second);
    play_tokens(&world, "/1 /0 C");
    char text[DRAWING_BYTES];
    assert_string_equal(draw(&world.ledger, other, text), "root\n  A 1\n    B 1\n  C 1\n");
    ledger__close(&world.ledger);
}

/* Beyond the ledger's bound calls have no nodes; frames still are counted. */
static void lost_calls_return_too(void **state)
{
    (void)state;
    struct world world;
    make_world(&world, 64u << 10, 0);
    uint64_t key = 'a' + 1000;
    uint64_t outer = call_tree__push(&world.tree, 'A');
    uint64_t first_lost = 0, enters = 0;

    while (world.ledger.header->dropped_enters == 0) {
        first_lost = call_tree__push(&world.tree, key++);
        enters++;
    }
    assert_int_equal(world.tree.lost_depth, 1);
    uint64_t second_lost = call_tree__push(&world.tree, 'B');
    (void)call_tree__push(&world.tree, 'C');
    assert_int_equal(world.tree.lost_depth, 3);
    call_tree__catch(&world.tree, second_lost);
    assert_int_equal(world.tree.lost_depth, 2);
    call_tree__pop(&world.tree, second_lost);
    call_tree__pop(&world.tree, first_lost);
    assert_int_equal(world.tree.lost_depth, 0);
    assert_int_equal(world.tree.current->key, key - 2);
    /* Back by the depth of all: nodes that are there and those that are lost. */
    (void)call_tree__push(&world.tree, key++);
    call_tree__catch(&world.tree, outer);
    assert_int_equal(world.tree.lost_depth, 0);
    assert_int_equal(world.tree.current->key, 'A');
    assert_true(enters > 1);
    ledger__close(&world.ledger);
}

/* X called Y before the epoch: neither has a call, and each may return without a word. */
static void frames_of_the_floor_have_no_tokens(void **state)
{
    (void)state;
    static const uint64_t keys[] = {'X', 'Y'};
    char text[DRAWING_BYTES];
    struct world world;
    make_world(&world, MIB, 0);
    call_tree__lay_floor(&world.tree, keys, 2);
    assert_true(call_tree__is_on_floor(&world.tree));
    play_tokens(&world, "A B /1 C ^0");
    assert_false(call_tree__is_on_floor(&world.tree));
    play_tokens(&world, "/0");
    assert_true(call_tree__is_on_floor(&world.tree));
    play_tokens(&world, "D E F /0"); /* the exits of F and E were missed */
    assert_true(call_tree__is_on_floor(&world.tree));
    assert_false(call_tree__leave_floor(&world.tree, 'X'));
    assert_true(call_tree__leave_floor(&world.tree, 'Y'));
    play_tokens(&world, "G /0");
    assert_true(call_tree__leave_floor(&world.tree, 'X'));
    assert_false(call_tree__is_on_floor(&world.tree));
    play_tokens(&world, "H /0");
    assert_string_equal(draw(&world.ledger, world.root, text), "root\n"
                                                               "  X 0\n"
                                                               "    Y 0\n"
                                                               "      A 1\n"
                                                               "        B 1\n"
                                                               "        C 1\n"
                                                               "      D 1\n"
                                                               "        E 1\n"
                                                               "          F 1\n"
                                                               "    G 1\n"
                                                               "  H 1\n");
    ledger__close(&world.ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_the_floor_have_no_tokens),
        cmocka_unit_test(calls_nest),
        cmocka_unit_test(catching_is_no_event_where_none_was_missed),
        cmocka_unit_test(missed_exits_are_made_good_by_the_next_event),
        cmocka_unit_test(catching_keeps_logical_frames),
        cmocka_unit_test(leaving_twice_is_leaving_once),
        cmocka_unit_test(tokens_of_another_epoch_do_not_count),
        cmocka_unit_test(another_thread_has_tokens_of_its_own),
        cmocka_unit_test(lost_calls_return_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
