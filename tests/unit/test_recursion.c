/*
 * Recursion folded: with recursion=N a path has a method N times at most. First trees that were
 * worked out on paper, in the notation of drawn_tree.h, where `rl` is the highest level that a node
 * stood for; words of tokens as in token_world.h. Then drawn sequences, of events that name
 * methods and of tokens, on several threads that take turns, beside a model that keeps all frames.
 */
#include "token_world.h"

#include <stdlib.h>

static void check_tokens(uint32_t levels, const char *program, const char *drawing)
{
    char text[DRAWING_BYTES];
    struct world world;
    make_world(&world, MIB, levels);
    play_tokens(&world, program);
    assert_string_equal(draw(&world.ledger, world.root, text), drawing);
    assert_int_equal(world.ledger.header->resynchronised, 0);
    ledger__close(&world.ledger);
}

static void check_names(uint32_t levels, const char *program, unsigned resynchronised,
                        const char *drawing)
{
    char text[DRAWING_BYTES];
    struct world world;
    make_world(&world, MIB, levels);
    world.maker.excluded = "X";
    play(&world.tree, program);
    assert_string_equal(draw(&world.ledger, world.root, text), drawing);
    assert_int_equal(world.ledger.header->resynchronised, resynchronised);
    ledger__close(&world.ledger);
}

static void a_method_that_calls_itself(void **state)
{
    (void)state;
    const char *program = "A A A /2 /1 A /1 /0 A";
    check_tokens(0, program, "root\n  A 2\n    A 2 rl1\n      A 1 rl2\n");
    check_tokens(3, program, "root\n  A 2\n    A 2 rl1\n      A 1 rl2\n");
    check_tokens(2, program, "root\n  A 2\n    A 3 rl2\n");
    check_tokens(1, program, "root\n  A 5 rl2\n");
    check_names(1, "A A A /A /A A /A /A A", 0, "root\n  A 5 rl2\n");
    check_names(2, "A A A /A B /B /A A /A /A A", 0, "root\n  A 2\n    A 3 rl2\n      B 1\n");
}

static void methods_that_call_each_other(void **state)
{
    (void)state;
    check_tokens(1, "A B A B A C /5 /4 /3 D", "root\n  A 3 rl2\n    B 2 rl1\n    C 1\n    D 1\n");
    check_names(1, "A B A B A C /C /A /B D", 0, "root\n  A 3 rl2\n    B 2 rl1\n    C 1\n    D 1\n");
    check_tokens(2, "A B A B A B C",
                 "root\n  A 1\n    B 1\n      A 2 rl2\n        B 2 rl2\n          C 1\n");
    check_tokens(3, "A B A B A B C",
                 "root\n  A 1\n    B 1\n      A 1 rl1\n        B 1 rl1\n"
                 "          A 1 rl2\n            B 1 rl2\n              C 1\n");
}

/* The caller's node of a folded frame is not its node's parent. */
static void a_folded_frame_returns_to_its_caller(void **state)
{
    (void)state;
    check_tokens(1, "A B A /2 E", "root\n  A 2 rl1\n    B 1\n      E 1\n");
    check_tokens(1, "A B C A /3 D /3 /2 E",
                 "root\n  A 2 rl1\n    B 1\n      C 1\n        D 1\n"
                 "      E 1\n");
    check_tokens(2, "A B A B A /4 E",
                 "root\n  A 1\n    B 1\n      A 2 rl2\n        B 1 rl1\n          E 1\n");
    check_names(1, "A B A /A E", 0, "root\n  A 2 rl1\n    B 1\n      E 1\n");
}

/* B stands below while it is called once more, elsewhere. */
static void levels_count_frames_that_are_not_on_the_path(void **state)
{
    (void)state;
    check_tokens(1, "A B A C B", "root\n  A 2 rl1\n    B 1\n    C 1\n      B 1 rl1\n");
    check_tokens(1, "A B A /2 /1 C B", "root\n  A 2 rl1\n    B 1\n    C 1\n      B 1\n");
    check_tokens(1, "A B A /2 A B", "root\n  A 3 rl1\n    B 2 rl1\n");
}

