/* Sampled frames below exact nodes: made once, counted, added to another tree, freed. */
#include "drawn_samples.h"
#include "native/tree/sample_tree.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB (UINT64_C(1) << 20)

struct grove {
    struct ledger ledger;
    struct method_maker maker;
    struct call_tree tree;
    ledger_ref one; /* two roots */
    ledger_ref two;
    struct ledger_transfer note;
};

static struct grove *plant(uint64_t bytes)
{
    static struct grove grove;
    memset(&grove, 0, sizeof grove);
    assert_int_equal(ledger__create(&grove.ledger, NULL, bytes), 0);
    grove.maker.ledger = &grove.ledger;
    call_tree__init(&grove.tree, &grove.ledger, make_letter_method, &grove.maker);
    grove.one = call_tree__add_plain_node(&grove.tree, 0, NODE_ROOT);
    grove.two = call_tree__add_plain_node(&grove.tree, 0, NODE_ROOT);
    return &grove;
}

static struct ledger_node *node_of(struct grove *grove, ledger_ref ref)
{
    return ledger__at(&grove->ledger, ref);
}

static ledger_ref add(struct grove *grove, ledger_ref parent, enum ledger_node_kind kind,
                      char letter, uint64_t cpu, uint64_t wall)
{
    ledger_ref method = letter ? make_letter_method(&grove->maker, (uint64_t)letter) : 0;
    ledger_ref ref = sample_tree__child(&grove->tree.pool, parent, kind, method, false);
    assert_int_not_equal(ref, 0);
    sample_tree__add(&node_of(grove, ref)->cpu_samples, cpu);
    sample_tree__add(&node_of(grove, ref)->wall_samples, wall);
    return ref;
}

static void a_child_is_made_once(void **state)
{
    (void)state;
    struct grove *grove = plant(MIB);
    struct record_pool *pool = &grove->tree.pool;
    ledger_ref a = make_letter_method(&grove->maker, 'a');
    ledger_ref b = make_letter_method(&grove->maker, 'b');
    ledger_ref java = sample_tree__child(pool, grove->one, NODE_SAMPLED, a, false);
    ledger_ref self = sample_tree__child(pool, grove->one, NODE_SAMPLED, a, true);
    ledger_ref native = sample_tree__child(pool, grove->one, NODE_NATIVE, a, false);
    ledger_ref other = sample_tree__child(pool, grove->one, NODE_SAMPLED, b, false);
    ledger_ref kernel = sample_tree__child(pool, java, NODE_KERNEL, 0, false);
    char text[DRAWING_BYTES];
    assert_int_equal(sample_tree__child(pool, grove->one, NODE_SAMPLED, a, false), java);
    assert_int_equal(sample_tree__child(pool, grove->one, NODE_SAMPLED, a, true), self);
    assert_int_equal(sample_tree__child(pool, grove->one, NODE_NATIVE, a, false), native);
    assert_int_equal(sample_tree__child(pool, grove->one, NODE_SAMPLED, b, false), other);
    assert_int_equal(sample_tree__child(pool, java, NODE_KERNEL, 0, false), kernel);
    assert_true(ledger_node__is_self(node_of(grove, self)));
    assert_false(ledger_node__is_self(node_of(grove, java)));
    assert_int_equal(node_of(grove, kernel)->parent, java);
    assert_int_equal(node_of(grove, java)->parent, grove->one);
    assert_string_equal(draw_samples(&grove->ledger, grove->one, text),
                        "java a 0 0 0\n  kernel 0 0 0\nself a 0 0 0\nnative a 0 0 0\n"
                        "java b 0 0 0\n");
    /* Exact nodes know nothing of it. */
    assert_int_equal(node_of(grove, grove->one)->first_child, 0);
    assert_int_equal(node_of(grove, grove->two)->sampled, 0);
    ledger__close(&grove->ledger);
}

