/* Calls for which the tree has no room: whatever is drawn, the current node is one of the method
 * that runs, every method has the calls that were made, and all that was charged stands in the
 * tree. */
#include "drawn_numbers.h"
#include "java_world.h"
#include "native/thread/thread_fold.h"
#include "native/thread/virtual_thread.h"
#include "native/tree/folded_calls.h"

#include <errno.h>
#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define KIB       UINT64_C(1024)
#define METHODS   60u
#define FIRST_KEY 40u
#define DEPTH_MAX 300u

/* What a thread did, by the test's own account. */
struct story {
    uint64_t keys[DEPTH_MAX];
    uint64_t tokens[DEPTH_MAX];
    const struct ledger_node *nodes[DEPTH_MAX]; /* at which the frames stand */
    unsigned depth;
    uint64_t calls[METHODS];
    uint64_t cpu_ns[METHODS + 1]; /* the last: outside any method */
    uint64_t seed;
};

static struct kernel_thread mine;
static struct ledger_kernel_thread record;

static struct java_world *make(uint64_t bytes)
{
    struct java_world *world = java_world__make(bytes, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    world->maker.excluded = NULL;
    java_world__begin_here(world, &mine, &record);
    assert_int_equal(start_java(&mine, "one", 1), 0);
    return world;
}

static uint64_t draw_number(struct story *story, uint64_t below)
{
    return next_mixed(&story->seed) % below;
}

static void check_current(const struct story *story)
{
    const struct ledger_node *current = mine.tree.current;
    if (story->depth == 0) {
        assert_int_equal(current->method, 0);
        return;
    }
    assert_int_equal(current->key, story->keys[story->depth - 1]);
    for (unsigned i = 0; i < story->depth; i++)
        assert_true(call_tree__stands(&mine.tree, story->tokens[i], story->nodes[i], DEPTH_MAX));
}

/* Some time passes. */
static void spend(struct story *story)
{
    uint64_t ns = draw_number(story, 1000);
    unsigned method =
        story->depth ? (unsigned)(story->keys[story->depth - 1] - FIRST_KEY) : METHODS;
    check_current(story);
    mine.tree.current->cpu_ns += ns;
    story->cpu_ns[method] += ns;
}

static void enter(struct story *story)
{
    uint64_t key = FIRST_KEY + draw_number(story, METHODS);
    story->keys[story->depth] = key;
    story->tokens[story->depth] = call_tree__push(&mine.tree, key);
    story->nodes[story->depth++] = mine.tree.current;
    story->calls[key - FIRST_KEY]++;
    spend(story);
}

/* One of the frames is gone, and those above it: by a return, an exception or both. */
static void leave(struct story *story)
{
    unsigned to =
        draw_number(story, 8) == 0 ? (unsigned)draw_number(story, story->depth) : story->depth - 1;
    if (to > 0 && draw_number(story, 2) == 0)
        call_tree__catch(&mine.tree, story->tokens[to - 1]);
    else
        call_tree__pop(&mine.tree, story->tokens[to]);
    story->depth = to;
    spend(story);
}

static void play_on(struct story *story, unsigned steps)
{
    while (steps-- > 0) {
        bool deeper = draw_number(story, 100) < (story->depth < 20 ? 60 : 47);
        if (story->depth == 0 || (deeper && story->depth < DEPTH_MAX))
            enter(story);
        else
            leave(story);
    }
}

static void leave_all(struct story *story)
{
    if (story->depth)
        call_tree__pop(&mine.tree, story->tokens[0]);
    story->depth = 0;
}

struct totals {
    uint64_t calls[METHODS];
    uint64_t cpu_ns[METHODS + 1];
};

static void sum_up(const struct ledger *ledger, ledger_ref ref, struct totals *totals)
{
    for (; ref; ref = node_at(ledger, ref)->next_sibling) {
        const struct ledger_node *node = node_at(ledger, ref);
        unsigned method = node->method ? (unsigned)(node->key - FIRST_KEY) : METHODS;
        assert_true(method <= METHODS);
        if (method < METHODS)
            totals->calls[method] += node->calls;
        totals->cpu_ns[method] += node->cpu_ns;
        sum_up(ledger, node->first_child, totals);
    }
}

static void check_totals(const struct ledger *ledger, const struct ledger_thread *thread,
                         const struct story *story)
{
    struct totals totals = {0};
    sum_up(ledger, thread->root, &totals);
    for (unsigned i = 0; i < METHODS; i++)
        assert_int_equal(totals.calls[i], story->calls[i]);
    for (unsigned i = 0; i <= METHODS; i++)
        assert_int_equal(totals.cpu_ns[i], story->cpu_ns[i]);
}

static void whatever_is_drawn_totals_are_right(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct story story = {.seed = seed};
        struct java_world *world = make(256 * KIB);
        const struct ledger_thread *thread = mine.thread;
        world->ledger.header->recursion = (uint32_t)(seed % 4); /* 0: all levels */
        mine.tree.current->cpu_ns = 0;
        play_on(&story, 60000);
        check_totals(&world->ledger, thread, &story);
        assert_int_not_equal(thread->folded, 0);
        leave_all(&story);
        check_current(&story);
        assert_int_equal(mine.tree.lost_depth, 0);
        assert_int_equal(thread->folded_path, 0);
        assert_int_equal(thread->lost_enters + world->ledger.header->dropped_enters, 0);
        assert_int_equal(world->ledger.header->full_error, ENOMEM);
        kernel_thread__end(&mine);
        ledger__close(&world->ledger);
    }
}

