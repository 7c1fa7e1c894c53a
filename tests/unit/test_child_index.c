/* A node's children by method, where they are many: each is there once, whatever their keys. */
#include "drawn_numbers.h"
#include "native/tree/call_tree.h"
#include "native/tree/child_index.h"

#include <stdlib.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB  (UINT64_C(1) << 20)
#define MANY 40000u

struct world {
    struct ledger ledger;
    struct call_tree tree;
    ledger_ref root;
};

/* One record is enough for all methods: a node knows its own by key. */
static ledger_ref same_method(void *context, uint64_t key)
{
    static const struct ledger_method_names names = {"C", "m", "()V", NULL};

    (void)key;
    return ledger__add_method(context, 1, &names, 0);
}

static void make_world(struct world *world, uint64_t max_bytes)
{
    assert_int_equal(ledger__create(&world->ledger, NULL, max_bytes), 0);
    call_tree__init(&world->tree, &world->ledger, same_method, &world->ledger);
    world->root = call_tree__add_plain_node(&world->tree, 0, NODE_ROOT);
    call_tree__go_to(&world->tree, world->root, 0);
}

static const struct ledger_node *node_at(const struct world *world, ledger_ref ref)
{
    return ledger__at(&world->ledger, ref);
}

static void call(struct world *world, uint64_t key)
{
    call_tree__enter(&world->tree, key);
    call_tree__leave(&world->tree, key);
}

/* How many children the list of the root has, and how many calls these have in all. */
static uint32_t count_children(const struct world *world, uint64_t *calls)
{
    uint32_t count = 0;
    *calls = 0;
    for (ledger_ref ref = node_at(world, world->root)->first_child; ref;
         ref = node_at(world, ref)->next_sibling) {
        *calls += node_at(world, ref)->calls;
        count++;
    }
    return count;
}

static bool has_index(const struct world *world)
{
    ledger_ref side = node_at(world, world->root)->side;
    return side && ((const struct ledger_side *)ledger__at(&world->ledger, side))->index;
}

static void a_few_children_have_no_index(void **state)
{
    (void)state;
    struct world world;
    uint64_t calls;
    make_world(&world, MIB);
    for (unsigned round = 0; round < 3; round++)
        for (uint64_t key = 1; key <= CHILDREN_WALKED; key++)
            call(&world, key);
    assert_false(has_index(&world));
    call(&world, 100);
    call(&world, 101);
    assert_true(has_index(&world));
    assert_int_equal(count_children(&world, &calls), CHILDREN_WALKED + 2);
    assert_int_equal(calls, 3 * CHILDREN_WALKED + 2);
    ledger__close(&world.ledger);
}

/* In an order that no cache and no list knows. */
static void each_of_many_is_there_once(void **state)
{
    (void)state;
    struct world world;
    uint64_t random = 88172645463325252u, calls;
    make_world(&world, 64 * MIB);
    for (uint32_t i = 0; i < 5 * MANY; i++)
        call(&world, 1 + next_random(&random) % MANY);
    for (uint64_t key = 1; key <= MANY; key++)
        call(&world, key);
    assert_int_equal(count_children(&world, &calls), MANY);
    assert_int_equal(calls, 6 * MANY);
    for (uint64_t key = 1; key <= MANY; key++) {
        ledger_ref ref = child_index__find(&world.tree.pool, world.root, key);
        assert_true(child_index__is_child(&world.ledger, ref, world.root, key));
    }
    assert_int_equal(child_index__find(&world.tree.pool, world.root, MANY + 1), 0);
    ledger__close(&world.ledger);
}

/* The inverse of an odd number modulo 2^64 [H. S. Warren: Hacker's Delight, 10-16]. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (unsigned i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

/* Keys whose hashes differ in their last four bits only, and in the last and the first: the trie is
 * as deep as it can be. */
