/*
 * A kernel thread at work: its clock, its metrics, the Java thread that it runs, and the position
 * in that Java thread's call tree. Every event passes through here in three steps: charge what was
 * consumed since the last event to the current node, move to another node, publish the new
 * position.
 *
 * While a kernel thread lives, only that thread uses its kernel_thread, but for functions that say
 * otherwise. enter, leave and charge do not lock, block or log, and allocate nothing but nodes in
 * the ledger.
 *
 * kernel_thread.c starts and ends threads, kernel_thread_charge.c charges, kernel_thread_epoch.c
 * has threads take part after a start of profiling, kernel_thread_position.c finds older frames;
 * kernel_thread_events.h has the events of methods, and kernel_thread_slow_hooks.c those that the
 * fast path leaves.
 */
#ifndef TREADLE_KERNEL_THREAD_H
#define TREADLE_KERNEL_THREAD_H

#include "native/clock/kernel_clock.h"
#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"
#include "native/metrics/metric_reader.h"
#include "native/thread/measured_calls.h"
#include "native/thread/open_calls.h"
#include "native/thread/stopped_time.h"
#include "native/thread/thread_fold.h"
#include "native/thread/thread_timeline.h"
#include "native/thread/timed_hooks.h"
#include "native/thread/unprofiled.h"
#include "native/tree/call_tree.h"

#include <stdbool.h>
#include <stdint.h>

/* Metrics that can change without a switch are read again once their reading is older. */
#define METRICS_INTERVAL_NS 10000000u

/* The same for metrics that are read when a virtual thread leaves its carrier. */
#define HANDOVER_INTERVAL_NS 1000000u

/* No events count while profiling is stopped. Each start begins a new epoch. */
#define EPOCH_STOPPED 0u
#define EPOCH_FIRST   1u

/* What all kernel threads of a process share. Constant once the agent runs, except the epoch. */
struct kernel_thread_setup {
    uint32_t epoch;      /* atomic; EPOCH_STOPPED, or counted up from 1 */
    bool timeline_is_on; /* atomic; see timeline.h */
    struct timeline *timeline;
    struct ledger *ledger;
    struct unprofiled_table *unprofiled; /* or NULL: profiled from the beginning to the end */
    struct ledger_time time;
    struct stopped_time stopped; /* of the host */
    bool tells_waits;            /* the host tells why threads wait; see wait_bracket.h */
    enum ledger_clock_kind clock;
    uint64_t metrics_charged; /* bits: charged to nodes */
    uint64_t metrics_totals;  /* bits: known per thread, read when the thread ends */
    bool reuse_new;           /* reuse=new */
    bool admits_all;          /* see struct call_tree */
    bool has_latencies;       /* some methods have METHOD_LATENCY */
    bool names_exits; /* every exit has an event that names its method, so frames need no tokens */
    uint32_t counted_keys; /* the pushes of this many keys, from 0 on, are counted; 0: none */
    call_tree_resolve resolve;
    void *resolve_context;
};

/* In a token: the epoch, and how often in that epoch the thread was found at another position. */
#define EPOCH_BITS 20

/* The epoch of a kernel thread whose events do not count now. */
#define EPOCH_NONE UINT32_MAX

/* The position of a Java thread that is not running. */
struct java_position {
    struct ledger_thread *thread; /* NULL: there is no thread */
    ledger_ref node;
    uint64_t token;
    uint64_t lost_depth;
    uint64_t floor;
    struct ledger_returns returns;       /* owned by this position if there is a thread */
    struct ledger_open_calls open_calls; /* ditto */
    bool unsure;                         /* see struct call_tree */
};

#define FLOOR_CALLERS 8u

