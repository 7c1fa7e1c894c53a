/* The cursor in the call tree: what is drawn beside each program is what must come out. */
#include "drawn_tree.h"
#include "native/tree/call_tree.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB      (UINT64_C(1) << 20)
#define MANY_KEY UINT64_C(1000)

struct world {
    struct ledger ledger;
    struct method_maker maker;
    struct call_tree tree;
    ledger_ref root;
};

static void make_world(struct world *world, uint64_t max_bytes, const char *excluded)
{
    assert_int_equal(ledger__create(&world->ledger, NULL, max_bytes), 0);
    world->maker = (struct method_maker){&world->ledger, excluded};
    call_tree__init(&world->tree, &world->ledger, make_letter_method, &world->maker);
    world->root = call_tree__add_plain_node(&world->tree, 0, NODE_ROOT);
    assert_int_not_equal(world->root, 0);
    call_tree__go_to(&world->tree, world->root, 0);
}

static ledger_ref where(const struct world *world)
{
    return ledger__ref(&world->ledger, world->tree.current);
}

/* Plays the program in a world of its own; X and Y are methods left out by the filter. */
static void check_program(const char *program, const char *drawing, uint64_t resynchronised)
{
    char text[DRAWING_BYTES];
    struct world world;
    make_world(&world, MIB, "XY");
    play(&world.tree, program);
    assert_string_equal(draw(&world.ledger, world.root, text), drawing);
    assert_int_equal(world.ledger.header->resynchronised, resynchronised);
    assert_int_equal(world.ledger.header->dropped_enters, 0);
    ledger__close(&world.ledger);
}

static void calls_nest_and_stand_beside_each_other(void **state)
{
    (void)state;
    check_program("", "root\n", 0);
    check_program("A /A", "root\n  A 1\n", 0);
    check_program("A B /B C /C /A", "root\n  A 1\n    B 1\n    C 1\n", 0);
    check_program("A B /B B /B C /C B /B /A A B /B /A B /B",
                  "root\n  A 2\n    B 4\n    C 1\n  B 1\n", 0);
    check_program("A B C D", "root\n  A 1\n    B 1\n      C 1\n        D 1\n", 0);
}

static void recursion_has_levels(void **state)
{
    (void)state;
    check_program("A A A /A /A /A A /A", "root\n  A 2\n    A 1 rl1\n      A 1 rl2\n", 0);
    check_program("A B A B /B /A /B /A", "root\n  A 1\n    B 1\n      A 1 rl1\n        B 1 rl1\n",
                  0);
    /* Level counts how often the method stands above, not how deep. */
    check_program("A B C B /B A",
                  "root\n  A 1\n    B 1\n      C 1\n        B 1 rl1\n"
                  "        A 1 rl1\n",
                  0);
}

static void methods_left_out_do_not_move_the_cursor(void **state)
{
    (void)state;
    check_program("A X B /B /X /A", "root\n  A 1\n    B 1\n", 0);
    check_program("X /X X Y X /X /Y /X", "root\n", 0);
    check_program("X A /A X A /A /X /X", "root\n  A 2\n", 0);
    check_program("A X /X /A A X X B /B /X /X B /B /A", "root\n  A 2\n    B 2\n", 0);
}

static void frames_that_were_there_have_no_calls(void **state)
{
    (void)state;
    check_program("+A +B C /C /B /A", "root\n  A 0\n    B 0\n      C 1\n", 0);
    check_program("+A +A /A A /A /A A", "root\n  A 1\n    A 1 rl1\n", 0);
    check_program("+A +X +B B", "root\n  A 0\n    B 0\n      B 1 rl1\n", 0);
}

/* Beside each step whether the youngest frame that was there is current. */
static void frames_that_were_there_are_known_while_they_stand(void **state)
{
    static const struct {
        const char *step;
        bool on_seed;
    } steps[] = {{"A", false},   {"+B", true}, {"+C", true},  {"D", false}, {"/D", true},
                 {"X", true},    {"/X", true}, {"/C", true},  {"D", false}, {"/D", true},
                 {"C D", false}, {"/C", true}, {"/B", true},  {"B", false}, {"/B", true},
                 {"/A", false},  {"A", false}, {"/A", false}, {"+A", true}, {"+B", true},
                 {"/A", false}};
    struct world world;

    (void)state;
    make_world(&world, MIB, "X");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        play(&world.tree, steps[i].step);
        assert_int_equal(call_tree__is_on_seed(&world.tree), steps[i].on_seed);
    }
    /* Two times frames went without an exit: D, and the last B. */
    assert_int_equal(world.ledger.header->resynchronised, 2);
    assert_int_equal(where(&world), world.root);
    assert_true(call_tree__leaves_out(&world.tree, 'X'));
    assert_false(call_tree__leaves_out(&world.tree, 'A'));
    ledger__close(&world.ledger);
}