/* No room for a method's own node: that is a lost call, charged to its caller. */
static void only_what_a_method_itself_has_no_room_for_is_lost(void **state)
{
    (void)state;
    struct story story = {.seed = 5};
    struct java_world *world = make(256 * KIB);
    const struct ledger_thread *thread = mine.thread;
    for (unsigned i = 0; i < METHODS; i++)
        (void)make_letter_method(&world->maker, FIRST_KEY + i);
    while (ledger__take_shared(&world->ledger, LEDGER_STRINGS, 63))
        ;
    mine.tree.pool.nodes.end = mine.tree.pool.nodes.next + 5;
    uint64_t made = 0, calls = 0;
    for (unsigned i = 0; i < METHODS; i++) {
        story.tokens[i] = call_tree__push(&mine.tree, FIRST_KEY + i);
        story.nodes[i] = mine.tree.current;
        made++;
    }
    call_tree__pop(&mine.tree, story.tokens[0]);
    assert_int_equal(mine.tree.current->method, 0);
    struct totals totals = {0};
    sum_up(&world->ledger, thread->root, &totals);
    for (unsigned i = 0; i < METHODS; i++)
        calls += totals.calls[i];
    assert_int_not_equal(thread->lost_enters, 0);
    assert_int_equal(calls + thread->lost_enters, made);
    kernel_thread__end(&mine);
    ledger__close(&world->ledger);
}

static ledger_ref begin_virtual(const char *name, uint64_t id)
{
    const struct java_thread_facts facts = {
        .name = name, .name_length = strlen(name), .kind = THREAD_VIRTUAL, .java_id = id};
    return virtual_thread__begin(&mine, &facts);
}

/* Four virtual threads take turns, in the middle of such calls, and then end. */
static void a_virtual_thread_takes_its_calls_along(void **state)
{
    (void)state;
    struct story stories[4] = {{.seed = 11}, {.seed = 12}, {.seed = 13}, {.seed = 14}};
    struct story sum = {0};
    ledger_ref threads[4];
    struct java_world *world = make(1024 * KIB);
    world->ledger.header->recursion = 2;
    world->ledger.header->kept_threads = THREADS_KEPT;
    for (unsigned i = 0; i < 4; i++)
        threads[i] = begin_virtual("virtual", i + 2);
    for (unsigned turn = 0; turn < 1200; turn++) {
        struct story *story = &stories[turn % 4];
        struct ledger_thread *thread = ledger__at(&world->ledger, threads[turn % 4]);
        assert_true(virtual_thread__mount(&mine, threads[turn % 4]));
        check_current(story);
        play_on(story, 300);
        virtual_thread__unmount(&mine);
        assert_int_equal(thread->folded_depth, thread->lost_depth & ~CALL_TREE_FLAGS);
    }
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < METHODS; j++)
            sum.calls[j] += stories[i].calls[j];
        assert_false(virtual_thread__end(&mine, threads[i]));
    }
    const struct ledger_thread *group = find_thread(&world->ledger, 2);
    struct totals totals = {0};
    sum_up(&world->ledger, group->root, &totals);
    for (unsigned j = 0; j < METHODS; j++)
        assert_int_equal(totals.calls[j], sum.calls[j]);
    assert_int_equal(group->members, 4);
    assert_int_equal(world->ledger.header->folded_threads, 4);
    assert_int_equal(group->folded_path, 0);
    kernel_thread__end(&mine);
    ledger__close(&world->ledger);
}

/* A thread that is over is added to its group though the group has no room for its contexts: these
 * are below (folded), method by method. */
static void a_thread_is_folded_into_a_full_ledger(void **state)
{
    (void)state;
    char text[DRAWING_BYTES];
    struct java_world *world = make(256 * KIB);
    world->ledger.header->kept_threads = THREADS_KEPT;
    ledger_ref group = begin_virtual("v-1", 2), other = begin_virtual("v-2", 3);
    static const char *const programs[] = {"A /A", "A B C /C /B D C /C /D /A C /C"};
    for (unsigned i = 0; i < 2; i++) {
        assert_true(virtual_thread__mount(&mine, i ? other : group));
        play(&mine.tree, programs[i]);
        virtual_thread__unmount(&mine);
    }
    while (!ledger__is_tight(&world->ledger))
        (void)ledger__take_shared(&world->ledger, LEDGER_STRINGS, 63);
    mine.tree.pool.nodes = (struct ledger_arena){0};
    assert_false(virtual_thread__end(&mine, group));
    assert_false(virtual_thread__end(&mine, other));
    const struct ledger_thread *thread = find_thread(&world->ledger, 2);
    assert_string_equal(draw(&world->ledger, thread->root, text),
                        "root\n  A 2\n  folded 5\n    C 3\n    D 1\n    B 1\n");
    kernel_thread__end(&mine);
    ledger__close(&world->ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_drawn_totals_are_right),
        cmocka_unit_test(only_what_a_method_itself_has_no_room_for_is_lost),
        cmocka_unit_test(a_virtual_thread_takes_its_calls_along),
        cmocka_unit_test(a_thread_is_folded_into_a_full_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
