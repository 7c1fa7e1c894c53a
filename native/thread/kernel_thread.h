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

#include "native/clock/kernel_clock.h"
#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"
#include "native/metrics/metric_reader.h"
#include "native/thread/thread_fold.h"
#include "native/thread/unprofiled.h"
#include "native/tree/call_tree.h"

#include <stdbool.h>
#include <stdint.h>

#define METRICS_INTERVAL_NS 10000000u

/* While profiling is stopped no events count. Each start begins a new epoch. */
#define EPOCH_STOPPED 0u
#define EPOCH_FIRST   1u

/* What all kernel threads of a process share; constant once the agent runs, but for the epoch. */
struct kernel_thread_setup {
    uint32_t epoch; /* atomic; EPOCH_STOPPED, or counted up from 1 */
    struct ledger *ledger;
    struct unprofiled_table *unprofiled; /* or NULL: profiled from the beginning to the end */
    struct ledger_time time;
    enum ledger_clock_kind clock;
    uint64_t metrics_charged; /* bits: charged to nodes */
    uint64_t metrics_totals;  /* bits: known per thread, read when it ends */
    bool reuse_new;           /* reuse=new */
    bool admits_all;          /* see struct call_tree */
    bool names_exits;         /* every exit is heard, with its method: a frame needs no token */
    uint32_t counted_keys;    /* so many keys, from 0 on, have their pushes counted; or 0 */
    call_tree_resolve resolve;
    void *resolve_context;
};

/* In a token: the epoch, and how often in it the thread was found to stand elsewhere. */
#define EPOCH_BITS 20

/* The epoch of a kernel thread whose events do not count just now. */
#define EPOCH_NONE UINT32_MAX

/* Where a Java thread stands that does not run just now. */
struct java_position {
    struct ledger_thread *thread; /* NULL: there is none */
    ledger_ref node;
    uint64_t token;
    uint64_t lost_depth;
    uint64_t floor;
    struct ledger_returns returns; /* its own, if there is a thread */
    bool unsure;                   /* see struct call_tree */
};

/* Hooks that left the straight line, and what that took: one in so many is timed. */
#define SLOW_HOOKS_TIMED 32u

struct slow_hooks {
    uint64_t calls;
    uint64_t timed;
    uint64_t timed_ticks;
};

#define FLOOR_CALLERS 8u

/* How its host found out what the thread stands on. */
struct floor_look {
    uintptr_t callers[FLOOR_CALLERS]; /* places on its stack that called from the floor, since */
    uint64_t cost_ns;                 /* of all looks in this epoch */
    uint64_t begin_ns;                /* its CPU when the epoch began */
    uint64_t parked_ns; /* since the epoch began, by a virtual thread that nobody looked at yet */
};

/* Samples found a thread elsewhere than its path says, and no event since. */
struct position_mend {
    bool ready;          /* atomic: the rest is there */
    ledger_ref from;     /* where it seemed to stand */
    ledger_ref to;       /* where it stands: above that */
    uint64_t charged_ns; /* its record's, while that was so */
    uint64_t agreed_ns;  /* … CPU since, in which samples agreed */
};

struct kernel_thread {
    const struct kernel_thread_setup *setup;
    struct ledger_kernel_thread *record;
    const struct ledger_unprofiled *unprofiled; /* atomic; or NULL */
    struct ledger_thread *thread; /* the Java thread that runs, or the last that did; or NULL */
    const void *host;             /* what the host calls the platform thread that it is; or NULL */
    uint32_t epoch;    /* events count while it is the setup's; EPOCH_NONE if idle or paused */
    uint32_t joined;   /* the last epoch that it took part in */
    uint32_t placed;   /* the last epoch at whose start somebody else looked where it stands */
    bool held;         /* atomic; see kernel_thread__place */
    bool placing;      /* atomic; see kernel_thread__place_again: no event counts meanwhile */
    bool joining;      /* atomic; it takes part in the epoch from here on: it is not placed again */
    bool unidentified; /* atomic; who runs must be found out first: a start or end may be missed */
    bool idle;         /* no Java thread runs */
    bool refused;      /* for the one that does there was no room: counted, not tried again */
    bool paused;       /* a virtual thread is mounted that could not be recorded */
    struct java_position carrier; /* the carrier's own while a virtual thread is mounted */
    uint32_t
        identified; /* the last epoch in which it was found out who is mounted at its beginning */
    struct kernel_clock clock;
    uint64_t metrics_read_ns;
    uint64_t metrics_on_interval; /* bits: to be read without a switch too, every so often */
    struct metric_reader reader;
    struct call_tree tree;
    struct floor_look look;
    struct position_mend mend;
    uint8_t *key_pushes; /* for the host: of each key, by this thread; wraps; NULL: not counted */
    struct thread_folder folder;
    struct slow_hooks slow_hooks; /* its own to write, anybody's to read */
    struct kernel_thread *next_spare;
};