/* An exit that names a method further up: its frames below went without an event. */
static void missed_exits_lead_back_to_the_right_ancestor(void **state)
{
    (void)state;
    check_program("A B C /A D", "root\n  A 1\n    B 1\n      C 1\n  D 1\n", 1);
    check_program("A B C /B D", "root\n  A 1\n    B 1\n      C 1\n    D 1\n", 1);
    /* The nearest frame of that method is the one that ended. */
    check_program("A B A B C /A D",
                  "root\n  A 1\n    B 1\n      A 1 rl1\n        B 1 rl1\n"
                  "          C 1\n      D 1\n",
                  1);
}

static void exits_of_frames_never_entered_change_nothing(void **state)
{
    (void)state;
    check_program("/Z A /A", "root\n  A 1\n", 1);
    check_program("A /Z B /Z /B /A C", "root\n  A 1\n    B 1\n  C 1\n", 2);
    check_program("A /A /A /A A", "root\n  A 2\n", 2);
}

static void gaps_are_children_without_a_method(void **state)
{
    (void)state;
    struct world world;
    char text[DRAWING_BYTES];
    make_world(&world, MIB, NULL);
    play(&world.tree, "A /A");
    ledger_ref gap = call_tree__add_plain_node(&world.tree, world.root, NODE_GAP);
    play(&world.tree, "B /B");
    assert_string_equal(draw(&world.ledger, world.root, text), "root\n  A 1\n  gap\n  B 1\n");
    assert_int_equal(node_at(&world.ledger, gap)->parent, world.root);
    assert_int_equal(node_at(&world.ledger, gap)->method, 0);
    ledger__close(&world.ledger);
}

/*
 *  root
 *    A 1
 *      1000 children; the n-th is called n % 7 + 1 times, in turns
 */
static void a_thousand_children_are_counted_exactly(void **state)
{
    (void)state;
    struct world world;
    make_world(&world, 4 * MIB, NULL);
    play(&world.tree, "A");
    for (uint64_t round = 0; round < 7; round++) {
        for (uint64_t n = 0; n < 1000; n++) {
            if (round > n % 7)
                continue;
            call_tree__enter(&world.tree, MANY_KEY + n);
            call_tree__leave(&world.tree, MANY_KEY + n);
        }
    }
    ledger_ref parent = where(&world);
    bool seen[1000] = {false};
    unsigned children = 0;
    for (ledger_ref ref = node_at(&world.ledger, parent)->first_child; ref != 0;
         ref = node_at(&world.ledger, ref)->next_sibling) {
        const struct ledger_node *node = node_at(&world.ledger, ref);
        uint64_t n = node->key - MANY_KEY;
        assert_true(n < 1000 && !seen[n]);
        seen[n] = true;
        children++;
        assert_int_equal(node->calls, n % 7 + 1);
        assert_int_equal(node->parent, parent);
    }
    assert_int_equal(children, 1000);
    ledger__close(&world.ledger);
}

/* A, then 1100 different methods below each other, then A: too far to look for the first A. */
static void levels_are_not_looked_for_without_a_bound(void **state)
{
    (void)state;
    struct world world;
    make_world(&world, 4 * MIB, NULL);
    play(&world.tree, "A");
    for (uint64_t n = 0; n < LEVEL_WALK_ANCESTORS - 1; n++)
        call_tree__enter(&world.tree, MANY_KEY + n);
    play(&world.tree, "A");
    assert_int_equal(ledger_node__level(world.tree.current), 1);
    play(&world.tree, "/A");
    call_tree__enter(&world.tree, MANY_KEY + LEVEL_WALK_ANCESTORS);
    play(&world.tree, "A");
    assert_int_equal(ledger_node__level(world.tree.current), NODE_LEVEL_MAX);
    assert_int_equal(ledger_node__kind(world.tree.current), NODE_EXACT);
    ledger__close(&world.ledger);
}