static void exits_that_were_missed(void **state)
{
    (void)state;
    check_tokens(1, "A B A B A C ^1 D", "root\n  A 3 rl2\n    B 2 rl1\n      D 1\n    C 1\n");
    check_tokens(1, "A B A B A C /1 D", "root\n  A 3 rl2\n    B 2 rl1\n    C 1\n    D 1\n");
    check_tokens(1, "A A A A A ^2 B /3 /2 /1 /0 C", "root\n  A 5 rl4\n    B 1\n  C 1\n");
    check_tokens(2, "A B A B A B A ^3 C",
                 "root\n  A 1\n    B 1\n      A 3 rl3\n"
                 "        B 2 rl2\n          C 1\n");
    check_names(1, "A B A C /B D", 1, "root\n  A 2 rl1\n    B 1\n    C 1\n    D 1\n");
    check_names(1, "A B A C /E D", 1, "root\n  A 2 rl1\n    B 1\n    C 1\n      D 1\n");
    check_names(1, "A X B X A /X /A /X C", 0, "root\n  A 2 rl1\n    B 1\n      C 1\n");
}

static void seeds_are_folded_as_calls_are(void **state)
{
    (void)state;
    check_names(1, "+A +B +A C /C /A D", 0, "root\n  A 0 rl1\n    B 0\n      D 1\n    C 1\n");
    check_names(2, "+A +A +A C", 0, "root\n  A 0\n    A 0 rl2\n      C 1\n");
}

static void the_floor_is_folded_too(void **state)
{
    (void)state;
    static const uint64_t keys[] = {'E', 'F', 'E'};
    char text[DRAWING_BYTES];
    struct world world;
    make_world(&world, MIB, 1);
    call_tree__lay_floor(&world.tree, keys, 3);
    play_tokens(&world, "A /0");
    assert_true(call_tree__is_on_floor(&world.tree));
    play_tokens(&world, "E A E ^0 B /0");
    assert_true(call_tree__leave_floor(&world.tree, 'E'));
    play_tokens(&world, "C /0");
    assert_false(call_tree__leave_floor(&world.tree, 'E'));
    assert_true(call_tree__leave_floor(&world.tree, 'F'));
    assert_true(call_tree__leave_floor(&world.tree, 'E'));
    assert_false(call_tree__is_on_floor(&world.tree));
    assert_true(return_stack__is_empty(&world.tree.returns));
    play_tokens(&world, "D");
    /* E stood twice when it was called the first time, and three times when from A. */
    assert_string_equal(draw(&world.ledger, world.root, text), "root\n"
                                                               "  E 2 rl3\n"
                                                               "    F 0\n"
                                                               "      C 1\n"
                                                               "    A 2\n"
                                                               "    B 1\n"
                                                               "  D 1\n");
    ledger__close(&world.ledger);
}

/* Runs of equal returns take no room of their own: a million frames, two notes. */
static void depth_takes_no_memory_where_it_repeats(void **state)
{
    (void)state;
    enum { DEPTH = 1000000 };
    struct world world;
    make_world(&world, MIB, 1);
    for (int i = 0; i < DEPTH; i++)
        (void)call_tree__push(&world.tree, i % 2 ? 'B' : 'A');
    assert_int_equal(world.tree.current->key, 'B');
    assert_int_equal(world.tree.current->calls, DEPTH / 2);
    assert_int_equal(ledger_node__level(world.tree.current), DEPTH / 2 - 1);
    assert_int_equal(world.ledger.header->dropped_enters, 0);
    for (int i = DEPTH; i > 0; i--) {
        assert_int_equal(world.tree.current->key, i % 2 ? 'A' : 'B');
        call_tree__pop(&world.tree, UINT64_C(1) << 32 | (uint64_t)(i - 1));
    }
    assert_int_equal(ledger__ref(&world.ledger, world.tree.current), world.root);
    assert_true(return_stack__is_empty(&world.tree.returns));
    ledger__close(&world.ledger);
}