static void places_are_counted(void **state)
{
    (void)state;
    struct grove *grove = plant(MIB);
    ledger_ref a = make_letter_method(&grove->maker, 'a');
    struct ledger_method *method = ledger__at(&grove->ledger, a);
    static const struct {
        uint64_t offset;
        int32_t bci;
        bool wall;
    } samples[] = {{0, 3, false}, {0, 3, true},  {0, 4, false}, {0, 3, false},
                   {8, 3, false}, {0, 4, false}, {0, -1, true}};
    static const struct {
        uint64_t offset;
        int32_t bci;
        uint64_t cpu, wall;
    } expected[] = {{0, -1, 0, 1}, {8, 3, 1, 0}, {0, 4, 2, 0}, {0, 3, 2, 1}}; /* newest first */
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        struct sample_place place = {.owner = a,
                                     .first = &method->places,
                                     .offset = samples[i].offset,
                                     .bci = samples[i].bci};
        assert_true(sample_tree__count_place(&grove->ledger, &place, samples[i].wall));
    }
    ledger_ref ref = method->places;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct ledger_place *place = ledger__at(&grove->ledger, ref);
        assert_int_not_equal(ref, 0);
        assert_int_equal(place->owner, a);
        assert_int_equal(place->offset, expected[i].offset);
        assert_int_equal(place->bci, expected[i].bci);
        assert_int_equal(place->cpu_samples, expected[i].cpu);
        assert_int_equal(place->wall_samples, expected[i].wall);
        ref = place->next;
    }
    assert_int_equal(ref, 0);
    ledger__close(&grove->ledger);
}

/* One:  a 1        Two: a 10       Sum: a 11
 *         b 2             c 20           c 20
 *           kernel 3    d 0 40           b 2
 *         native f 4                       kernel 3
 *       d 5 6                            native f 4
 *                                      d 5 46     */
static void grow_both(struct grove *grove)
{
    ledger_ref a = add(grove, grove->one, NODE_SAMPLED, 'a', 1, 0);
    ledger_ref b = add(grove, a, NODE_SAMPLED, 'b', 2, 0);
    (void)add(grove, b, NODE_KERNEL, 0, 3, 0);
    (void)add(grove, a, NODE_NATIVE, 'f', 4, 0);
    (void)add(grove, grove->one, NODE_SAMPLED, 'd', 5, 6);
    node_of(grove, b)->interpreted = 7;
    a = add(grove, grove->two, NODE_SAMPLED, 'a', 10, 0);
    (void)add(grove, a, NODE_SAMPLED, 'c', 20, 0);
    (void)add(grove, grove->two, NODE_SAMPLED, 'd', 0, 40);
}

static void trees_are_added(void **state)
{
    (void)state;
    struct grove *grove = plant(MIB);
    char text[DRAWING_BYTES];
    grow_both(grove);
    sample_tree__add_all(&grove->tree.pool, &grove->note, grove->one, grove->two);
    /* Lists have the newest first, and are added in that order. */
    assert_string_equal(draw_samples(&grove->ledger, grove->two, text), "java a 11 0 0\n"
                                                                        "  java c 20 0 0\n"
                                                                        "  native f 4 0 0\n"
                                                                        "  java b 2 0 7\n"
                                                                        "    kernel 3 0 0\n"
                                                                        "java d 5 46 0\n");
    /* None is there twice. */
    assert_string_equal(draw_samples(&grove->ledger, grove->one, text), "java a 0 0 0\n"
                                                                        "  java b 0 0 0\n"
                                                                        "    kernel 0 0 0\n"
                                                                        "  native f 0 0 0\n"
                                                                        "java d 0 0 0\n");
    assert_int_equal(grove->ledger.header->dropped_samples, 0);
    /* Nothing to nothing. */
    sample_tree__free_all(&grove->tree.pool, grove->one);
    sample_tree__add_all(&grove->tree.pool, &grove->note, grove->one, grove->two);
    sample_tree__free_all(&grove->tree.pool, grove->one);
    ledger__close(&grove->ledger);
}

