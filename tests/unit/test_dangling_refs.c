/* A ledger as it may have been copied while it was written: each link to what is not there yet is
 * cut, and nothing else. */
#include "drawn_samples.h"
#include "java_world.h"
#include "native/snapshot/dangling_refs.h"
#include "native/tree/sample_tree.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB     (UINT64_C(1) << 20)
#define PARENT  1
#define CHILD   2
#define NOWHERE UINT32_C(0x7fff0001)
#define NOT_YET (LEDGER_CHUNK_CELLS - 1) /* of a chunk: its last cell is not in use here */

struct family {
    struct java_world *world;
    struct ledger *ledger;
    struct ledger_thread *parent;
    struct ledger_thread *child;
    ledger_ref a; /* the parent's nodes: A calls B twice and C; D */
    ledger_ref b;
    ledger_ref c;
};

static struct ledger_thread *add(struct java_world *world, struct kernel_thread *mine,
                                 const char *name, uint64_t id, ledger_ref parent)
{
    const struct java_thread_facts facts = {.name = name,
                                            .name_length = strlen(name),
                                            .kind = THREAD_VIRTUAL,
                                            .java_id = id,
                                            .parent = parent};
    return ledger__at(&world->ledger, kernel_thread__add_thread(mine, &facts));
}

static struct family make_family(void)
{
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    static struct kernel_thread mine;
    static struct ledger_kernel_thread record;
    assert_non_null(world);
    struct ledger *ledger = &world->ledger;
    struct family family = {.world = world, .ledger = ledger};
    java_world__begin_here(world, &mine, &record);
    family.parent = add(world, &mine, "parent", PARENT, 0);
    family.child = add(world, &mine, "child", CHILD, ledger__ref(ledger, family.parent));
    call_tree__go_to(&mine.tree, family.parent->root, 0);
    play(&mine.tree, "A B /B B /B C /C /A D /D");
    family.a = child_of(ledger, family.parent->root, 'A');
    family.b = child_of(ledger, family.a, 'B');
    family.c = child_of(ledger, family.a, 'C');
    kernel_thread__end(&mine);
    return family;
}

static struct ledger_node *node_of(const struct family *family, ledger_ref ref)
{
    return ledger__at(family->ledger, ref);
}

static void check_tree(const struct family *family, const char *drawn)
{
    char text[DRAWING_BYTES];
    dangling_refs__cut(family->ledger);
    assert_string_equal(draw(family->ledger, family->parent->root, text), drawn);
}

static void what_is_whole_stays(void **state)
{
    (void)state;
    struct family family = make_family();
    check_tree(&family, "root\n  A 1\n    B 2\n    C 1\n  D 1\n");
    assert_int_equal(family.child->kind, THREAD_VIRTUAL);
    assert_ptr_equal(ledger__at(family.ledger, family.child->parent), family.parent);
    assert_true(is_named(family.ledger, family.child->name, "child"));
}

static void a_node_that_is_not_filled_in(void **state)
{
    (void)state;
    struct family family = make_family();
    node_of(&family, family.c)->kind_and_level = 0;
    check_tree(&family, "root\n  A 1\n  D 1\n"); /* C is before B in the list */
}

static void a_node_that_is_used_elsewhere(void **state)
{
    (void)state;
    struct family family = make_family();
    node_of(&family, family.b)->parent = family.parent->root;
    check_tree(&family, "root\n  A 1\n    C 1\n  D 1\n");
}

static void a_link_to_nowhere(void **state)
{
    (void)state;
    struct family family = make_family();
    node_of(&family, family.b)->first_child = NOWHERE;
    node_of(&family, family.c)->side = NOWHERE;
    check_tree(&family, "root\n  A 1\n    B 2\n    C 1\n  D 1\n");
    assert_int_equal(node_of(&family, family.c)->side, 0);
}

static void a_method_that_is_not_filled_in(void **state)
{
    (void)state;
    struct family family = make_family();
    struct ledger_method *b = ledger__at(family.ledger, node_of(&family, family.b)->method);
    b->name = 0;
    check_tree(&family, "root\n  A 1\n    C 1\n  D 1\n");
}

static ledger_ref take(const struct family *family, enum ledger_table table, size_t bytes)
{
    ledger_ref ref =
        ledger__take_shared(family->ledger, table, (uint32_t)(bytes / LEDGER_CELL_BYTES));
    assert_int_not_equal(ref, 0);
    return ref;
}