/* What is known of a Java thread when it starts to run. */
struct java_thread_facts {
    const char *name;
    size_t name_length;
    ledger_ref group_name; /* see struct ledger_thread */
    enum ledger_thread_kind kind;
    uint32_t flags; /* enum ledger_thread_flag */
    uint64_t java_id;
    ledger_ref parent;
    bool may_stand;   /* of a virtual thread: on frames that were entered before it was seen */
    const void *host; /* of one that is adopted; see struct kernel_thread */
};

/* Begins for the calling kernel thread, whose record is zeroed but for tid and generation. Keys are
 * never 0: that is what roots and gaps have. */
void kernel_thread__begin(struct kernel_thread *kernel_thread,
                          const struct kernel_thread_setup *setup,
                          struct ledger_kernel_thread *record);

/* On behalf of a kernel thread that runs a Java thread already: the books open now, in its absence.
 * It takes them over when it comes by itself. 0 or -errno (-ESRCH: it is gone). */
int kernel_thread__begin_absent(struct kernel_thread *kernel_thread,
                                const struct kernel_thread_setup *setup,
                                struct ledger_kernel_thread *record,
                                const struct java_thread_facts *facts);
void kernel_thread__take_over(struct kernel_thread *kernel_thread);

/* After each stop and start: what of it is profiled from here on. From any thread. */
void kernel_thread__note_unprofiled(struct kernel_thread *kernel_thread);

/* The kernel thread is about to end: the last delta is charged. */
void kernel_thread__end(struct kernel_thread *kernel_thread);

/* A Java thread begins to run here: rules 2 and 3 of the ledger. 0, or -ENOMEM when the ledger is
 * full (counted once until `refused` is cleared; the thread's events are then ignored). */
int kernel_thread__start_java(struct kernel_thread *kernel_thread,
                              const struct java_thread_facts *facts);

/* The Java thread is over: rule 4. */
void kernel_thread__end_java(struct kernel_thread *kernel_thread);

/* A record and a root for a Java thread that is about to run here; none if the ledger is full. */
ledger_ref kernel_thread__add_thread(struct kernel_thread *kernel_thread,
                                     const struct java_thread_facts *facts);

/* Another Java thread is current from here on, where the position says, or at its root if that is
 * of another epoch. Everything must be charged. The position's returns are the tree's from then on.
 */
void kernel_thread__switch_to(struct kernel_thread *kernel_thread,
                              const struct java_position *position);

/* Events do not count until resumed: somebody runs on the Java thread's kernel thread who could not
 * be recorded. What is consumed meanwhile still goes to the current node. */
void kernel_thread__pause(struct kernel_thread *kernel_thread);
void kernel_thread__resume(struct kernel_thread *kernel_thread);

/* Whether events count, where the epoch says that they may not: takes part in a new epoch, whose
 * calls begin at the thread's root. A virtual thread that was mounted in an earlier one is so no
 * more, unless virtual_thread__identify has found it here: nobody told whether it was unmounted. */
bool kernel_thread__join(struct kernel_thread *kernel_thread);

