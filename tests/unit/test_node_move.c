/* Moves of nodes and samples, store by store: a copy that is made after any of them, as a kill
 * leaves it, has every number once. */
#include "drawn_story.h"
#include "native/snapshot/dangling_refs.h"
#include "native/tree/folded_calls.h"
#include "native/tree/node_move.h"

/* What a reader makes of the ledger as it is: calls and CPU time of a method. */
static void check_copy(const struct java_world *world, uint64_t key, uint64_t calls,
                       uint64_t cpu_ns)
{
    struct totals totals = {0};
    struct ledger copy;
    assert_int_equal(ledger__adopt(&copy, world->ledger.fd,
                                   (uint64_t)world->ledger.header->chunks_used * 4096, 1 << 20),
                     0);
    assert_int_equal(dangling_refs__cut(&copy), 0);
    sum_up(&copy, find_thread(&copy, 1)->root, &totals);
    assert_int_equal(totals.calls[key - FIRST_KEY], calls);
    assert_int_equal(totals.cpu_ns[key - FIRST_KEY], cpu_ns);
    ledger__close(&copy);
}

/* A leaf with 3 calls and 30 ns below another node, and (folded) below the root. */
static ledger_ref make_leaf(struct ledger_node **leaf)
{
    struct story story = {0};
    for (unsigned i = 0; i < 3; i++) {
        enter(&story, FIRST_KEY, 1);
        enter(&story, FIRST_KEY + 1, 10);
        leave_to(&story, 0);
    }
    *leaf = ledger__at(mine.tree.ledger,
                       child_of(mine.tree.ledger,
                                child_of(mine.tree.ledger, mine.thread->root, FIRST_KEY),
                                FIRST_KEY + 1));
    assert_int_not_equal(folded_calls__top(&mine.tree, mine.thread), 0);
    return ledger__ref(mine.tree.ledger, *leaf);
}

/* The stores of a join in their order; after any of them may come a kill. */
static void a_join_is_there_or_not(void **state)
{
    (void)state;
    struct java_world *world = make(1024 * KIB);
    struct ledger_node *leaf, *to, *parent;
    ledger_ref from_ref = make_leaf(&leaf), to_ref;
    parent = ledger__at(&world->ledger, leaf->parent);
    to_ref = folded_calls__node(&mine.tree, mine.thread, leaf->method, leaf->key);
    to = ledger__at(&world->ledger, to_ref);
    to->calls = 5;
    to->cpu_ns = 50;
    struct ledger_node leaf_before = *leaf, to_before = *to, parent_before = *parent;
    assert_true(node_move__join(&mine.tree, from_ref, to_ref, 0));
    check_copy(world, FIRST_KEY + 1, 8, 80);
    struct ledger_node to_after = *to, parent_after = *parent;
    for (unsigned stores = 0; stores <= 4; stores++) {
        *leaf = leaf_before;
        *to = to_before;
        *parent = parent_before;
        to->calls = stores >= 1 ? to_after.calls : to->calls;
        to->cpu_ns = stores >= 2 ? to_after.cpu_ns : to->cpu_ns;
        to->wait_ns = stores >= 3 ? to_after.wait_ns : to->wait_ns;
        parent->first_child = stores >= 4 ? parent_after.first_child : parent->first_child;
        mine.thread->move = (struct ledger_move){.from = from_ref,
                                                 .to = to_ref,
                                                 .calls = to_before.calls,
                                                 .cpu_ns = to_before.cpu_ns,
                                                 .wait_ns = to_before.wait_ns};
        check_copy(world, FIRST_KEY + 1, 8, 80);
    }
}