/* What is freed is used again before anything new is taken. */
static void freed_nodes_are_used_again(void **state)
{
    (void)state;
    struct grove *grove = plant(MIB);
    char text[DRAWING_BYTES];
    ledger_ref all[8];
    grow_both(grove);
    sample_tree__free_all(&grove->tree.pool, grove->one);
    assert_int_equal(node_of(grove, grove->one)->sampled, 0);
    assert_string_equal(draw_samples(&grove->ledger, grove->two, text),
                        "java a 10 0 0\n  java c 20 0 0\njava d 0 40 0\n");
    uint32_t chunks = grove->ledger.header->chunks_used;
    ledger_ref next = grove->tree.pool.nodes.next;
    for (int i = 0; i < 5; i++)
        all[i] = add(grove, grove->two, NODE_SAMPLED, (char)('p' + i), 0, 0);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++)
            assert_int_not_equal(all[i], all[j]);
    assert_int_equal(grove->tree.pool.nodes.next, next);
    assert_int_equal(node_of(grove, all[0])->cpu_samples, 0);
    (void)chunks;
    ledger__close(&grove->ledger);
}

/* 1 + 2 + 3 + 4 + 5 + 6 samples are there; those of nodes that there is no room for are counted. */
static void a_full_ledger_counts_what_it_drops(void **state)
{
    (void)state;
    struct grove *grove = plant(64u << 10);
    struct record_pool *pool = &grove->tree.pool;
    char text[DRAWING_BYTES];
    grow_both(grove);
    while (record_pool__node(pool) != 0)
        ;
    assert_int_equal(sample_tree__child(pool, grove->two, NODE_KERNEL, 0, false), 0);
    sample_tree__add_all(pool, &grove->note, grove->one, grove->two);
    /* a and d were there; b, kernel and f were not. */
    assert_string_equal(draw_samples(&grove->ledger, grove->two, text),
                        "java a 11 0 0\n  java c 20 0 0\njava d 5 46 0\n");
    assert_int_equal(grove->ledger.header->dropped_samples, 2 + 3 + 4);

    ledger_ref method = node_of(grove, node_of(grove, grove->two)->sampled)->method;
    struct ledger_method *record = ledger__at(&grove->ledger, method);
    struct sample_place place = {.owner = method, .first = &record->places, .bci = 1};
    while (ledger__take_shared(&grove->ledger, LEDGER_PLACES, 1) != 0)
        ;
    assert_false(sample_tree__count_place(&grove->ledger, &place, false));
    assert_int_equal(record->places, 0);
    ledger__close(&grove->ledger);
}

/* A handler has no time to look through any number of parents. */
static void who_has_too_many_parents_is_nobodys(void **state)
{
    (void)state;
    struct ledger ledger;
    struct ledger_arena arena = {0};
    assert_int_equal(ledger__create(&ledger, NULL, 1u << 20), 0);
    ledger_ref parent = ledger__take(&ledger, &arena, LEDGER_NODES, 1);
    const struct ledger_thread thread = {.root = parent};
    for (int i = 0; i < 100; i++) {
        ledger_ref ref = ledger__take(&ledger, &arena, LEDGER_NODES, 1);
        ((struct ledger_node *)ledger__at(&ledger, ref))->parent = parent;
        parent = ref;
    }
    assert_true(sample_tree__is_of(&ledger, ledger__at(&ledger, parent), &thread, 100));
    assert_false(sample_tree__is_of(&ledger, ledger__at(&ledger, parent), &thread, 99));
    ledger__close(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_too_many_parents_is_nobodys),
        cmocka_unit_test(a_child_is_made_once),
        cmocka_unit_test(places_are_counted),
        cmocka_unit_test(trees_are_added),
        cmocka_unit_test(freed_nodes_are_used_again),
        cmocka_unit_test(a_full_ledger_counts_what_it_drops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