/* What the host learned from looking at the thread's stack. */
struct floor_look {
    uintptr_t callers[FLOOR_CALLERS]; /* places on the stack that have called from the floor since
                                         the look */
    uint64_t cost_ns;                 /* of all looks in this epoch */
    uint64_t last_cost_ns;            /* of the last one */
    uint64_t last_ns;                 /* the thread's CPU time then, … */
    uint64_t begin_ns;                /* … and when the epoch began */
    uint64_t parked_ns; /* time parked since the epoch began, by a virtual thread that was not
                           looked at yet */
};

/* A position mend: samples found the thread at another position than its path says, and the thread
 * has had no event since. */
struct position_mend {
    bool ready;          /* atomic: the other fields are filled in */
    ledger_ref from;     /* the position that the path says */
    ledger_ref to;       /* the true position, further up */
    uint64_t charged_ns; /* the record's charged_cpu_ns while `from` was current */
    uint64_t agreed_ns;  /* CPU time since then in which samples agreed */
};

/* Waits for stops of the host (native/thread/stopped_waits.h). */
struct stopped_waits {
    uint64_t seen_ns; /* the host's stopped time when a wait was charged last */
    struct {          /* the longest wait without a reason of the last few milliseconds */
        const struct ledger_thread *thread;
        ledger_ref node;
        uint64_t ns; /* 0: there is none */
        uint64_t end_ns;
    } unexplained;
    struct { /* charged since the run queue delay was read last: */
        const struct ledger_thread *thread;
        ledger_ref node[2]; /* for stops in the last wait, and before it */
        uint64_t ns[2];
        int64_t rest_ns; /* all other waiting; negative: delay whose wait is not charged yet */
    } unread;
};

#define WAIT_REASONS 5u /* LEDGER_WAIT_METRICS, of which METRIC_MONITOR_WAIT is the first */

/* Waits whose reason and time are taken, but that are charged later (wait_bracket__begin_timed). */
struct timed_waits {
    const struct ledger_thread *thread; /* that waits; NULL: there are none */
    uint64_t began_ns;                  /* that which is under way; 0: none is */
    uint64_t stopped_ns;                /* the host's stopped time then */
    uint64_t unprofiled_ns;             /* the ledger's unprofiled time then */
    uint64_t ns[WAIT_REASONS];          /* not charged yet */
};

struct kernel_thread {
    const struct kernel_thread_setup *setup;
    struct ledger_kernel_thread *record;
    const struct ledger_unprofiled *unprofiled; /* atomic; or NULL */
    struct ledger_thread *thread; /* the Java thread that runs, or the last one that did; or NULL */
    const void *host;             /* the host's handle of the platform thread; or NULL */
    uint32_t epoch;  /* events count while it equals the setup's; EPOCH_NONE if idle or paused */
    uint32_t joined; /* the last epoch in which the thread took part */
    uint32_t placed; /* the last epoch at whose start another thread placed it */
    bool held;       /* atomic; see kernel_thread__place */
    bool placing;    /* atomic; see kernel_thread__place_again: events do not count meanwhile */
    bool joining; /* atomic; the thread takes part in the epoch from here on and is not placed again
                   */
    bool unidentified; /* atomic; a start or end may have been missed, so the host must find out
                          which Java thread runs */
    bool idle;         /* no Java thread runs */
    bool refused;      /* there was no room for the running Java thread: counted, not tried again */
    bool paused;       /* a virtual thread that could not be recorded is mounted */
    struct java_position carrier; /* the carrier's own position while a virtual thread is mounted */
    uint32_t identified; /* the last epoch for which the thread mounted at the epoch's beginning was
                            identified */
    struct kernel_clock clock;
    int processor; /* on which the thread was at the last switch noticed; -1: not known */
    uint64_t metrics_read_ns;
    struct stopped_waits stops;
    struct timed_waits timed;
    uint16_t looks_skipped; /* parks until the next one is looked at for a lock; and how many are */
    uint16_t looks_pause;   /* skipped after each one that was for none */
    uint64_t uncharged_wait_ns; /* when the wait under way began, if nothing has been charged in it
                                   or at its begin; else 0 */
    bool metrics_due;           /* the next charge reads them */
    bool delay_due;             /* of a carrier: it was switched out since its run queue delay was
                                   read */
    uint64_t handover_ns;       /* when its other totals were read last; 0: never */
    uint64_t metrics_on_interval; /* bits: also read without a switch, at intervals */
    struct metric_reader reader;
    struct call_tree tree;
    struct ledger_open_calls open_calls; /* of the running Java thread */
    struct floor_look look;
    struct position_mend mend;
    uint8_t
        *key_pushes; /* for the host: this thread's pushes by key, wrapping; NULL: not counted */
    struct measured_calls measured; /* for the host */
    uint64_t unblocked_signals;     /* for the host: as it found them; 0: not known */
    uintptr_t busy; /* the frame of an event that changes the tree, in whose middle the thread is;
                       else 0 */
    void *_Atomic native_frames; /* for the host: kept as long as this struct; or NULL */
    struct thread_folder folder;
    struct hook_times times;
    struct timeline_mark timeline_mark;
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
    uint32_t priority; /* 0: not known */
    ledger_ref parent;
    bool may_stand;   /* of a virtual thread: may have frames that were entered before the agent saw
                         it */
    const void *host; /* of an adopted thread; see struct kernel_thread */
};