/* While classes are loaded: B's name was not there yet when its place was copied. B is out, and so
 * is what was sampled in it, and when it had hooks; what C has of these stays. */
static void a_method_without_its_name_takes_along_what_is_nothing_without(void **state)
{
    (void)state;
    struct family family = make_family();
    ledger_ref method[] = {node_of(&family, family.b)->method, node_of(&family, family.c)->method};
    struct ledger_hooking *hooking[2];
    struct ledger_tally *tally[2];
    struct ledger_code *code[2];
    struct ledger_place *place[4];
    for (int i = 0; i < 2; i++) {
        ledger_ref ref = take(&family, LEDGER_CODE, sizeof **code);
        hooking[i] = ledger__at(family.ledger, take(&family, LEDGER_HOOKINGS, sizeof **hooking));
        tally[i] = ledger__at(family.ledger, take(&family, LEDGER_TALLIES, sizeof **tally));
        code[i] = ledger__at(family.ledger, ref);
        hooking[i]->method = tally[i]->method = code[i]->method = method[i];
        tally[i]->thread = ledger__ref(family.ledger, family.parent);
        for (int j = i; j < 4; j += 2) {
            place[j] = ledger__at(family.ledger, take(&family, LEDGER_PLACES, sizeof **place));
            place[j]->owner = j < 2 ? method[i] : ref;
        }
    }
    struct ledger_method *b = ledger__at(family.ledger, method[0]);
    struct ledger_method *c = ledger__at(family.ledger, method[1]);
    b->name += NOT_YET - b->name % LEDGER_CHUNK_CELLS;
    c->lines = c->source = c->bytecode = b->name;
    c->image = NOWHERE;
    check_tree(&family, "root\n  A 1\n    C 1\n  D 1\n");
    assert_int_not_equal(b->flags & METHOD_DEAD, 0);
    assert_int_equal(c->flags & METHOD_DEAD, 0);
    assert_int_equal(c->lines | c->source | c->bytecode | c->image, 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(hooking[i]->method, i ? method[i] : 0);
        assert_int_equal(tally[i]->thread != 0, i);
        assert_int_equal(code[i]->method, i ? method[i] : 0);
        assert_int_equal(place[i]->owner != 0, i);
        assert_int_equal(place[i + 2]->owner != 0, i);
    }
    assert_int_equal(family.ledger->header->senseless_records, 0);
}

static void a_block_has_only_strings_and_methods(void **state)
{
    (void)state;
    struct family family = make_family();
    ledger_ref method = node_of(&family, family.b)->method, ref[2];
    struct ledger_block *block[2];
    for (int i = 0; i < 2; i++) {
        ref[i] = take(&family, LEDGER_BLOCKS, sizeof **block);
        block[i] = ledger__at(family.ledger, ref[i]);
        block[i]->key = 1;
        block[i]->waiter = block[i]->holder = block[i]->class_name = family.child->name;
        block[i]->waiter_path[0] = block[i]->holder_path[0] = method;
    }
    block[0]->holder = block[0]->class_name = NOWHERE;
    block[0]->waiter_path[0] = family.b;
    block[0]->holder_path[0] = NOWHERE;
    block[1]->waiter = NOWHERE;
    family.parent->block = NOWHERE;
    family.child->block = ref[1];
    dangling_refs__cut(family.ledger);
    assert_int_equal(block[0]->holder | block[0]->class_name, 0);
    assert_int_equal(block[0]->waiter_path[0] | block[0]->holder_path[0], 0);
    assert_int_equal(block[0]->key, 1);
    assert_int_equal(block[1]->key, 0);
    assert_int_equal(block[1]->waiter_path[0], method);
    assert_int_equal(family.parent->block, 0);
    assert_int_equal(family.child->block, ref[1]);
}

static void a_histogram_without_its_method_is_none(void **state)
{
    (void)state;
    struct family family = make_family();
    ledger_ref method = node_of(&family, family.b)->method;
    const ledger_ref methods[] = {method, NOWHERE, family.b};
    struct ledger_latency *latency[3];
    for (int i = 0; i < 3; i++) {
        latency[i] = ledger__at(family.ledger, take(&family, LEDGER_LATENCIES, sizeof **latency));
        latency[i]->method = methods[i];
    }
    dangling_refs__cut(family.ledger);
    assert_int_equal(latency[0]->method, method);
    assert_int_equal(latency[1]->method, 0);
    assert_int_equal(latency[2]->method, 0);
}

