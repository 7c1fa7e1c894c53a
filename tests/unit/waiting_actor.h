/*
 * A thread that waits, recorded as the agent's are, and what waits it has seen. The oracle is the
 * test's own clocks: a wait lasted at least from behind its begin to before its end, and at most
 * from before its begin to behind its end, less the CPU time that the kernel counts.
 */
#ifndef TREADLE_TESTS_WAITING_ACTOR_H
#define TREADLE_TESTS_WAITING_ACTOR_H

#include "burn.h"
#include "carriers.h"
#include "native/thread/wait_bracket.h"
#include "taken_snapshot.h"

#define MIB (UINT64_C(1) << 20)
/* By which the clocks of wall and CPU time may differ: 100 ns at rest, and what an interrupt takes
 * between two readings on a busy machine, 100 us seen. The shortest wait here is 5 ms. */
#define SLACK_NS MS

/* Wall time less CPU time of the calling thread. */
static inline uint64_t waited_ns(void)
{
    uint64_t cpu_ns = thread_cpu_ns();
    return read_ns(CLOCK_MONOTONIC) - cpu_ns;
}

struct bracket {
    uint64_t before;
    uint64_t begun;
    uint64_t ending;
    uint64_t ended;
};

static inline void begin(struct bracket *bracket, struct kernel_thread *mine,
                         enum ledger_metric reason)
{
    bracket->before = waited_ns();
    wait_bracket__begin(mine, reason);
    bracket->begun = waited_ns();
}

static inline void end(struct bracket *bracket, struct kernel_thread *mine,
                       enum ledger_metric reason)
{
    bracket->ending = waited_ns();
    wait_bracket__end(mine, reason);
    bracket->ended = waited_ns();
}

static inline void check_between(uint64_t ns, uint64_t least_ns, uint64_t most_ns)
{
    if (ns + SLACK_NS < least_ns || ns > most_ns + SLACK_NS)
        fail_msg("%.6f ms, expected %.6f to %.6f ms", (double)ns / 1e6, (double)least_ns / 1e6,
                 (double)most_ns / 1e6);
}

static inline void check_bracket(uint64_t ns, const struct bracket *bracket)
{
    check_between(ns, bracket->ending - bracket->begun, bracket->ended - bracket->before);
}

static inline const struct ledger_node *at_path(const struct ledger *ledger,
                                                const struct ledger_thread *thread,
                                                const char *keys)
{
    ledger_ref ref = thread->root;
    for (const char *key = keys; *key != '\0' && ref != 0; key++)
        ref = child_of(ledger, ref, (uint64_t)*key);
    assert_true(ref != 0);
    return node_at(ledger, ref);
}

static inline uint64_t value_at(const struct ledger *ledger, const struct ledger_thread *thread,
                                const char *keys, enum ledger_metric metric)
{
    const struct ledger_node *node = at_path(ledger, thread, keys);
    const struct ledger_side *side = ledger__at(ledger, node->side);
    return node->side != 0 ? side->value[metric] : 0;
}

/* All reasons of a node together are no more than it waited. */
static inline void check_consistent(const struct ledger *ledger, const struct ledger_thread *thread,
                                    const char *keys)
{
    uint64_t sum_ns = 0;
    for (unsigned metric = 0; metric < METRIC_COUNT; metric++)
        if ((LEDGER_WAIT_METRICS | LEDGER_INFERRED_WAITS) >> metric & 1)
            sum_ns += value_at(ledger, thread, keys, (enum ledger_metric)metric);
    check_between(sum_ns, 0, at_path(ledger, thread, keys)->wait_ns);
}

struct actor {
    struct java_world *world;
    struct kernel_thread mine;
    struct ledger_kernel_thread *record;
    const struct ledger_thread *thread;
};

static uint64_t stopped_ns[STOPPED_COUNTERS]; /* by the host */

static inline struct actor *act(void)
{
    static struct actor actor;
    struct java_world *world = java_world__make(4 * MIB, 0, 0, false);
    assert_non_null(world);
    world->setup.unprofiled = calloc(1, sizeof(struct unprofiled_table));
    assert_non_null(world->setup.unprofiled);
    world->setup.tells_waits = true;
    world->setup.stopped = (struct stopped_time){{&stopped_ns[0], &stopped_ns[1]}};
    unprofiled_table__init(world->setup.unprofiled, &world->ledger, 0);
    actor = (struct actor){.world = world};
    ledger_ref ref = ledger__take_shared(&actor.world->ledger, LEDGER_KERNEL_THREADS,
                                         sizeof(*actor.record) / LEDGER_CELL_BYTES);
    assert_true(ref != 0);
    actor.record = ledger__at(&actor.world->ledger, ref);
    actor.world->ledger.header->profiling = 1;
    java_world__begin_here(actor.world, &actor.mine, actor.record);
    assert_int_equal(start_java(&actor.mine, "waiter", 1), 0);
    actor.thread = find_thread(&actor.world->ledger, 1);
    return &actor;
}

static inline uint64_t now_ns(const struct actor *actor)
{
    return ledger_time__now_ns(&actor->world->setup.time);
}

static inline void stop(struct actor *actor)
{
    struct unprofiled_table *table = actor->world->setup.unprofiled;
    assert_int_equal(unprofiled_table__prepare_stop(table), 0);
    __atomic_store_n(&actor->world->setup.epoch, EPOCH_STOPPED, __ATOMIC_RELEASE);
    unprofiled_table__stop(table, now_ns(actor));
    kernel_thread__note_unprofiled(&actor->mine);
}

static inline void start(struct actor *actor)
{
    struct unprofiled_table *table = actor->world->setup.unprofiled;
    assert_int_equal(unprofiled_table__prepare_start(table), 0);
    unprofiled_table__start(table, now_ns(actor));
    kernel_thread__note_unprofiled(&actor->mine);
    __atomic_store_n(&actor->world->setup.epoch, 2, __ATOMIC_RELEASE);
}

static inline void nap_and_charge(struct actor *actor)
{
    nap(20 * MS);
    kernel_thread__charge(&actor->mine);
}

#endif