/* Frames that are forgotten, since their thread is over, give their notes back. */
static void what_is_forgotten_is_given_back(void **state)
{
    (void)state;
    struct world world;
    uint32_t chunks = 0;
    make_world(&world, MIB, 1);
    for (unsigned round = 0; round < 2000; round++) {
        for (unsigned i = 0; i < 60; i++)
            (void)call_tree__push(&world.tree, 'A' + i * i % 7 % 5);
        assert_false(return_stack__is_empty(&world.tree.returns));
        struct ledger_returns returns = call_tree__yield_returns(&world.tree);
        call_tree__go_to(&world.tree, world.root, 0);
        call_tree__resume_returns(&world.tree, &returns);
        call_tree__go_to(&world.tree, world.root, 0);
        if (round == 1)
            chunks = world.ledger.header->chunks_used;
    }
    assert_int_equal(world.ledger.header->chunks_used, chunks);
    assert_int_equal(world.ledger.header->dropped_enters, 0);
    ledger__close(&world.ledger);
}

/* Without room for its return a folded call is lost, and returns too. */
static void without_room_a_folded_call_is_lost(void **state)
{
    (void)state;
    struct world world;
    make_world(&world, 64u << 10, 1);
    uint64_t first = call_tree__push(&world.tree, 'A');
    uint64_t second = call_tree__push(&world.tree, 'B');
    const struct ledger_node *node = world.tree.current;
    world.tree.pool.takes_reserved = RESERVE_ALL;
    while (record_pool__note(&world.tree.pool))
        ;
    world.tree.pool.takes_reserved = RESERVE_NONE;
    uint64_t third = call_tree__push(&world.tree, 'A');
    uint64_t fourth = call_tree__push(&world.tree, 'B');
    assert_int_equal(world.ledger.header->dropped_enters, 2);
    assert_true(call_tree__stands(&world.tree, second, node, 4));
    assert_true(
        call_tree__stands(&world.tree, first, call_tree__node(&world.tree, node->parent), 4));
    call_tree__pop(&world.tree, fourth);
    call_tree__pop(&world.tree, third);
    assert_int_equal(world.tree.current->key, 'B');
    assert_int_equal(world.tree.lost_depth, 0);
    call_tree__pop(&world.tree, second);
    assert_int_equal(world.tree.current->key, 'A');
    call_tree__pop(&world.tree, first);
    assert_int_equal(ledger__ref(&world.ledger, world.tree.current), world.root);
    ledger__close(&world.ledger);
}

/* The model: all frames of a thread, and a tree of its own. */
#define THREADS       3
#define FRAMES_MAX    60
#define MODEL_NODES   20000
#define SEQUENCES     400
#define STEPS         400
#define METHODS_DRAWN 5

struct model_node {
    uint64_t key;
    int parent; /* -1: a root */
    ledger_ref ref;
    uint64_t calls;
    unsigned level; /* the highest */
};

struct model_frame {
    uint64_t key;
    int node;
    uint64_t token;
};

struct model_thread {
    int root;
    int depth;
    struct model_frame frames[FRAMES_MAX];
    struct ledger_returns returns; /* while another one is current */
    uint64_t token;
    uint64_t lost_depth;
    ledger_ref node;
};

struct model {
    struct world world;
    uint32_t levels;
    struct model_node nodes[MODEL_NODES];
    int count;
    struct model_thread threads[THREADS];
    struct model_thread *current;
    uint32_t random;
};

/* xorshift [G. Marsaglia: Xorshift RNGs, 2003]. */
static unsigned draw_number(struct model *model, unsigned below)
{
    model->random ^= model->random << 13;
    model->random ^= model->random >> 17;
    model->random ^= model->random << 5;
    return model->random % below;
}

static int current_node(const struct model *model)
{
    const struct model_thread *thread = model->current;
    return thread->depth ? thread->frames[thread->depth - 1].node : thread->root;
}

static int model_child(struct model *model, int parent, uint64_t key)
{
    for (int i = 0; i < model->count; i++)
        if (model->nodes[i].parent == parent && model->nodes[i].key == key)
            return i;
    assert_true(model->count < MODEL_NODES);
    model->nodes[model->count] = (struct model_node){.key = key, .parent = parent};
    return model->count++;
}