/* Initializes the struct for the calling kernel thread. The record is zeroed except tid and
 * generation. Keys are never 0: roots and gaps have key 0. */
void kernel_thread__begin(struct kernel_thread *kernel_thread,
                          const struct kernel_thread_setup *setup,
                          struct ledger_kernel_thread *record);

/* begin_absent: initializes the struct for another kernel thread, which runs a Java thread already.
 * The accounts open now, in the thread's absence. 0 or -errno (-ESRCH: the thread is gone).
 * take_over: to be called on that thread, at its own first event. */
int kernel_thread__begin_absent(struct kernel_thread *kernel_thread,
                                const struct kernel_thread_setup *setup,
                                struct ledger_kernel_thread *record,
                                const struct java_thread_facts *facts);
void kernel_thread__take_over(struct kernel_thread *kernel_thread);

/* To be called after each stop and start: sets what of the thread's consumption is profiled from
 * here on. From any thread. */
void kernel_thread__note_unprofiled(struct kernel_thread *kernel_thread);

/* To be called when the kernel thread is about to end: charges the last delta. */
void kernel_thread__end(struct kernel_thread *kernel_thread);

/* A Java thread begins to run on this kernel thread. On a new kernel thread, all that the kernel
 * thread has consumed goes to the Java thread. On a reused kernel thread, what was consumed since
 * the last event goes to the previous Java thread, or with reuse=new to the new one. 0, or -ENOMEM
 * when the ledger is full (counted once until `refused` is cleared; the thread's events are then
 * ignored). */
int kernel_thread__start_java(struct kernel_thread *kernel_thread,
                              const struct java_thread_facts *facts);

/* The Java thread has ended: the last delta goes to its current node, and the thread is flagged as
 * terminated. */
void kernel_thread__end_java(struct kernel_thread *kernel_thread);

/* Makes a record and a root for a Java thread that is about to run here; none if the ledger is
 * full. */
ledger_ref kernel_thread__add_thread(struct kernel_thread *kernel_thread,
                                     const struct java_thread_facts *facts);

/* Makes another Java thread current, at the given position, or at the thread's root if the position
 * is of another epoch. Everything must have been charged. The position's returns become the tree's.
 */
void kernel_thread__switch_to(struct kernel_thread *kernel_thread,
                              const struct java_position *position);

/* Pauses events until resumed, because a Java thread that could not be recorded runs on this kernel
 * thread. What is consumed meanwhile is still charged to the current node. */
void kernel_thread__pause(struct kernel_thread *kernel_thread);
void kernel_thread__resume(struct kernel_thread *kernel_thread);

