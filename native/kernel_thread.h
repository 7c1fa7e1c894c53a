/*
 * A kernel thread at work: its clock, its metrics, the Java thread that it runs and where in that
 * thread's call tree it stands. Every event passes through here in three steps: charge what was
 * consumed since the last event to the current node, move, publish where it stands now.
 *
 * A kernel_thread is used by the kernel thread that it describes, and by nobody else while that one
 * lives. enter, leave and charge do not allocate (but nodes in the ledger), lock, block or log.
 */
#ifndef TREADLE_KERNEL_THREAD_H
#define TREADLE_KERNEL_THREAD_H

#include "native/call_tree.h"
#include "native/kernel_clock.h"
#include "native/kernel_metrics.h"
#include "native/ledger.h"
#include "native/ledger_time.h"

#include <stdbool.h>
#include <stdint.h>

#define METRICS_INTERVAL_NS 10000000u

/* What all kernel threads of a process share; constant once the agent runs. */
struct kernel_thread_setup {
    struct ledger *ledger;
    struct ledger_time time;
    enum ledger_clock_kind clock;
    uint64_t metrics_charged; /* bits: charged to nodes */
    uint64_t metrics_totals;  /* bits: known per thread, read when it ends */
    bool reuse_new;           /* reuse=new */
    call_tree_resolve resolve;
    void *resolve_context;
};

struct kernel_thread {
    const struct kernel_thread_setup *setup;
    struct ledger_kernel_thread *record;
    struct ledger_thread *thread; /* the Java thread that runs, or the last that did; or NULL */
    bool idle;                    /* no Java thread runs: events do not count */
    bool paused;                  /* they do not count either: a virtual thread is mounted */
    struct kernel_clock clock;
    uint64_t metrics_read_ns;
    uint64_t metrics_on_interval; /* bits: to be read without a switch too, every so often */
    struct metric_reader reader;
    struct call_tree tree;
    struct kernel_thread *next_spare;
};

/* What is known of a Java thread when it starts to run. */
struct java_thread_facts {
    const char *name;
    size_t name_length;
    enum ledger_thread_kind kind;
    uint32_t flags; /* enum ledger_thread_flag */
    uint64_t java_id;
    ledger_ref parent;
};

/* Begins for the calling kernel thread, whose record is zeroed but for tid and generation. Keys are
 * never 0: that is what roots and gaps have. */
void kernel_thread__begin(struct kernel_thread *kernel_thread,
                          const struct kernel_thread_setup *setup,
                          struct ledger_kernel_thread *record);

/* The kernel thread is about to end: the last delta is charged. */
void kernel_thread__end(struct kernel_thread *kernel_thread);

/* A Java thread begins to run here: rules 2 and 3 of the ledger. 0, or -ENOMEM when the ledger is
 * full (counted; the thread's events are then ignored). */
int kernel_thread__start_java(struct kernel_thread *kernel_thread,
                              const struct java_thread_facts *facts);

/* The Java thread is over: rule 4. */
void kernel_thread__end_java(struct kernel_thread *kernel_thread);

/* Events do not count until resumed: somebody else runs on the Java thread's kernel thread. What is
 * consumed meanwhile still goes to the current node. */
void kernel_thread__pause(struct kernel_thread *kernel_thread);
void kernel_thread__resume(struct kernel_thread *kernel_thread);

/* Where something happened that the fast charge cannot account for. */
void kernel_thread__charge_slowly(struct kernel_thread *kernel_thread);

static inline void kernel_thread__add(struct kernel_thread *kernel_thread, uint64_t cpu_ns,
                                      uint64_t wall_ns, uint64_t now_ns)
{
    struct ledger_node *node = kernel_thread->tree.current;
    struct ledger_kernel_thread *record = kernel_thread->record;

    __atomic_store_n(&node->cpu_ns, node->cpu_ns + cpu_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&node->wall_ns, node->wall_ns + wall_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&record->charged_cpu_ns, record->charged_cpu_ns + cpu_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&record->last_ns, now_ns, __ATOMIC_RELAXED);
}

/* The delta since the last event goes to the current node. */
static inline void kernel_thread__charge(struct kernel_thread *kernel_thread)
{
    uint64_t now_ns = ledger_time__now_ns(&kernel_thread->setup->time);

    if (__builtin_expect(kernel_clock__ran_through(&kernel_thread->clock, now_ns), 1)) {
        uint64_t delta_ns = now_ns - kernel_thread->record->last_ns;

        kernel_thread__add(kernel_thread, delta_ns, delta_ns, now_ns);
        return;
    }
    kernel_thread__charge_slowly(kernel_thread);
}

static inline void kernel_thread__publish(struct kernel_thread *kernel_thread)
{
    __atomic_store_n(&kernel_thread->record->current,
                     ledger__ref(kernel_thread->setup->ledger, kernel_thread->tree.current),
                     __ATOMIC_RELEASE);
}

static inline void kernel_thread__enter(struct kernel_thread *kernel_thread, uint64_t key)
{
    if (__builtin_expect(kernel_thread->idle | kernel_thread->paused, 0))
        return;
    kernel_thread__charge(kernel_thread);
    call_tree__enter(&kernel_thread->tree, key);
    kernel_thread__publish(kernel_thread);
}

static inline void kernel_thread__leave(struct kernel_thread *kernel_thread, uint64_t key)
{
    if (__builtin_expect(kernel_thread->idle | kernel_thread->paused, 0))
        return;
    kernel_thread__charge(kernel_thread);
    call_tree__leave(&kernel_thread->tree, key);
    kernel_thread__publish(kernel_thread);
}

#endif