/* By the words of the option: the node of the N-th frame of the method on the path, or a child. */
static int model_target(struct model *model, uint64_t key)
{
    unsigned found = 0;
    int last = -1;
    for (int node = current_node(model); node >= 0; node = model->nodes[node].parent) {
        if (model->nodes[node].key != key)
            continue;
        found++;
        if (last < 0)
            last = node;
    }
    if (model->levels && found >= model->levels)
        return last;
    return model_child(model, current_node(model), key);
}

static void check_position(struct model *model)
{
    struct call_tree *tree = &model->world.tree;
    struct model_node *node = &model->nodes[current_node(model)];
    ledger_ref ref = ledger__ref(&model->world.ledger, tree->current);
    if (!node->ref)
        node->ref = ref;
    assert_int_equal(node->ref, ref);
    assert_true(tree->current->key == node->key);
    assert_int_equal(tree->lost_depth & ~CALL_TREE_FLAGS, 0);
}

static bool is_above(const struct model_thread *thread, int depth, int node)
{
    for (int i = depth; i < thread->depth; i++)
        if (thread->frames[i].node == node)
            return true;
    return false;
}

/* Of the frames that are open, and of one whose token is now that of another frame. */
static void check_what_stands(struct model *model)
{
    const struct model_thread *thread = model->current;
    const struct call_tree *tree = &model->world.tree;
    for (int i = 0; i < thread->depth; i++) {
        const struct model_frame *frame = &thread->frames[i];
        int other = (int)draw_number(model, (unsigned)model->count);
        ledger_ref node = model->nodes[frame->node].ref, none = model->nodes[other].ref;
        assert_true(call_tree__stands(tree, frame->token, call_tree__node(tree, node), FRAMES_MAX));
        if (none && !is_above(thread, i, other))
            assert_false(
                call_tree__stands(tree, frame->token, call_tree__node(tree, none), FRAMES_MAX));
    }
    assert_false(call_tree__stands(tree, tree->token, tree->current, FRAMES_MAX));
}

static void model_enter(struct model *model, uint64_t key, bool by_name)
{
    struct model_thread *thread = model->current;
    struct model_frame *frame = &thread->frames[thread->depth];
    unsigned level = 0;
    if (thread->depth == FRAMES_MAX)
        return;
    for (int i = 0; i < thread->depth; i++)
        level += thread->frames[i].key == key;
    *frame = (struct model_frame){.key = key, .node = model_target(model, key)};
    thread->depth++;
    struct model_node *node = &model->nodes[frame->node];
    node->calls++;
    if (level > node->level)
        node->level = level;
    if (by_name)
        call_tree__enter(&model->world.tree, key);
    else
        frame->token = call_tree__push(&model->world.tree, key);
}

static void model_leave(struct model *model, int depth, bool by_name)
{
    struct model_thread *thread = model->current;
    if (thread->depth == 0)
        return;
    uint64_t token = thread->frames[depth].token, key = thread->frames[depth].key;
    if (by_name) {
        /* The youngest frame of that method is meant. */
        for (depth = thread->depth - 1; thread->frames[depth].key != key;)
            depth--;
        call_tree__leave(&model->world.tree, key);
    } else {
        call_tree__pop(&model->world.tree, token);
        if (draw_number(model, 20) == 0)
            call_tree__pop(&model->world.tree, token);
    }
    thread->depth = depth;
}

static void model_catch(struct model *model, int depth)
{
    struct model_thread *thread = model->current;
    if (thread->depth == 0)
        return;
    call_tree__catch(&model->world.tree, thread->frames[depth].token);
    thread->depth = depth + 1;
}

/* As a virtual thread is unmounted and another one mounted. */
static void model_switch(struct model *model, unsigned to)
{
    struct call_tree *tree = &model->world.tree;
    struct model_thread *thread = model->current;
    thread->token = tree->token;
    thread->lost_depth = tree->lost_depth;
    thread->node = ledger__ref(&model->world.ledger, tree->current);
    thread->returns = call_tree__yield_returns(tree);
    thread = model->current = &model->threads[to];
    call_tree__go_to(tree, thread->node, thread->lost_depth);
    call_tree__resume_returns(tree, &thread->returns);
    tree->token = thread->token;
}