/* True if events count. Called when the epoch says that they may not: the thread then takes part in
 * the new epoch, with calls that begin at the thread's root. A virtual thread that was mounted in
 * an earlier epoch is no longer taken for mounted, because its unmount may have been missed, unless
 * virtual_thread__identify has found it here. */
bool kernel_thread__join(struct kernel_thread *kernel_thread);

/*
 * Placing a thread whose frames were entered before the epoch. The frames' methods that have nodes
 * are passed by key, oldest first.
 *
 * stand_at_root: called on the thread itself, whose stack the host is about to report. The thread's
 * open tokens become invalid. What was consumed until here is charged to the old position.
 * stand_on: passes the next frames, any number of times, up to the youngest frame.
 *
 * place: called before the coming epoch begins, while no events count, from any thread. What was
 * consumed until the stop is charged to the position at the stop, and the epoch begins at the
 * position that the frames say. The thread itself looks again at its first event. Not for hooks;
 * waits for a start or end of a Java thread on the kernel thread.
 *
 * place_again: the same once the epoch has begun, for a thread that was placed and has had no event
 * since: the thread may have moved between the two and may then stay silent. Also for a virtual
 * thread that was placed where it is mounted (virtual_thread__place). Neither the placing thread
 * nor the placed thread waits for the other: an event during the placing does not count, and a
 * thread that has had an event is not placed. begin_placing, end_placing: bracket other changes to
 * the position of such a thread. False: the thread has had an event, so its own position is right;
 * end_placing must be called all the same.
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

/* True if the thread was placed and has had no event since the epoch began. */
bool kernel_thread__is_silent(const struct kernel_thread *kernel_thread, uint32_t epoch);

/* Bracket what the thread's first event in an epoch changes. False: the thread is being placed now.
 */
bool kernel_thread__begin_joining(struct kernel_thread *kernel_thread);
void kernel_thread__end_joining(struct kernel_thread *kernel_thread);

/* To be called if the running Java thread existed before the agent saw it start: the thread may
 * have older frames, which the host looks for before the next event. */
void kernel_thread__doubt(struct kernel_thread *kernel_thread);

/* See call_tree__leave_floor; the events count. */
bool kernel_thread__leave_floor(struct kernel_thread *kernel_thread, uint64_t key);

/* Requests a mend; for one other thread only. The thread itself applies the mend, in a signal
 * handler that did not interrupt an event. An event that comes first cancels the mend, because
 * events find the position by themselves. */
void kernel_thread__ask_to_mend(struct kernel_thread *kernel_thread,
                                const struct position_mend *mend);
void kernel_thread__mend(struct kernel_thread *kernel_thread);

/* Applies a mend at once, from another thread, to a thread that was placed and has had no event
 * since. */
void kernel_thread__mend_silent(struct kernel_thread *kernel_thread,
                                const struct position_mend *mend);

static inline bool kernel_thread__is_to_be_mended(const struct kernel_thread *kernel_thread)
{
    return __atomic_load_n(&kernel_thread->mend.ready, __ATOMIC_ACQUIRE);
}

/* Gives up the search for the thread's older frames: events count from the current node. */
__attribute__((noinline, cold)) void kernel_thread__stand_on_nothing(
    struct kernel_thread *kernel_thread);

/* Bracket what excludes placing by another kernel thread, such as the start or end of a Java
 * thread. hold waits while another thread holds; not for hooks. */
void kernel_thread__hold(struct kernel_thread *kernel_thread);
void kernel_thread__let_go(struct kernel_thread *kernel_thread);

/* Charges what was consumed until the last stop of profiling to the current node. */
void kernel_thread__charge_until_stop(struct kernel_thread *kernel_thread);

/* True if the token was given out in that epoch. */
static inline bool token__is_of_epoch(uint64_t token, uint32_t epoch)
{
    return ((token >> 32 ^ epoch) & ((1u << EPOCH_BITS) - 1)) == 0;
}