/* 100,000 frames, 26 methods in turn: frame n is at level n / 26. */
static void deep_stacks_come_back(void **state)
{
    (void)state;
    struct world world;
    make_world(&world, 16 * MIB, NULL);
    for (uint64_t n = 0; n < 100000; n++) {
        call_tree__enter(&world.tree, 'A' + n % 26);
        assert_int_equal(ledger_node__level(world.tree.current), n / 26);
    }
    unsigned depth = 0;
    for (ledger_ref ref = where(&world); ref != world.root;
         ref = node_at(&world.ledger, ref)->parent)
        depth++;
    assert_int_equal(depth, 100000);
    for (uint64_t n = 100000; n-- > 0;)
        call_tree__leave(&world.tree, 'A' + n % 26);
    assert_int_equal(where(&world), world.root);
    assert_int_equal(world.ledger.header->resynchronised, 0);
    ledger__close(&world.ledger);
}

struct racer {
    struct world *world;
    pthread_barrier_t *start;
    struct call_tree tree;
    ledger_ref root;
};

static void *race_for_nodes(void *context)
{
    struct racer *racer = context;
    (void)pthread_barrier_wait(racer->start);
    for (uint64_t n = 0; n < 500; n++) {
        call_tree__enter(&racer->tree, MANY_KEY + n);
        play(&racer->tree, "A B /B /A");
        call_tree__leave(&racer->tree, MANY_KEY + n);
    }
    return NULL;
}

/* Eight threads at once; each has a tree of its own: 500 different children, below each A, B. */
static void threads_share_methods_and_no_tree(void **state)
{
    (void)state;
    static struct racer racers[8];
    struct world world;
    pthread_barrier_t start;
    pthread_t threads[8];
    make_world(&world, 16 * MIB, NULL);
    assert_int_equal(pthread_barrier_init(&start, NULL, 8), 0);
    for (int i = 0; i < 8; i++) {
        struct racer *racer = &racers[i];
        racer->world = &world;
        racer->start = &start;
        call_tree__init(&racer->tree, &world.ledger, make_letter_method, &world.maker);
        racer->root = call_tree__add_plain_node(&racer->tree, 0, NODE_ROOT);
        call_tree__go_to(&racer->tree, racer->root, 0);
        assert_int_equal(pthread_create(&threads[i], NULL, race_for_nodes, racer), 0);
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 8; i++) {
        unsigned children = 0;
        for (ledger_ref ref = node_at(&world.ledger, racers[i].root)->first_child; ref != 0;
             ref = node_at(&world.ledger, ref)->next_sibling) {
            assert_int_equal(node_at(&world.ledger, ref)->calls, 1);
            assert_int_equal(node_at(&world.ledger, ref)->parent, racers[i].root);
            children++;
        }
        assert_int_equal(children, 500);
    }
    (void)pthread_barrier_destroy(&start);
    ledger__close(&world.ledger);
}

/* Below each other, in a ledger of 64 KiB, until it is full: whatever has no node is counted, and
 * on the way back the cursor stands where it should. */
static void lost_calls_are_counted_and_return(void **state)
{
    (void)state;
    struct world world;
    make_world(&world, 64 * 1024, NULL);
    const struct ledger_header *header = world.ledger.header;
    uint64_t depth = 0;
    while (header->dropped_enters == 0)
        call_tree__enter(&world.tree, 'A' + depth++ % 26);
    assert_int_equal(header->full_error, ENOMEM);
    uint64_t with_node = depth - 1;
    ledger_ref last = where(&world);
    for (int i = 0; i < 10; i++)
        call_tree__enter(&world.tree, 'A' + depth++ % 26);
    assert_int_equal(header->dropped_enters, 11);
    assert_int_equal(where(&world), last);
    for (uint64_t left = depth; left-- > 0;) {
        call_tree__leave(&world.tree, 'A' + left % 26);
        if (left == with_node)
            assert_int_equal(where(&world), last);
    }
    assert_int_equal(where(&world), world.root);
    assert_int_equal(world.tree.lost_depth, 0);

    /* What has a node is still counted, in the right place. */
    for (uint64_t n = 0; n < depth; n++)
        call_tree__enter(&world.tree, 'A' + n % 26);
    assert_int_equal(header->dropped_enters, 22);
    assert_int_equal(where(&world), last);
    for (ledger_ref ref = last; ref != world.root; ref = node_at(&world.ledger, ref)->parent)
        assert_int_equal(node_at(&world.ledger, ref)->calls, 2);
    assert_int_equal(header->resynchronised, 0);
    ledger__close(&world.ledger);
}

