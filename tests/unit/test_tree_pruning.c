/* Pruning: however long a drawn program goes on in little memory, calls and times of each method
 * are its own account's, what is hot has its node, and nothing is taken from under who stands on
 * it. */
#include "drawn_story.h"

#include <stdlib.h>

#define HOT_NS 2000000u

/* With recursion=2 few methods: most paths come to frames that are folded. */
static uint64_t draw_key(struct story *story)
{
    return FIRST_KEY + draw_number(story, mine.tree.ledger->header->recursion ? 10 : METHODS);
}

static void wander_at(struct story *story, unsigned steps, uint64_t least_ns, uint64_t range_ns)
{
    while (steps-- > 0) {
        bool deeper = draw_number(story, 100) < (story->depth < 12 ? 65 : 45);
        if (story->depth == 0 || (deeper && story->depth < DEPTH_MAX))
            enter(story, draw_key(story), least_ns + draw_number(story, range_ns));
        else
            leave_to(story, draw_number(story, 10) == 0 ? (unsigned)draw_number(story, story->depth)
                                                        : story->depth - 1);
    }
    leave_to(story, 0);
}

static void wander(struct story *story, unsigned steps)
{
    wander_at(story, steps, 0, 300);
}

/* A path that takes much time, again and again. */
static void run_hot(struct story *story)
{
    for (unsigned i = 0; i < 8; i++)
        enter(story, FIRST_KEY + i, i == 7 ? HOT_NS : 10);
    leave_to(story, 0);
}

static void check_totals(const struct ledger *ledger, const struct ledger_thread *thread,
                         const struct story *story)
{
    struct totals totals = {0};
    sum_up(ledger, thread->root, &totals);
    for (unsigned i = 0; i < METHODS; i++) {
        assert_int_equal(totals.calls[i], story->calls[i]);
        assert_int_equal(totals.cpu_ns[i], story->cpu_ns[i]);
    }
}

static void totals_stay_and_what_is_hot(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct story story = {.seed = seed};
        struct java_world *world = make(1024 * KIB);
        struct ledger_thread *thread = mine.thread;
        world->ledger.header->recursion = seed > 3 ? 2 : 0;
        for (unsigned round = 0; round < 100; round++) {
            wander(&story, 2000);
            run_hot(&story);
        }
        check_totals(&world->ledger, thread, &story);
        assert_int_equal(thread->lost_enters + world->ledger.header->dropped_enters, 0);
        assert_true(thread->foldings > 10000);
        /* The hot path came when the tree was full, and has its nodes. */
        ledger_ref ref = thread->root;
        for (unsigned i = 0; i < 8; i++) {
            ref = child_of(&world->ledger, ref, FIRST_KEY + i);
            assert_int_not_equal(ref, 0);
        }
        uint64_t hot_ns = node_at(&world->ledger, ref)->cpu_ns;
        assert_true(hot_ns + thread->folded_bound_ns + 100 * 300 >= 100 * (uint64_t)HOT_NS);
        assert_true(hot_ns > 90 * (uint64_t)HOT_NS);
        print_message("seed %d: %llu foldings, limit %llu ns, bound %llu ns\n", (int)seed,
                      (unsigned long long)thread->foldings, (unsigned long long)thread->cold_ns,
                      (unsigned long long)thread->folded_bound_ns);
        kernel_thread__end(&mine);
    }
}

/* ---- the bound ---- */

/* Takes off the account what has a node. */
static void take_off(struct story *story, const struct ledger *ledger, ledger_ref ref,
                     uint64_t above)
{
    for (; ref; ref = node_at(ledger, ref)->next_sibling) {
        const struct ledger_node *node = node_at(ledger, ref);
        uint64_t hash = hash_of(above, node->key);
        if (ledger_node__kind(node) == NODE_FOLDED)
            continue;
        assert_true(context_at(story, hash)->cpu_ns >= node->cpu_ns);
        context_at(story, hash)->cpu_ns -= node->cpu_ns;
        take_off(story, ledger, node->first_child, hash);
    }
}

/* However much each context takes, and whether or not some are cold: all calls have a node of their
 * own for a while, and none lacks more than the thread's record says; that of the hottest story is
 * looked at when the first contexts have been folded. */