/* Charges what the thread has consumed until now. Called by another thread, while the thread itself
 * must not charge. */
void kernel_thread__charge_absent(struct kernel_thread *kernel_thread);

/* Adds to a metric of the current node and its thread, for metrics that are counted rather than
 * read. */
void kernel_thread__count(struct kernel_thread *kernel_thread, enum ledger_metric metric);

/* Charges where the fast charge does not suffice: CPU time by the kernel's clock, and the metrics
 * if they can have changed. */
void kernel_thread__charge_slowly(struct kernel_thread *kernel_thread);

/* Charges, and looks at the kernel's clock unless the last look is too recent to be worth it. For
 * where another thread, or a wait, comes next: see kernel_thread_charge.c. */
void kernel_thread__charge_checked(struct kernel_thread *kernel_thread);

/* The same before a wait: metrics are charged with the next event, to the node that is current
 * then. */
void kernel_thread__charge_before_wait(struct kernel_thread *kernel_thread);

/* On a carrier, where the current thread gives way to another one: charges the metrics that are
 * known as totals only, and are read when a platform thread ends. The run queue delay, if the
 * carrier was switched out since; the others where a virtual thread leaves, and not more often than
 * each HANDOVER_INTERVAL_NS, for a reading takes longer than some threads are mounted. */
void kernel_thread__charge_handover(struct kernel_thread *kernel_thread, bool virtual_leaves);

/* Charges the time that pruning took in this event to the thread's root: charged to the context
 * that was entered, it would make that context look warm. */
void kernel_thread__charge_pruning(struct kernel_thread *kernel_thread);

/* Charges the metrics that are charged to nodes, as if there had been a switch. */
void kernel_thread__charge_metrics(struct kernel_thread *kernel_thread);

/* Charges CPU time and every metric, also those that are known per thread only. */
void kernel_thread__charge_all(struct kernel_thread *kernel_thread);

/* Skips what was consumed while profiling was stopped, for metrics that only the thread itself can
 * read: that part is charged to no node. */
void kernel_thread__pass_over_metrics(struct kernel_thread *kernel_thread);

/* Charges CPU time where all time since the last event was CPU time: the thread's CPU clock is
 * now_ns less the time that the thread has waited. */
static inline void kernel_thread__charge_cpu(struct ledger_kernel_thread *record,
                                             struct ledger_node *node, uint64_t now_ns)
{
    uint64_t cpu_ns = now_ns - record->waited_ns;

    __atomic_store_n(&node->cpu_ns, node->cpu_ns + (cpu_ns - record->charged_cpu_ns),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&record->charged_cpu_ns, cpu_ns, __ATOMIC_RELAXED);
}

/* Charges the delta since the last event to the current node. */
static inline void kernel_thread__charge(struct kernel_thread *kernel_thread)
{
    uint64_t now_ns = ledger_time__now_ns(&kernel_thread->setup->time);

    if (__builtin_expect(kernel_clock__ran_through(&kernel_thread->clock, now_ns), 1)) {
        kernel_thread__charge_cpu(kernel_thread->record, kernel_thread->tree.current, now_ns);
        return;
    }
    kernel_thread__charge_slowly(kernel_thread);
}

/* Stores the current node where readers find it. */
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

/* The running Java thread must be identified first. */
static inline bool kernel_thread__is_unidentified(const struct kernel_thread *kernel_thread)
{
    return __atomic_load_n(&kernel_thread->unidentified, __ATOMIC_ACQUIRE);
}

/* True if events count now. The first call in an epoch has the thread take part in it. */
static inline bool kernel_thread__counts(struct kernel_thread *kernel_thread)
{
    uint32_t epoch = __atomic_load_n(&kernel_thread->setup->epoch, __ATOMIC_ACQUIRE);

    return __builtin_expect(kernel_thread->epoch == epoch, 1) || kernel_thread__join(kernel_thread);
}

#endif