static void step(struct model *model, bool by_name)
{
    int depth = model->current->depth;
    unsigned choice = draw_number(model, 100);
    if (choice < 50)
        model_enter(model, 'A' + draw_number(model, METHODS_DRAWN), by_name);
    else if (choice < 85)
        model_leave(model, depth - 1, by_name);
    else if (choice < 92)
        model_leave(model, depth ? (int)draw_number(model, (unsigned)depth) : 0, by_name);
    else if (choice < 95 && !by_name)
        model_catch(model, depth ? (int)draw_number(model, (unsigned)depth) : 0);
    else
        model_switch(model, draw_number(model, THREADS));
    check_position(model);
    if (!by_name)
        check_what_stands(model);
}

static void check_nodes(const struct model *model)
{
    for (int i = 0; i < model->count; i++) {
        const struct model_node *expected = &model->nodes[i];
        const struct ledger_node *node = ledger__at(&model->world.ledger, expected->ref);
        unsigned children = 0, wanted = 0;
        if (!expected->ref)
            continue; /* a thread that was never current */
        assert_true(node->calls == expected->calls);
        assert_int_equal(ledger_node__level(node), expected->level);
        assert_int_equal(node->parent,
                         expected->parent < 0 ? 0 : model->nodes[expected->parent].ref);
        for (ledger_ref ref = node->first_child; ref;
             ref = node_at(&model->world.ledger, ref)->next_sibling)
            children++;
        for (int child = 0; child < model->count; child++)
            wanted += model->nodes[child].parent == i;
        assert_int_equal(children, wanted);
    }
}

static void begin_model(struct model *model, uint32_t levels)
{
    make_world(&model->world, 16 * MIB, levels);
    model->levels = levels;
    model->count = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        struct model_thread *thread = &model->threads[i];
        memset(thread, 0, sizeof *thread);
        thread->root = model->count++;
        thread->node =
            i ? call_tree__add_plain_node(&model->world.tree, 0, NODE_ROOT) : model->world.root;
        thread->token = model->world.tree.token;
        model->nodes[thread->root] = (struct model_node){.parent = -1, .ref = thread->node};
    }
    model->current = &model->threads[0];
}

static void end_model(struct model *model)
{
    for (unsigned i = 0; i < THREADS; i++) {
        model_switch(model, i);
        while (model->current->depth) {
            model_leave(model, model->current->depth - 1, false);
            check_position(model);
        }
        assert_true(return_stack__is_empty(&model->world.tree.returns));
        assert_int_equal(model->world.tree.left.methods, 0);
        assert_int_equal(model->world.tree.lost_depth, 0);
    }
    assert_int_equal(model->world.ledger.header->dropped_enters, 0);
    ledger__close(&model->world.ledger);
}

static void drawn_sequences(bool by_name)
{
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    model->random = 2463534242u;
    for (unsigned sequence = 0; sequence < SEQUENCES; sequence++) {
        begin_model(model, sequence % 4);
        for (unsigned i = 0; i < STEPS; i++)
            step(model, by_name);
        check_nodes(model);
        if (by_name)
            ledger__close(&model->world.ledger);
        else
            end_model(model);
    }
    free(model);
}

static void drawn_sequences_of_tokens(void **state)
{
    (void)state;
    drawn_sequences(false);
}

static void drawn_sequences_of_names(void **state)
{
    (void)state;
    drawn_sequences(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_that_calls_itself),
        cmocka_unit_test(methods_that_call_each_other),
        cmocka_unit_test(a_folded_frame_returns_to_its_caller),
        cmocka_unit_test(levels_count_frames_that_are_not_on_the_path),
        cmocka_unit_test(exits_that_were_missed),
        cmocka_unit_test(seeds_are_folded_as_calls_are),
        cmocka_unit_test(the_floor_is_folded_too),
        cmocka_unit_test(depth_takes_no_memory_where_it_repeats),
        cmocka_unit_test(what_is_forgotten_is_given_back),
        cmocka_unit_test(without_room_a_folded_call_is_lost),
        cmocka_unit_test(drawn_sequences_of_tokens),
        cmocka_unit_test(drawn_sequences_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