/* Ditto of a leaf that goes to (folded) itself. */
static void a_leaf_is_here_or_there(void **state)
{
    (void)state;
    struct java_world *world = make(1024 * KIB);
    struct ledger_node *leaf, *top, *parent;
    ledger_ref ref = make_leaf(&leaf), top_ref = mine.thread->folded;
    parent = ledger__at(&world->ledger, leaf->parent);
    top = ledger__at(&world->ledger, top_ref);
    struct ledger_node leaf_before = *leaf, top_before = *top, parent_before = *parent;
    assert_true(node_move__relink(&mine.tree, ref, top_ref, 0));
    check_copy(world, FIRST_KEY + 1, 3, 30);
    struct ledger_node leaf_after = *leaf, top_after = *top, parent_after = *parent;
    for (unsigned stores = 0; stores <= 4; stores++) {
        *leaf = leaf_before;
        *top = top_before;
        *parent = parent_before;
        parent->first_child = stores >= 1 ? parent_after.first_child : parent->first_child;
        leaf->parent = stores >= 2 ? leaf_after.parent : leaf->parent;
        leaf->next_sibling = stores >= 3 ? leaf_after.next_sibling : leaf->next_sibling;
        top->first_child = stores >= 4 ? top_after.first_child : top->first_child;
        mine.thread->move =
            (struct ledger_move){.from = ref, .to = top_ref, .side = leaf_before.parent};
        check_copy(world, FIRST_KEY + 1, 3, 30);
    }
}

static void check_samples_of_copy(const struct java_world *world, uint64_t samples,
                                  uint64_t seen_ns)
{
    uint64_t found[METHODS][4] = {{0}}, sums[4] = {0};
    struct ledger copy;
    assert_int_equal(ledger__adopt(&copy, world->ledger.fd,
                                   (uint64_t)world->ledger.header->chunks_used * 4096, 1 << 20),
                     0);
    assert_int_equal(dangling_refs__cut(&copy), 0);
    sum_all_samples(&copy, find_thread(&copy, 1)->root, found);
    for (unsigned i = 0; i < METHODS; i++)
        for (unsigned number = 0; number < 4; number++)
            sums[number] += found[i][number];
    assert_int_equal(sums[0], samples);
    assert_int_equal(sums[1], 2 * samples);
    assert_int_equal(sums[2], 3 * samples);
    assert_int_equal(sums[3], seen_ns);
    ledger__close(&copy);
}

/* Ditto of a sampled frame, with three samples, that is added to one with two. */
static void a_frame_is_here_or_there(void **state)
{
    (void)state;
    struct java_world *world = make(1024 * KIB);
    struct story story = {.keys = {FIRST_KEY, FIRST_KEY, FIRST_KEY}};
    struct ledger_node *leaf, *folded, *from, *to;
    ledger_ref leaf_ref = make_leaf(&leaf), folded_ref, from_ref, to_ref;
    folded_ref = folded_calls__node(&mine.tree, mine.thread, leaf->method, leaf->key);
    folded = ledger__at(&world->ledger, folded_ref);
    profiler = (struct record_pool){0};
    for (unsigned i = 0; i < 5; i++) {
        mine.tree.current = i < 3 ? leaf : folded;
        assert_true(take_sample(&story, 1, 100));
    }
    call_tree__go_to(&mine.tree, mine.thread->root, 0);
    from_ref = leaf->sampled;
    to_ref = folded->sampled;
    from = ledger__at(&world->ledger, from_ref);
    to = ledger__at(&world->ledger, to_ref);
    struct ledger_node from_before = *from, to_before = *to;
    assert_true(node_move__samples(&mine.tree, leaf_ref, folded_ref));
    assert_int_equal(leaf->sampled, 0);
    check_samples_of_copy(world, 5, 500);
    struct ledger_node to_after = *to;
    for (unsigned stores = 0; stores <= 5; stores++) {
        *from = from_before;
        *to = to_before;
        to->cpu_samples = stores >= 1 ? to_after.cpu_samples : to->cpu_samples;
        to->interpreted = stores >= 2 ? to_after.interpreted : to->interpreted;
        to->wall_samples = stores >= 3 ? to_after.wall_samples : to->wall_samples;
        to->seen_ns = stores >= 4 ? to_after.seen_ns : to->seen_ns;
        leaf->sampled = stores >= 5 ? 0 : from_ref;
        mine.thread->move = (struct ledger_move){.from = from_ref,
                                                 .to = to_ref,
                                                 .seen_ns = to_before.seen_ns,
                                                 .calls = to_before.cpu_samples,
                                                 .cpu_ns = to_before.interpreted,
                                                 .wait_ns = to_before.wall_samples};
        check_samples_of_copy(world, 5, 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_is_there_or_not),
        cmocka_unit_test(a_leaf_is_here_or_there),
        cmocka_unit_test(a_frame_is_here_or_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
