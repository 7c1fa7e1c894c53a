/* Pruning: however long a drawn program goes on in little memory, calls and times of each method
 * are its own account's, what is hot has its node, and nothing is taken from under who stands on
 * it. A copy that is made at any moment has the same sums, and so has what a kill leaves. */
#include "java_world.h"
#include "native/snapshot/dangling_refs.h"
#include "native/snapshot/snapshot.h"
#include "native/tree/folded_calls.h"
#include "native/tree/node_move.h"
#include "native/tree/sample_tree.h"
#include "native/tree/tree_pruning.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define KIB       UINT64_C(1024)
#define METHODS   40u
#define FIRST_KEY 40u
#define DEPTH_MAX 100u
#define HOT_NS    2000000u
#define KILLS     100u
#define COPIES    40u
#define CONTEXTS  (1u << 20)

struct story {
    uint64_t keys[DEPTH_MAX];
    uint64_t tokens[DEPTH_MAX];
    unsigned depth;
    uint64_t calls[METHODS];
    uint64_t cpu_ns[METHODS];
    uint64_t seed;
    uint64_t hashes[DEPTH_MAX]; /* of the paths to the frames, … */
    struct context *contexts;   /* … whose own account this is, if it is kept */
};

/* By hash of the path. */
struct context {
    uint64_t hash;
    uint64_t cpu_ns;
};

static struct kernel_thread mine;
static struct ledger_kernel_thread record;