/* What is left of it is for the tools to judge. */
static void a_hazard_has_only_strings(void **state)
{
    (void)state;
    struct family family = make_family();
    ledger_ref name = family.child->name;
    struct ledger_stuck *stuck =
        ledger__at(family.ledger, take(&family, LEDGER_STUCK, sizeof *stuck));
    struct ledger_order *order =
        ledger__at(family.ledger, take(&family, LEDGER_ORDERS, sizeof *order));
    stuck->deadlock = order->key = 1;
    stuck->thread = order->class_name[0] = order->gate_class[1] = stuck->path[1] = name;
    stuck->class_name = order->thread = NOWHERE;
    order->class_name[1] = order->gate_class[0] = family.b;
    stuck->path[0] = order->path[0] = family.b;
    order->path[HAZARD_FRAMES - 1] = NOWHERE;
    dangling_refs__cut(family.ledger);
    assert_int_equal(stuck->thread, name);
    assert_int_equal(stuck->path[1], name);
    assert_int_equal(stuck->class_name | stuck->path[0], 0);
    assert_int_equal(order->class_name[0], name);
    assert_int_equal(order->gate_class[1], name);
    assert_int_equal(order->thread | order->class_name[1] | order->gate_class[0], 0);
    assert_int_equal(order->path[0] | order->path[HAZARD_FRAMES - 1], 0);
}

/* One that was being written when it was copied is none. */
static void a_part_is_whole_or_none(void **state)
{
    (void)state;
    struct family family = make_family();
    struct ledger_part *part[4];
    for (unsigned i = 0; i < 4; i++) {
        part[i] = ledger__at(family.ledger, take(&family, LEDGER_PARTS, sizeof *part[i]));
        part[i]->state = 5u << PART_STATE_BITS | (i == 1 ? PART_OPEN : PART_DONE);
        part[i]->id[0] = 7;
        part[i]->thread = family.child->name;
        part[i]->check = ledger_part__check(part[i]);
    }
    part[0]->thread = NOWHERE;
    part[0]->path[0] = NOWHERE;
    part[0]->path[1] = family.a;
    part[2]->elapsed_ns++;
    part[3]->state ^= PART_DONE ^ PART_WRITING;
    dangling_refs__cut(family.ledger);
    assert_int_equal(part[0]->thread | part[0]->path[0] | part[0]->path[1], 0);
    assert_true(ledger_part__is_whole(part[0]));
    assert_true(ledger_part__is_whole(part[1]));
    assert_int_equal(part[1]->thread, family.child->name);
    assert_int_equal(part[2]->state | part[3]->state | part[2]->id[0] | part[3]->id[0], 0);
    assert_int_equal(family.ledger->header->torn_parts, 2);
}

static void a_thread_without_its_root(void **state)
{
    (void)state;
    struct family family = make_family();
    node_of(&family, family.parent->root)->kind_and_level = 0;
    dangling_refs__cut(family.ledger);
    assert_int_equal(family.parent->kind, 0);
    assert_int_equal(family.parent->root, 0);
    assert_int_equal(family.child->kind, THREAD_VIRTUAL);
    assert_int_equal(family.child->parent, 0);
}

static void a_thread_without_its_name(void **state)
{
    (void)state;
    struct family family = make_family();
    family.child->name = family.child->name - family.child->name % LEDGER_CHUNK_CELLS + NOT_YET;
    dangling_refs__cut(family.ledger);
    assert_int_equal(family.child->kind, 0);
    assert_int_equal(family.parent->kind, THREAD_VIRTUAL);
}

/* Folded away, and used again by another thread. */
static void a_parent_that_is_another_thread_by_now(void **state)
{
    (void)state;
    struct family family = make_family();
    family.parent->java_id = 99;
    dangling_refs__cut(family.ledger);
    assert_int_equal(family.child->parent, 0);
    assert_int_equal(family.parent->kind, THREAD_VIRTUAL);
}