static void keys_that_look_alike_are_told_apart(void **state)
{
    (void)state;
    const uint64_t back = inverse(0x9e3779b97f4a7c15u);
    struct world world;
    uint64_t calls;
    make_world(&world, MIB);
    for (unsigned round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 16; i++) {
            call(&world, (0x1234567890abcde0u + i) * back);
            call(&world, (0x1234567890abcde0u + i + (i << 60)) * back);
        }
    assert_true(has_index(&world));
    assert_int_equal(count_children(&world, &calls), 31); /* of i 0 both keys are one */
    assert_int_equal(calls, 64);
    ledger__close(&world.ledger);
}

/* There are nodes for all children, and notes for the first few only: the rest is found in the
 * list, and no child is made twice. */
static void without_room_the_list_is_walked(void **state)
{
    (void)state;
    static ledger_ref nodes[1000];
    struct world world;
    uint64_t calls;
    make_world(&world, MIB);
    for (uint64_t key = 1; key <= 20; key++)
        call(&world, key);
    assert_true(has_index(&world));
    for (size_t i = 0; i < 1000; i++)
        nodes[i] = record_pool__node(&world.tree.pool);
    while (record_pool__note(&world.tree.pool))
        ;
    for (size_t i = 0; i < 1000; i++)
        record_pool__give_node(&world.tree.pool, nodes[i]);
    for (unsigned round = 0; round < 2; round++)
        for (uint64_t key = 1; key <= 1000; key++)
            call(&world, key);
    assert_int_equal(count_children(&world, &calls), 1000);
    assert_int_equal(calls, 2020);
    assert_int_equal(world.ledger.header->dropped_enters, 0);
    ledger__close(&world.ledger);
}

/* A child is unlinked, as one that is folded away, and its record is used for another. */
static void a_child_that_is_gone_is_not_found(void **state)
{
    (void)state;
    struct world world;
    uint64_t calls;
    make_world(&world, MIB);
    for (uint64_t key = 1; key <= 100; key++)
        call(&world, key);
    ledger_ref newest = node_at(&world, world.root)->first_child;
    assert_int_equal(node_at(&world, newest)->key, 100);
    struct ledger_node *root = ledger__at(&world.ledger, world.root);
    root->first_child = node_at(&world, newest)->next_sibling;
    root->last_hit = 0;
    record_pool__give_node(&world.tree.pool, newest);
    call(&world, 200);
    assert_int_equal(root->first_child, newest);
    assert_int_equal(child_index__find(&world.tree.pool, world.root, 100), 0);
    call(&world, 100);
    assert_int_not_equal(root->first_child, newest);
    assert_int_equal(child_index__find(&world.tree.pool, world.root, 100), root->first_child);
    assert_int_equal(child_index__find(&world.tree.pool, world.root, 200), newest);
    assert_int_equal(count_children(&world, &calls), 101);
    ledger__close(&world.ledger);
}

/* A side record takes its index with it: what is given back is enough for the next one. */
static void an_index_is_given_back(void **state)
{
    (void)state;
    struct world world;
    uint32_t chunks = 0;
    make_world(&world, 16 * MIB);
    for (unsigned round = 0; round < 100; round++) {
        struct ledger_node *root = ledger__at(&world.ledger, world.root);
        for (uint64_t key = 1; key <= 1000; key++)
            call(&world, key);
        assert_true(has_index(&world));
        for (ledger_ref ref = root->first_child, next; ref; ref = next) {
            next = node_at(&world, ref)->next_sibling;
            record_pool__give_node(&world.tree.pool, ref);
        }
        record_pool__give_side(&world.tree.pool, root->side);
        root->first_child = root->last_hit = root->side = 0;
        if (round == 1)
            chunks = world.ledger.header->chunks_used;
    }
    assert_int_equal(world.ledger.header->chunks_used, chunks);
    ledger__close(&world.ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_children_have_no_index),
        cmocka_unit_test(each_of_many_is_there_once),
        cmocka_unit_test(keys_that_look_alike_are_told_apart),
        cmocka_unit_test(without_room_the_list_is_walked),
        cmocka_unit_test(a_child_that_is_gone_is_not_found),
        cmocka_unit_test(an_index_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
