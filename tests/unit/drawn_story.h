/* A drawn program that goes on in little memory, its own account beside it, and what stands in the
 * tree: calls, times and samples of each method. */
#ifndef TREADLE_TEST_DRAWN_STORY_H
#define TREADLE_TEST_DRAWN_STORY_H

#include "drawn_numbers.h"
#include "java_world.h"
#include "native/thread/kernel_thread_events.h"
#include "native/tree/sample_tree.h"

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

static inline struct java_world *make(uint64_t bytes)
{
    struct java_world *world = java_world__make(bytes, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    world->maker.excluded = NULL;
    java_world__begin_here(world, &mine, &record);
    assert_int_equal(start_java(&mine, "one", 1), 0);
    return world;
}

static inline uint64_t draw_number(struct story *story, uint64_t below)
{
    return next_mixed(&story->seed) % below;
}

static inline uint64_t hash_of(uint64_t above, uint64_t key)
{
    return (above ^ key) * 0x9e3779b97f4a7c15u + 1;
}

static inline struct context *context_at(struct story *story, uint64_t hash)
{
    uint64_t at = hash >> 40;
    while (story->contexts[at % CONTEXTS].hash && story->contexts[at % CONTEXTS].hash != hash)
        at++;
    story->contexts[at % CONTEXTS].hash = hash;
    return &story->contexts[at % CONTEXTS];
}

static inline void spend(struct story *story, uint64_t ns)
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

static inline void enter(struct story *story, uint64_t key, uint64_t ns)
{
    story->keys[story->depth] = key;
    story->hashes[story->depth] = hash_of(story->depth ? story->hashes[story->depth - 1] : 0, key);
    story->tokens[story->depth++] = call_tree__push(&mine.tree, key);
    story->calls[key - FIRST_KEY]++;
    spend(story, ns);
}

static inline void leave_to(struct story *story, unsigned depth)
{
    if (depth < story->depth)
        call_tree__pop(&mine.tree, story->tokens[depth]);
    story->depth = depth;
}

struct totals {
    uint64_t calls[METHODS];
    uint64_t cpu_ns[METHODS];
    uint64_t contexts;
    uint64_t nodes;
};

static inline void sum_up(const struct ledger *ledger, ledger_ref ref, struct totals *totals)
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

#define FRAMES 6u

/* The profiler's own: what it makes is folded by another. */
static struct record_pool profiler;

/* A sample of so many frames above the current node, each an own method. False: there is no room.
 */
static inline bool take_sample(const struct story *story, unsigned frames, uint64_t seen_ns)
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
static inline void sum_samples(const struct ledger *ledger, ledger_ref ref, uint64_t sums[4])
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

static inline void sum_all_samples(const struct ledger *ledger, ledger_ref ref,
                                   uint64_t sums[METHODS][4])
{
    for (; ref; ref = node_at(ledger, ref)->next_sibling) {
        const struct ledger_node *node = node_at(ledger, ref);
        if (node->method)
            sum_samples(ledger, node->sampled, sums[node->key - FIRST_KEY]);
        sum_all_samples(ledger, node->first_child, sums);
    }
}

#endif