static void a_circle_has_an_end(void **state)
{
    (void)state;
    struct family family = make_family();
    node_of(&family, family.b)->next_sibling = family.c;
    check_tree(&family, "root\n  A 1\n    B 2\n    C 1\n  D 1\n");
    assert_int_equal(family.ledger->header->senseless_records, 1);
}

/* Folding would free the nodes twice. */
static void two_threads_have_no_tree_in_common(void **state)
{
    (void)state;
    struct family family = make_family();
    family.child->root = family.parent->root;
    check_tree(&family, "root\n  A 1\n    B 2\n    C 1\n  D 1\n");
    assert_int_equal(family.child->kind, 0);
    assert_int_equal(family.ledger->header->senseless_records, 1);
}

static void a_name_that_is_longer_than_its_chunk(void **state)
{
    (void)state;
    struct family family = make_family();
    ((struct ledger_string *)ledger__at(family.ledger, family.child->name))->length = UINT32_MAX;
    dangling_refs__cut(family.ledger);
    assert_int_equal(family.child->kind, 0);
    assert_int_equal(family.parent->kind, THREAD_VIRTUAL);
}

static ledger_ref add_rename(const struct family *family, const char *name)
{
    ledger__rename_thread(family->ledger, family->parent, name, strlen(name), 1);
    return family->parent->renames;
}

static void renames_in_a_circle(void **state)
{
    (void)state;
    struct family family = make_family();
    ledger_ref first = add_rename(&family, "first");
    ledger_ref second = add_rename(&family, "second");
    struct ledger_rename *oldest = ledger__at(family.ledger, first);
    assert_int_equal(((struct ledger_rename *)ledger__at(family.ledger, second))->older, first);
    oldest->older = second;
    family.parent->rename_count = UINT32_MAX;
    dangling_refs__cut(family.ledger);
    assert_int_equal(family.parent->renames, second);
    assert_int_equal(oldest->older, 0);
    assert_int_equal(family.ledger->header->senseless_records, 1);
}

/* Where a side record is there is no node, whatever its bytes say. */
static void a_node_in_the_chunk_of_another_table(void **state)
{
    (void)state;
    struct family family = make_family();
    ledger_ref side = ledger__take_shared(family.ledger, LEDGER_SIDES,
                                          sizeof(struct ledger_side) / LEDGER_CELL_BYTES);
    *node_of(&family, side) = *node_of(&family, family.b);
    node_of(&family, family.c)->next_sibling = side;
    check_tree(&family, "root\n  A 1\n    C 1\n  D 1\n");
    assert_int_equal(family.ledger->header->senseless_records, 1);
}

/* A node's time would go to what is in no tree. */
static void a_position_in_no_tree(void **state)
{
    (void)state;
    struct family family = make_family();
    family.parent->current = family.a;
    dangling_refs__cut(family.ledger);
    assert_int_equal(family.parent->current, family.a);
    family = make_family();
    family.parent->current = family.parent->root;
    node_of(&family, family.parent->root)->first_child = 0;
    family.parent->current = family.a;
    dangling_refs__cut(family.ledger);
    assert_int_equal(family.parent->current, family.parent->root);
}

/* Below A: p, which calls q and r, and s. */
struct sampled_family {
    struct family family;
    ledger_ref p, q, r, s;
};

static ledger_ref add_sampled(struct family *family, ledger_ref parent, char letter)
{
    static struct record_pool pool;
    pool = (struct record_pool){.ledger = family->ledger};
    ledger_ref method = make_letter_method(&family->world->maker, (uint64_t)letter);
    ledger_ref ref = sample_tree__child(&pool, parent, NODE_SAMPLED, method, false);
    assert_int_not_equal(ref, 0);
    node_of(family, ref)->cpu_samples = 1;
    return ref;
}

static struct sampled_family make_sampled_family(void)
{
    struct sampled_family all = {.family = make_family()};
    all.p = add_sampled(&all.family, all.family.a, 'p');
    all.q = add_sampled(&all.family, all.p, 'q');
    all.r = add_sampled(&all.family, all.p, 'r');
    all.s = add_sampled(&all.family, all.family.a, 's');
    return all;
}

#define WHOLE_SAMPLES "java p 1 0 0\n  java q 1 0 0\n  java r 1 0 0\njava s 1 0 0\n"