/*
 * Where a thread stands whose frames were entered before the epoch. The methods of these that have
 * nodes are told by key, oldest first.
 *
 * stand_at_root: on the thread itself, whose stack its host is about to tell: its open tokens count
 * no more. What was consumed until here is charged to where it stood. stand_on: these next; any
 * number of times, up to the last.
 *
 * place: before the coming epoch begins, while no events count, from any thread: what was consumed
 * until the stop is charged to where it stood then, and the epoch begins where the frames say. The
 * thread itself looks anew at its first event. Not for hooks; waits for a start or end of a Java
 * thread there.
 *
 * place_again: ditto once the epoch has begun, for a thread that was placed and had no event since:
 * it may have gone on in between, and then be silent. Or of a virtual thread that was placed where
 * it is mounted (virtual_thread__place). Neither waits for the other: an event that comes meanwhile
 * does not count, after one the thread is not placed. begin_placing, end_placing: around what else
 * such a placing changes; false: the thread had an event, and knows best.
 */
void kernel_thread__stand_at_root(struct kernel_thread *kernel_thread);
void kernel_thread__stand_on(struct kernel_thread *kernel_thread, const uint64_t *keys,
                             uint32_t count, bool last);
void kernel_thread__place(struct kernel_thread *kernel_thread, uint32_t epoch, const uint64_t *keys,
                          uint32_t count);
void kernel_thread__place_again(struct kernel_thread *kernel_thread, uint32_t epoch,
                                const uint64_t *keys, uint32_t count);

bool kernel_thread__begin_placing(struct kernel_thread *kernel_thread, uint32_t epoch);
void kernel_thread__end_placing(struct kernel_thread *kernel_thread);

/* Placed, and without an event since the epoch began. */
bool kernel_thread__is_silent(const struct kernel_thread *kernel_thread, uint32_t epoch);

/* Around what its first event in an epoch changes. False: it is being placed just now. */
bool kernel_thread__begin_joining(struct kernel_thread *kernel_thread);
void kernel_thread__end_joining(struct kernel_thread *kernel_thread);

/* The Java thread that runs was there before anybody saw it start: it may stand on frames. */
void kernel_thread__doubt(struct kernel_thread *kernel_thread);

/* See call_tree__leave_floor; the events count. */
bool kernel_thread__leave_floor(struct kernel_thread *kernel_thread, uint64_t key);

/* Asks for a mend; by one other thread only. It is done by the thread itself, in a signal handler
 * that did not interrupt an event, unless an event came first: those find out by themselves. */
void kernel_thread__ask_to_mend(struct kernel_thread *kernel_thread,
                                const struct position_mend *mend);
void kernel_thread__mend(struct kernel_thread *kernel_thread);

/* The same by another thread, and now, of one that was placed and is silent since. */
void kernel_thread__mend_silent(struct kernel_thread *kernel_thread,
                                const struct position_mend *mend);

static inline bool kernel_thread__is_to_be_mended(const struct kernel_thread *kernel_thread)
{
    return __atomic_load_n(&kernel_thread->mend.ready, __ATOMIC_ACQUIRE);
}

/* Nobody can tell what it stands on. */
__attribute__((noinline, cold)) void kernel_thread__stand_on_nothing(
    struct kernel_thread *kernel_thread);

/* While another kernel thread must not place it. */
void kernel_thread__hold(struct kernel_thread *kernel_thread);
void kernel_thread__let_go(struct kernel_thread *kernel_thread);

/* What was consumed until profiling was stopped last goes to the current node. */
void kernel_thread__charge_until_stop(struct kernel_thread *kernel_thread);

static inline bool token__is_of_epoch(uint64_t token, uint32_t epoch)
{
    return ((token >> 32 ^ epoch) & ((1u << EPOCH_BITS) - 1)) == 0;
}

/* By another thread, while the thread itself must not: what it consumed until now. */
void kernel_thread__charge_absent(struct kernel_thread *kernel_thread);

/* Adds to a metric of the current node and its thread that is counted rather than read. */
void kernel_thread__count(struct kernel_thread *kernel_thread, enum ledger_metric metric);