static void the_bound_holds(void **state)
{
    static const struct {
        uint64_t least_ns;
        uint64_t range_ns;
        uint64_t foldings;
    } stories[] = {{0, 300, 100000}, {0, 100000, 100000}, {50000, 50000, 1}};
    (void)state;
    for (unsigned i = 0; i < sizeof stories / sizeof *stories; i++) {
        struct story story = {.seed = 31 + i, .contexts = calloc(CONTEXTS, sizeof(struct context))};
        struct java_world *world = make(1024 * KIB);
        const struct ledger_thread *thread = mine.thread;
        uint64_t lacks_ns = 0;
        assert_non_null(story.contexts);
        for (unsigned round = 0; round < 20000 && thread->foldings < stories[i].foldings; round++)
            wander_at(&story, 50, stories[i].least_ns, stories[i].range_ns);
        check_totals(&world->ledger, thread, &story);
        assert_true(thread->foldings >= stories[i].foldings);
        take_off(&story, &world->ledger, node_at(&world->ledger, thread->root)->first_child, 0);
        for (unsigned at = 0; at < CONTEXTS; at++)
            if (story.contexts[at].cpu_ns > lacks_ns)
                lacks_ns = story.contexts[at].cpu_ns;
        print_message("%llu foldings, bound %llu ns, most %llu ns, %llu calls without a node\n",
                      (unsigned long long)thread->foldings,
                      (unsigned long long)thread->folded_bound_ns, (unsigned long long)lacks_ns,
                      (unsigned long long)thread->unplaced_calls);
        assert_int_equal(thread->unplaced_calls, 0);
        assert_true(lacks_ns > 0);
        assert_true(lacks_ns <= thread->folded_bound_ns);
        free(story.contexts);
        kernel_thread__end(&mine);
    }
}

/* ---- what pruning costs ---- */

/* Calls below a first one, as hooks report them: none is made by the thread itself. Returns the
 * thread's own CPU time since that first one. */
static uint64_t own_time_below(struct java_world *world, unsigned steps)
{
    struct story story = {.seed = 8};
    const struct ledger_node *root = node_at(&world->ledger, mine.thread->root);
    uint64_t before_ns;
    story.tokens[story.depth++] = kernel_thread__push(&mine, FIRST_KEY);
    before_ns = root->cpu_ns;
    while (steps-- > 0) {
        if (story.depth == 1 || (story.depth < 20 && draw_number(&story, 2)))
            story.tokens[story.depth++] =
                kernel_thread__push(&mine, FIRST_KEY + draw_number(&story, METHODS));
        else
            kernel_thread__pop(&mine, story.tokens[--story.depth]);
    }
    return root->cpu_ns - before_ns;
}

/* A context is not warm because room was made for it: the time of that is the thread's own. */
static void what_it_takes_is_no_context_s(void **state)
{
    (void)state;
    struct java_world *world = make(64 * 1024 * KIB);
    assert_int_equal(own_time_below(world, 20000), 0);
    assert_int_equal(mine.thread->foldings, 0);
    kernel_thread__end(&mine);
    world = make(512 * KIB);
    uint64_t own_ns = own_time_below(world, 20000);
    print_message("%llu foldings, %llu ns\n", (unsigned long long)mine.thread->foldings,
                  (unsigned long long)own_ns);
    assert_true(mine.thread->foldings > 1000);
    assert_true(own_ns > 0);
    kernel_thread__end(&mine);
}

/* ---- nodes that hold no context ---- */

static void most_nodes_are_contexts(void **state)
{
    (void)state;
    struct story story = {.seed = 21};
    struct java_world *world = make(1024 * KIB);
    struct ledger_thread *thread = mine.thread;
    unsigned nodes = 0, apart = 0;
    ledger_ref ref = 0;
    for (unsigned round = 0; round < 2000; round++)
        wander_at(&story, 200, 0, 100000);
    check_totals(&world->ledger, thread, &story);
    while ((ref = ledger__next(&world->ledger, LEDGER_NODES, ref)) != 0) {
        const struct ledger_node *node = node_at(&world->ledger, ref);
        bool is_below =
            node->parent && ledger_node__kind(node_at(&world->ledger, node->parent)) == NODE_FOLDED;
        nodes += ledger_node__kind(node) != 0;
        apart += ref != thread->folded && ledger_node__kind(node) == NODE_FOLDED;
        apart += is_below && node->parent != thread->folded;
    }
    print_message("%llu foldings, %u nodes, %u apart\n", (unsigned long long)thread->foldings,
                  nodes, apart);
    assert_true(thread->foldings > 100000);
    assert_true(apart > 0);
    assert_true(apart < nodes / 16);
    kernel_thread__end(&mine);
}