/* The tree that a full ledger allows: A has a node, P has none, and X is left out. */
static void lost_calls_and_methods_left_out(void **state)
{
    (void)state;
    struct world world;
    char text[DRAWING_BYTES];
    make_world(&world, MIB, "X");
    play(&world.tree, "A X /X");
    atomic_store(&world.ledger.full, true);
    world.tree.pool.nodes = (struct ledger_arena){0};
    play(&world.tree, "P X X /X P /P /X X /X /P X /X");
    assert_string_equal(draw(&world.ledger, world.root, text), "root\n  A 1\n");
    assert_int_equal(world.tree.lost_depth, 0);
    assert_int_equal(world.ledger.header->dropped_enters, 2);
    atomic_store(&world.ledger.full, false);
    play(&world.tree, "P /P /A B");
    assert_string_equal(draw(&world.ledger, world.root, text), "root\n  A 1\n    P 1\n  B 1\n");
    ledger__close(&world.ledger);
}

/* X is entered below a lost call when nobody knows yet that it is left out, and another thread
 * finds that out before X returns. */
static void a_method_turns_out_to_be_left_out_while_it_is_lost(void **state)
{
    (void)state;
    struct world world;
    char text[DRAWING_BYTES];
    make_world(&world, MIB, "X");
    play(&world.tree, "A");
    atomic_store(&world.ledger.full, true);
    world.tree.pool.nodes = (struct ledger_arena){0};
    play(&world.tree, "P X");
    atomic_store(&world.ledger.full, false);
    assert_int_not_equal(make_letter_method(&world.maker, 'X'), 0);
    play(&world.tree, "/X /P");
    assert_int_equal(world.tree.lost_depth, 0);
    play(&world.tree, "B /B /A C");
    assert_string_equal(draw(&world.ledger, world.root, text), "root\n  A 1\n    B 1\n  C 1\n");
    ledger__close(&world.ledger);
}

static ledger_ref cannot_be_named(void *context, uint64_t key)
{
    return key == 'N' ? 0 : make_letter_method(context, key);
}

static void methods_without_a_name_are_lost_calls(void **state)
{
    (void)state;
    struct world world;
    char text[DRAWING_BYTES];
    make_world(&world, MIB, NULL);
    world.tree.resolve = cannot_be_named;
    play(&world.tree, "A N B /B /N C /C /A");
    assert_string_equal(draw(&world.ledger, world.root, text), "root\n  A 1\n    C 1\n");
    assert_int_equal(world.ledger.header->dropped_enters, 2);
    assert_int_equal(where(&world), world.root);
    ledger__close(&world.ledger);
}

/* A seeded frame that finds no room is no call, and none is dropped. */
static void lost_seeds_are_no_dropped_calls(void **state)
{
    (void)state;
    struct world world;
    make_world(&world, MIB, NULL);
    atomic_store(&world.ledger.full, true);
    world.tree.pool.nodes = (struct ledger_arena){0};
    play(&world.tree, "+A +B C /C /B /A");
    assert_int_equal(world.ledger.header->dropped_enters, 1);
    assert_int_equal(world.tree.lost_depth, 0);
    assert_int_equal(where(&world), world.root);
    ledger__close(&world.ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_nest_and_stand_beside_each_other),
        cmocka_unit_test(recursion_has_levels),
        cmocka_unit_test(methods_left_out_do_not_move_the_cursor),
        cmocka_unit_test(frames_that_were_there_have_no_calls),
        cmocka_unit_test(frames_that_were_there_are_known_while_they_stand),
        cmocka_unit_test(missed_exits_lead_back_to_the_right_ancestor),
        cmocka_unit_test(exits_of_frames_never_entered_change_nothing),
        cmocka_unit_test(gaps_are_children_without_a_method),
        cmocka_unit_test(a_thousand_children_are_counted_exactly),
        cmocka_unit_test(levels_are_not_looked_for_without_a_bound),
        cmocka_unit_test(deep_stacks_come_back),
        cmocka_unit_test(threads_share_methods_and_no_tree),
        cmocka_unit_test(lost_calls_are_counted_and_return),
        cmocka_unit_test(lost_calls_and_methods_left_out),
        cmocka_unit_test(a_method_turns_out_to_be_left_out_while_it_is_lost),
        cmocka_unit_test(methods_without_a_name_are_lost_calls),
        cmocka_unit_test(lost_seeds_are_no_dropped_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