static struct java_world *make(uint64_t bytes)
{
    struct java_world *world = java_world__make(bytes, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    world->maker.excluded = NULL;
    mine = (struct kernel_thread){0};
    record = (struct ledger_kernel_thread){.tid = gettid(), .generation = 1};
    call_tree__init(&mine.tree, &world->ledger, world->setup.resolve, world->setup.resolve_context);
    kernel_thread__begin(&mine, &world->setup, &record);
    assert_int_equal(start_java(&mine, "one", 1), 0);
    return world;
}

/* splitmix64 [S. Vigna]. */
static uint64_t draw_number(struct story *story, uint64_t below)
{
    uint64_t z = (story->seed += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

static uint64_t hash_of(uint64_t above, uint64_t key)
{
    return (above ^ key) * 0x9e3779b97f4a7c15u + 1;
}

static struct context *context_at(struct story *story, uint64_t hash)
{
    uint64_t at = hash >> 40;
    while (story->contexts[at % CONTEXTS].hash && story->contexts[at % CONTEXTS].hash != hash)
        at++;
    story->contexts[at % CONTEXTS].hash = hash;
    return &story->contexts[at % CONTEXTS];
}

static void spend(struct story *story, uint64_t ns)
{
    uint64_t key = story->depth ? story->keys[story->depth - 1] : 0;
    assert_int_equal(mine.tree.current->method ? mine.tree.current->key : 0, key);
    if (!story->depth)
        return;
    mine.tree.current->cpu_ns += ns;
    story->cpu_ns[key - FIRST_KEY] += ns;
    if (story->contexts)
        context_at(story, story->hashes[story->depth - 1])->cpu_ns += ns;
}

/* With recursion=2 few methods: most paths come to frames that are folded. */
static uint64_t draw_key(struct story *story)
{
    return FIRST_KEY + draw_number(story, mine.tree.ledger->header->recursion ? 10 : METHODS);
}

static void enter(struct story *story, uint64_t key, uint64_t ns)
{
    story->keys[story->depth] = key;
    story->hashes[story->depth] = hash_of(story->depth ? story->hashes[story->depth - 1] : 0, key);
    story->tokens[story->depth++] = call_tree__push(&mine.tree, key);
    story->calls[key - FIRST_KEY]++;
    spend(story, ns);
}

static void leave_to(struct story *story, unsigned depth)
{
    if (depth < story->depth)
        call_tree__pop(&mine.tree, story->tokens[depth]);
    story->depth = depth;
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

struct totals {
    uint64_t calls[METHODS];
    uint64_t cpu_ns[METHODS];
    uint64_t contexts;
    uint64_t nodes;
};

static void sum_up(const struct ledger *ledger, ledger_ref ref, struct totals *totals)
{
    for (; ref; ref = node_at(ledger, ref)->next_sibling) {
        const struct ledger_node *node = node_at(ledger, ref);
        totals->nodes++;
        assert_true(totals->nodes < 1000000);
        if (ledger_node__kind(node) == NODE_FOLDED)
            totals->contexts += node->contexts;
        if (node->method) {
            totals->calls[node->key - FIRST_KEY] += node->calls;
            totals->cpu_ns[node->key - FIRST_KEY] += node->cpu_ns;
        }
        sum_up(ledger, node->first_child, totals);
    }
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

#define FRAMES 6u

/* The profiler's own: what it makes is folded by another. */
static struct record_pool profiler;

/* A sample of so many frames above the current node, each an own method. False: there is no room.
 */
static bool take_sample(const struct story *story, unsigned frames, uint64_t seen_ns)
{
    ledger_ref ref = ledger__ref(mine.tree.ledger, mine.tree.current);
    struct ledger_node *top;
    profiler.ledger = mine.tree.ledger;
    profiler.takes_reserved = RESERVE_ALL;
    for (unsigned i = 0; i < frames && ref; i++)
        ref = sample_tree__child(
            &profiler, ref, NODE_SAMPLED,
            ledger__find_method(mine.tree.ledger, story->keys[(story->depth + i) % 3]), false);
    top = ledger__at(mine.tree.ledger, ref);
    if (!ref)
        return false;
    sample_tree__add(&top->cpu_samples, 1);
    sample_tree__add(&top->wall_samples, 2);
    sample_tree__add(&top->interpreted, 3);
    sample_tree__add(&top->seen_ns, seen_ns);
    return true;
}

/* All samples below exact nodes of a method: of each frame the four numbers, added up. */
static void sum_samples(const struct ledger *ledger, ledger_ref ref, uint64_t sums[4])
{
    for (; ref; ref = node_at(ledger, ref)->next_sibling) {
        const struct ledger_node *node = node_at(ledger, ref);
        sums[0] += node->cpu_samples;
        sums[1] += node->wall_samples;
        sums[2] += node->interpreted;
        sums[3] += node->seen_ns;
        sum_samples(ledger, node->first_child, sums);
    }
}

static void sum_all_samples(const struct ledger *ledger, ledger_ref ref, uint64_t sums[METHODS][4])
{
    for (; ref; ref = node_at(ledger, ref)->next_sibling) {
        const struct ledger_node *node = node_at(ledger, ref);
        if (node->method)
            sum_samples(ledger, node->sampled, sums[node->key - FIRST_KEY]);
        sum_all_samples(ledger, node->first_child, sums);
    }
}

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

/* ---- readers beside, and kills ---- */

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

/* In a child: makes calls for ever, and says how many, before and after each. */
struct shared {
    uint64_t begun;
    uint64_t ended;
    uint64_t foldings;
};

static void play_for_ever(struct shared *shared, bool slowly)
{
    struct story story = {.seed = 4};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        unsigned depth = 0;
        for (; depth < 12; depth++) {
            if (slowly && mine.thread->foldings > 100)
                (void)usleep(1);
            __atomic_store_n(&shared->begun, shared->begun + 1, __ATOMIC_SEQ_CST);
            story.tokens[depth] =
                call_tree__push(&mine.tree, FIRST_KEY + draw_number(&story, METHODS));
            __atomic_store_n(&shared->ended, shared->ended + 1, __ATOMIC_SEQ_CST);
        }
        call_tree__pop(&mine.tree, story.tokens[0]);
        __atomic_store_n(&shared->foldings, mine.thread->foldings, __ATOMIC_RELAXED);
    }
}

static uint64_t sum_calls(struct ledger *copy)
{
    struct totals totals = {0};
    uint64_t calls = 0;
    assert_int_equal(dangling_refs__cut(copy), 0);
    assert_int_equal(copy->header->senseless_records, 0);
    sum_up(copy, find_thread(copy, 1)->root, &totals);
    assert_int_equal(find_thread(copy, 1)->lost_enters, 0);
    for (unsigned i = 0; i < METHODS; i++)
        calls += totals.calls[i];
    return calls;
}

static void a_kill_leaves_all(void **state)
{
    (void)state;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    struct story story = {.seed = 99};
    unsigned interrupted = 0;
    for (unsigned round = 0; round < KILLS; round++) {
        struct java_world *world = make(256 * KIB);
        struct ledger copy;
        *shared = (struct shared){0};
        pid_t child = fork();
        if (child == 0) {
            play_for_ever(shared, false);
            _exit(1);
        }
        while (__atomic_load_n(&shared->foldings, __ATOMIC_RELAXED) < 100)
            (void)usleep(100);
        (void)usleep((useconds_t)draw_number(&story, 2000));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        interrupted += mine.thread->move.from != 0;
        assert_int_equal(ledger__adopt(&copy, world->ledger.fd,
                                       (uint64_t)world->ledger.header->chunks_used * 4096, 1 << 20),
                         0);
        uint64_t calls = sum_calls(&copy);
        assert_true(calls + 1 >= shared->ended && calls <= shared->begun);
        ledger__close(&copy);
        kernel_thread__end(&mine);
    }
    print_message("%u of %u kills came in the middle of a move\n", interrupted, KILLS);
}

static uint64_t copied_calls(const struct java_world *world)
{
    struct ledger copy;
    int fd = memfd_create("copy", MFD_CLOEXEC);
    off_t bytes;
    uint64_t calls;
    assert_true(fd >= 0);
    assert_int_equal(snapshot__copy(world->ledger.fd, fd), 0);
    bytes = lseek(fd, 0, SEEK_END);
    assert_int_equal(ledger__adopt(&copy, fd, (uint64_t)bytes, 1 << 20), 0);
    calls = sum_calls(&copy);
    ledger__close(&copy);
    (void)close(fd);
    return calls;
}

/* One copy after the other, while contexts are folded: none lacks a call or has one twice. */
static void a_reader_beside_sees_all_once(void **state)
{
    (void)state;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct java_world *world = make(512 * KIB);
    assert_ptr_not_equal(shared, MAP_FAILED);
    *shared = (struct shared){0};
    pid_t child = fork();
    if (child == 0) {
        play_for_ever(shared, true);
        _exit(1);
    }
    while (__atomic_load_n(&shared->foldings, __ATOMIC_RELAXED) < 100)
        (void)usleep(100);
    for (unsigned round = 0; round < COPIES; round++) {
        uint64_t least = __atomic_load_n(&shared->ended, __ATOMIC_SEQ_CST);
        uint64_t calls = copied_calls(world);
        uint64_t most = __atomic_load_n(&shared->begun, __ATOMIC_SEQ_CST);
        assert_true(calls >= least);
        assert_true(calls <= most);
    }
    uint64_t foldings = __atomic_load_n(&shared->foldings, __ATOMIC_RELAXED);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    print_message("%u copies beside %llu foldings\n", COPIES, (unsigned long long)foldings);
    kernel_thread__end(&mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_stay_and_what_is_hot),   cmocka_unit_test(the_bound_holds),
        cmocka_unit_test(what_it_takes_is_no_context_s), cmocka_unit_test(most_nodes_are_contexts),
        cmocka_unit_test(metrics_are_moved_too),         cmocka_unit_test(samples_are_moved_too),
        cmocka_unit_test(a_join_is_there_or_not),        cmocka_unit_test(a_leaf_is_here_or_there),
        cmocka_unit_test(a_frame_is_here_or_there),      cmocka_unit_test(a_kill_leaves_all),
        cmocka_unit_test(a_reader_beside_sees_all_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