/* Where something happened that the fast charge cannot account for: CPU by the kernel's clock, and
 * the metrics if they can have changed. */
void kernel_thread__charge_slowly(struct kernel_thread *kernel_thread);

/* The metrics that are charged to nodes, as if there had been a switch. */
void kernel_thread__charge_metrics(struct kernel_thread *kernel_thread);

/* CPU and every metric, those that are only known per thread too. */
void kernel_thread__charge_all(struct kernel_thread *kernel_thread);

/* What only a thread itself can read is not known of the time that was not profiled: nobody gets
 * it. */
void kernel_thread__pass_over_metrics(struct kernel_thread *kernel_thread);

/* All of the time since the last event was CPU time: the waiting so far tells the thread's CPU
 * clock from the time. */
static inline void kernel_thread__charge_cpu(struct ledger_kernel_thread *record,
                                             struct ledger_node *node, uint64_t now_ns)
{
    uint64_t cpu_ns = now_ns - record->waited_ns;

    __atomic_store_n(&node->cpu_ns, node->cpu_ns + (cpu_ns - record->charged_cpu_ns),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&record->charged_cpu_ns, cpu_ns, __ATOMIC_RELAXED);
}

/* The delta since the last event goes to the current node. */
static inline void kernel_thread__charge(struct kernel_thread *kernel_thread)
{
    uint64_t now_ns = ledger_time__now_ns(&kernel_thread->setup->time);

    if (__builtin_expect(kernel_clock__ran_through(&kernel_thread->clock, now_ns), 1)) {
        kernel_thread__charge_cpu(kernel_thread->record, kernel_thread->tree.current, now_ns);
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

static inline bool kernel_thread__is_profiling(const struct kernel_thread *kernel_thread)
{
    return __atomic_load_n(&kernel_thread->setup->epoch, __ATOMIC_ACQUIRE) != EPOCH_STOPPED;
}

/* Who runs must be found out first. */
static inline bool kernel_thread__is_unidentified(const struct kernel_thread *kernel_thread)
{
    return __atomic_load_n(&kernel_thread->unidentified, __ATOMIC_ACQUIRE);
}

static inline bool kernel_thread__counts(struct kernel_thread *kernel_thread)
{
    uint32_t epoch = __atomic_load_n(&kernel_thread->setup->epoch, __ATOMIC_ACQUIRE);

    return __builtin_expect(kernel_thread->epoch == epoch, 1) || kernel_thread__join(kernel_thread);
}

/* JVMTI's events: see call_tree.h. */
static inline void kernel_thread__enter(struct kernel_thread *kernel_thread, uint64_t key)
{
    if (!kernel_thread__counts(kernel_thread))
        return;
    kernel_thread__charge(kernel_thread);
    if (__builtin_expect(call_tree__is_unseen(&kernel_thread->tree), 0))
        kernel_thread__stand_on_nothing(kernel_thread);
    call_tree__enter(&kernel_thread->tree, key);
    kernel_thread__publish(kernel_thread);
}

static inline void kernel_thread__leave(struct kernel_thread *kernel_thread, uint64_t key)
{
    if (!kernel_thread__counts(kernel_thread))
        return;
    kernel_thread__charge(kernel_thread);
    if (__builtin_expect(call_tree__is_unseen(&kernel_thread->tree), 0))
        kernel_thread__stand_on_nothing(kernel_thread);
    call_tree__leave(&kernel_thread->tree, key);
    kernel_thread__publish(kernel_thread);
}

/* The hooks'. Each has a straight line for the common case, without a call in it, and does all else
 * in another function. */
__attribute__((noinline, cold)) uint64_t kernel_thread__push_slowly(
    struct kernel_thread *kernel_thread, uint64_t key);
__attribute__((noinline, cold)) void kernel_thread__pop_slowly(struct kernel_thread *kernel_thread,
                                                               uint64_t token);

/* While a frame is folded (native/tree/call_tree.h), as long as nothing else is uncommon. False:
 * nothing is done. */
__attribute__((noinline)) bool kernel_thread__push_folded(struct kernel_thread *kernel_thread,
                                                          uint64_t key, uint64_t *token);
__attribute__((noinline)) bool kernel_thread__pop_folded(struct kernel_thread *kernel_thread,
                                                         uint64_t token);

/* The time, if events count and all time since the last event was CPU time; else 0. */
static inline uint64_t kernel_thread__fast_now_ns(const struct kernel_thread *kernel_thread)
{
    const struct kernel_thread_setup *setup = kernel_thread->setup;
    uint64_t ticks, now_ns;

    if (__builtin_expect(kernel_thread->epoch != __atomic_load_n(&setup->epoch, __ATOMIC_ACQUIRE),
                         0))
        return 0;
    ticks = cycle_counter__read() - setup->time.tsc_zero;
    now_ns = (uint64_t)((unsigned __int128)ticks * setup->time.tsc_mult >> 64);
    if (__builtin_expect(*kernel_thread->clock.word != kernel_thread->clock.expected, 0))
        return 0;
    return __builtin_expect(now_ns < kernel_thread->clock.suspect_after_ns, 1) ? now_ns : 0;
}

/* False: nothing is done, this is not the common case. */
static inline bool kernel_thread__push_fast(struct kernel_thread *kernel_thread, uint64_t key,
                                            uint64_t *token)
{
    struct call_tree *tree = &kernel_thread->tree;
    struct ledger_kernel_thread *record = kernel_thread->record;
    struct ledger_node *node = tree->current, *child;
    uint64_t now_ns;
    ledger_ref ref;

    if (__builtin_expect(tree->lost_depth != 0, 0))
        return false;
    now_ns = kernel_thread__fast_now_ns(kernel_thread);
    if (__builtin_expect(now_ns == 0, 0))
        return false;
    ref = node->last_hit;
    child = call_tree__node(tree, ref);
    if (__builtin_expect(child->key != key, 0))
        return false;
    *token = tree->token;
    tree->current = child;
    tree->token++;
    kernel_thread__charge_cpu(record, node, now_ns);
    __atomic_store_n(&child->calls, child->calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&record->current, ref, __ATOMIC_RELEASE);
    return true;
}

static inline uint64_t kernel_thread__push(struct kernel_thread *kernel_thread, uint64_t key)
{
    uint64_t token;

    if (__builtin_expect(kernel_thread__push_fast(kernel_thread, key, &token), 1))
        return token;
    return kernel_thread__push_slowly(kernel_thread, key);
}

static inline bool kernel_thread__pop_fast(struct kernel_thread *kernel_thread, uint64_t token)
{
    struct call_tree *tree = &kernel_thread->tree;
    struct ledger_kernel_thread *record = kernel_thread->record;
    struct ledger_node *node = tree->current;
    uint64_t now_ns;
    ledger_ref ref;

    if (__builtin_expect(tree->lost_depth != 0, 0))
        return false;
    now_ns = kernel_thread__fast_now_ns(kernel_thread);
    if (__builtin_expect(now_ns == 0, 0) || __builtin_expect(token + 1 != tree->token, 0))
        return false;
    ref = node->parent;
    tree->current = call_tree__node(tree, ref);
    tree->token = token;
    kernel_thread__charge_cpu(record, node, now_ns);
    __atomic_store_n(&record->current, ref, __ATOMIC_RELEASE);
    return true;
}

static inline void kernel_thread__pop(struct kernel_thread *kernel_thread, uint64_t token)
{
    if (__builtin_expect(!kernel_thread__pop_fast(kernel_thread, token), 0))
        kernel_thread__pop_slowly(kernel_thread, token);
}

static inline void kernel_thread__catch(struct kernel_thread *kernel_thread, uint64_t token)
{
    if (!kernel_thread__counts(kernel_thread))
        return;
    kernel_thread__charge(kernel_thread);
    if (__builtin_expect(call_tree__is_unseen(&kernel_thread->tree), 0))
        kernel_thread__stand_on_nothing(kernel_thread);
    call_tree__catch(&kernel_thread->tree, token);
    kernel_thread__publish(kernel_thread);
}

#endif