/* ---- metrics of a node's own ---- */

static void metrics_are_moved_too(void **state)
{
    (void)state;
    struct story story = {.seed = 77};
    struct java_world *world = make(512 * KIB);
    struct ledger_thread *thread = mine.thread;
    uint64_t faults[METHODS] = {0}, found[METHODS] = {0};
    for (unsigned round = 0; round < 60; round++) {
        wander(&story, 700);
        enter(&story, FIRST_KEY + draw_number(&story, METHODS), 1);
        enter(&story, FIRST_KEY + draw_number(&story, METHODS), 1);
        enter(&story, FIRST_KEY + draw_number(&story, METHODS), 1);
        kernel_thread__count(&mine, METRIC_MINOR_FAULTS);
        faults[story.keys[2] - FIRST_KEY]++;
        leave_to(&story, 0);
    }
    check_totals(&world->ledger, thread, &story);
    ledger_ref ref = 0;
    while ((ref = ledger__next(&world->ledger, LEDGER_SIDES, ref)) != 0) {
        const struct ledger_side *side = ledger__at(&world->ledger, ref);
        if (side->node && node_at(&world->ledger, side->node)->method)
            found[node_at(&world->ledger, side->node)->key - FIRST_KEY] +=
                side->value[METRIC_MINOR_FAULTS];
    }
    for (unsigned i = 0; i < METHODS; i++)
        assert_int_equal(found[i], faults[i]);
    assert_int_equal(world->ledger.header->dropped_side_values, 0);
    kernel_thread__end(&mine);
}

/* ---- samples ---- */

/* Where each context that comes is sampled at once, there is room for others all the same. */
static void samples_are_moved_too(void **state)
{
    (void)state;
    struct story story = {.seed = 5};
    struct java_world *world = make(1024 * KIB);
    struct ledger_thread *thread = mine.thread;
    uint64_t samples[METHODS] = {0}, seen_ns[METHODS] = {0}, found[METHODS][4] = {{0}};
    unsigned taken = 0;
    profiler = (struct record_pool){0};
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t ns = draw_number(&story, 1000);
        while (story.depth < 3)
            enter(&story, FIRST_KEY + draw_number(&story, METHODS), 10);
        if (take_sample(&story, 1 + (unsigned)draw_number(&story, FRAMES), ns)) {
            samples[story.keys[2] - FIRST_KEY]++;
            seen_ns[story.keys[2] - FIRST_KEY] += ns;
            taken++;
        }
        leave_to(&story, (unsigned)draw_number(&story, 3));
    }
    leave_to(&story, 0);
    check_totals(&world->ledger, thread, &story);
    sum_all_samples(&world->ledger, thread->root, found);
    for (unsigned i = 0; i < METHODS; i++) {
        assert_int_equal(found[i][0], samples[i]);
        assert_int_equal(found[i][1], 2 * samples[i]);
        assert_int_equal(found[i][2], 3 * samples[i]);
        assert_int_equal(found[i][3], seen_ns[i]);
    }
    print_message("%u samples, %llu foldings, %llu calls without a node\n", taken,
                  (unsigned long long)thread->foldings, (unsigned long long)thread->unplaced_calls);
    assert_true(thread->foldings > 1000);
    assert_int_equal(thread->unplaced_calls, 0);
    assert_int_equal(thread->lost_enters, 0);
    kernel_thread__end(&mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_stay_and_what_is_hot),   cmocka_unit_test(the_bound_holds),
        cmocka_unit_test(what_it_takes_is_no_context_s), cmocka_unit_test(most_nodes_are_contexts),
        cmocka_unit_test(metrics_are_moved_too),         cmocka_unit_test(samples_are_moved_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