/* Exact nodes do not suffer. */
static void check_samples(const struct sampled_family *all, const char *drawn)
{
    char text[DRAWING_BYTES];
    check_tree(&all->family, "root\n  A 1\n    B 2\n    C 1\n  D 1\n");
    assert_string_equal(draw_samples(all->family.ledger, all->family.a, text), drawn);
}

static void samples_that_are_whole_stay(void **state)
{
    (void)state;
    struct sampled_family all = make_sampled_family();
    check_samples(&all, WHOLE_SAMPLES);
}

/* Newest first: s, then p; r, then q. */
static void sampled_links_that_lead_nowhere(void **state)
{
    (void)state;
    static const char *const drawn[] = {
        "",                                             /* A's own */
        "java s 1 0 0\n",                               /* from s to p */
        "java p 1 0 0\njava s 1 0 0\n",                 /* below p */
        "java p 1 0 0\n  java r 1 0 0\njava s 1 0 0\n", /* from r to q */
        WHOLE_SAMPLES,                                  /* below q, where nothing was */
    };
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++) {
        for (int there = 0; there < 2; there++) {
            struct sampled_family all = make_sampled_family();
            ledger_ref *const links[] = {&node_of(&all.family, all.family.a)->sampled,
                                         &node_of(&all.family, all.s)->next_sibling,
                                         &node_of(&all.family, all.p)->first_child,
                                         &node_of(&all.family, all.r)->next_sibling,
                                         &node_of(&all.family, all.q)->first_child};
            /* To no place of the file, or to an exact node, which is nobody's sample. */
            *links[i] = there ? all.family.b : NOWHERE;
            check_samples(&all, drawn[i]);
        }
    }
}

static void a_sampled_node_that_is_not_filled_in(void **state)
{
    (void)state;
    struct sampled_family all = make_sampled_family();
    node_of(&all.family, all.r)->kind_and_level = 0;
    check_samples(&all, "java p 1 0 0\njava s 1 0 0\n");
    all = make_sampled_family();
    node_of(&all.family, all.q)->method = NOWHERE;
    check_samples(&all, "java p 1 0 0\n  java r 1 0 0\njava s 1 0 0\n");
    all = make_sampled_family();
    node_of(&all.family, all.p)->parent = all.family.b;
    check_samples(&all, "java s 1 0 0\n");
}

/* A sampled child among the exact ones, or below one that has exact nodes. */
static void sampled_nodes_in_circles(void **state)
{
    (void)state;
    struct sampled_family all = make_sampled_family();
    node_of(&all.family, all.q)->next_sibling = all.r; /* r, q, r, … */
    check_samples(&all, WHOLE_SAMPLES);
    all = make_sampled_family();
    node_of(&all.family, all.q)->first_child = all.p; /* p is not below q */
    check_samples(&all, WHOLE_SAMPLES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_whole_stays),
        cmocka_unit_test(a_node_that_is_not_filled_in),
        cmocka_unit_test(a_node_that_is_used_elsewhere),
        cmocka_unit_test(a_link_to_nowhere),
        cmocka_unit_test(a_method_that_is_not_filled_in),
        cmocka_unit_test(a_method_without_its_name_takes_along_what_is_nothing_without),
        cmocka_unit_test(a_block_has_only_strings_and_methods),
        cmocka_unit_test(a_histogram_without_its_method_is_none),
        cmocka_unit_test(a_hazard_has_only_strings),
        cmocka_unit_test(a_part_is_whole_or_none),
        cmocka_unit_test(a_thread_without_its_root),
        cmocka_unit_test(a_thread_without_its_name),
        cmocka_unit_test(a_parent_that_is_another_thread_by_now),
        cmocka_unit_test(a_circle_has_an_end),
        cmocka_unit_test(two_threads_have_no_tree_in_common),
        cmocka_unit_test(a_name_that_is_longer_than_its_chunk),
        cmocka_unit_test(renames_in_a_circle),
        cmocka_unit_test(a_node_in_the_chunk_of_another_table),
        cmocka_unit_test(a_position_in_no_tree),
        cmocka_unit_test(samples_that_are_whole_stay),
        cmocka_unit_test(sampled_links_that_lead_nowhere),
        cmocka_unit_test(a_sampled_node_that_is_not_filled_in),
        cmocka_unit_test(sampled_nodes_in_circles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
