/* The ledger's format: Java threads and kernel threads. See ledger_format.h. */
#ifndef TREADLE_LEDGER_THREADS_H
#define TREADLE_LEDGER_THREADS_H

#include "native/ledger/ledger_nodes.h"

#include <stdint.h>

enum ledger_thread_kind {
    THREAD_PLATFORM = 1,
    THREAD_VIRTUAL = 2,
    THREAD_CARRIER = 3,
    THREAD_VM = 4,     /* a thread of the JVM itself: GC, JIT, … */
    THREAD_NATIVE = 5, /* any other kernel thread */
};

enum ledger_thread_flag {
    THREAD_TERMINATED = 1u << 0, /* nothing is charged to its methods any more */
    THREAD_DAEMON = 1u << 1,
    THREAD_SEEDED = 1u << 2, /* had frames before events began: these frames have no calls */
    THREAD_LAST_MOMENTS =
        1u << 4,                /* not a thread: what threads consumed after they were last seen */
    THREAD_GROUP = 1u << 5,     /* ended threads folded into one row; `members` is their number */
    THREAD_MORE_TIDS = 1u << 6, /* ran on more kernel threads than tids[] has room for */
    THREAD_HIDDEN = 1u << 3, /* a row to skip: its kernel thread turned out to run a Java thread */
};

#define LEDGER_THREAD_TIDS 24u

/* Private to the tree's writer: where folded frames return to; see return_stack.h. */
struct ledger_returns {
    ledger_ref top;   /* the note with the newest run; none: no frame is folded */
    uint32_t used;    /* runs in the top note */
    uint32_t repeats; /* repetitions of the newest run, after the first */
    uint32_t above;   /* unfolded frames above the newest folded frame */
};

/* Private to the tree's writer: the calls of methods of latency= that are under way; see
 * native/thread/open_calls.h. */
struct ledger_open_calls {
    ledger_ref top;  /* the note with the newest call; none: no call is under way */
    uint32_t used;   /* calls in the top note */
    uint64_t cpu_ns; /* the thread's CPU time so far, from any beginning; while it runs, less that
                        of its kernel thread */
};

/* A move: a node that is being folded into another node. While `from` is set, this record holds
 * what `to` had before the move; the true numbers of `to` are these plus those of `from`. If `to`
 * is a NODE_FOLDED, the node itself is being linked below it. */
struct ledger_move {
    ledger_ref from; /* none: no move is under way */
    ledger_ref to;
    union {
        struct {
            ledger_ref side; /* of `to`, before; of a linked node: the old parent */
            uint32_t reserved;
        };
        uint64_t seen_ns; /* of a sampled `to`, before */
    };
    uint64_t calls;   /* of `to`, before; of a sampled `to`: the fields at the same offsets */
    uint64_t cpu_ns;  /* ditto */
    uint64_t wait_ns; /* ditto */
};

/* In a group: one number of an ended thread on its way to the group; see number_transfer.h. While
 * `from` is set, the number of `to` is `sum`, and that of `from` is 0. */
struct ledger_transfer {
    ledger_ref from; /* none: no number is on its way */
    ledger_ref to;
    uint32_t offset; /* of the number in either record, in bytes */
    uint32_t reserved;
    uint64_t sum;
};

struct ledger_thread {
    ledger_ref name;    /* the name when the thread started */
    ledger_ref renames; /* newest first, linked */
    ledger_ref parent;  /* the thread that started it, or none */
    ledger_ref root;    /* its tree's root node */
    ledger_ref current; /* the current node while no kernel thread runs the thread */
    uint32_t kind;      /* enum ledger_thread_kind */
    uint32_t flags;     /* enum ledger_thread_flag */
    uint32_t rename_count;
    uint64_t java_id; /* Thread.threadId(), 0 if none */
    uint64_t start_ns;
    uint64_t end_ns;      /* 0 while the thread runs */
    uint64_t lost_enters; /* unrecorded calls that the header does not count */
    uint32_t tid_count;
    int32_t tids[LEDGER_THREAD_TIDS]; /* the first LEDGER_THREAD_TIDS kernel threads that ran the
                                         thread */
    uint32_t latest_name_hash;        /* hash of the newest name if rename_count is not 0 */
    uint16_t unsure;                  /* of a virtual thread; see call_tree.h */
    uint16_t wait_reason; /* enum ledger_metric while the thread waits for a known reason;
                             else 0; see native/thread/wait_bracket.h */
    ledger_ref
        group_name;   /* of a thread without a name: the name of its group when folded; else none */
    uint64_t members; /* of a group: how many threads were folded into it */
    uint64_t parent_id; /* java_id of the parent; the parent's record may have been reused */
    /* virtual threads; `current` and these fields hold the state while the thread is unmounted */
    uint64_t mounts;
    uint64_t pinned;             /* how often an unmount failed because the thread was pinned */
    uint64_t parked_ns;          /* total time unmounted */
    uint64_t unmounted_ns;       /* when the current unmounted time began; 0: mounted */
    uint64_t token;              /* see call_tree.h */
    uint64_t lost_depth;         /* ditto */
    uint64_t unprofiled_wall_ns; /* the header's value when the row of a VM or native thread was
                                    made, or when the virtual thread was unmounted */
    uint64_t first_ticks;        /* VM and native rows: start_ticks of the kernel thread */
    uint64_t totals[LEDGER_METRIC_SLOTS];
    uint64_t left_cpu_ns; /* CPU time in its tree when its kernel thread went on to another thread;
                             0: not known */
    uint64_t samples;     /* samples taken while the thread ran; written on its kernel thread */
    uint64_t merged_samples; /* of `samples`: merged into its tree or dropped; written by the
                                profiler's thread */
    uint64_t
        partial_samples; /* of `samples`: the walk did not reach the virtual thread's first frame */
    uint64_t recorded_samples; /* partial_samples when the thread's whole stack was last recorded */
    uint64_t lost_samples; /* CPU samples due but lost for want of room in a buffer or the ledger */
    uint64_t seen_wall_ns; /* wall time that the thread's wall samples stand for; CPU time is in the
                              nodes */
    uint64_t moded_cpu_ns; /* CPU time that the kernel had divided into user and system at its last
                              sample; moves by ticks */
    uint64_t moded_system_ns;      /* of moded_cpu_ns: in the kernel */
    uint64_t floor;                /* see call_tree.h; beside `current`, as token */
    struct ledger_returns returns; /* ditto */
    ledger_ref next_ended;         /* see thread_fold.h */
    ledger_ref folded;             /* the NODE_FOLDED below its root, or none */
    /* calls that found no room for a node and have not returned; see folded_calls.h */
    ledger_ref folded_path;  /* the newest note of their nodes */
    ledger_ref folded_below; /* the node in which the oldest of these calls was made */
    uint32_t folded_depth;   /* how many of these calls there are */
    uint32_t reserved_nodes; /* nodes of this thread's contexts taken from the reserved part */
    union {
        struct ledger_move move; /* under way; written, as the fields from cold_ns on, by the tree's
                                    writer; see tree_pruning.h */
        struct ledger_transfer transfer; /* of a THREAD_GROUP, whose own moves are all done */
    };
    uint64_t cold_ns;         /* contexts with less CPU time are folded where there is no room */
    uint64_t folded_bound_ns; /* the most CPU time of a context whose node was folded */
    uint64_t foldings;        /* how often a context was folded */
    uint64_t pruning_moves;   /* how often a node was moved for that */
    uint64_t unplaced_calls;  /* calls that found no room for a node of their context */
    uint64_t blocked_ns; /* when the wait began that `block` has; see native/thread/lock_blocks.h */
    ledger_ref block;    /* of the wait for a lock that is under way, or none */
    uint32_t priority;   /* Thread.getPriority() when the thread began; 0: not known */
    struct ledger_open_calls open_calls; /* while the thread is unmounted */
    /* private to the agent: the lock that the thread waited for last, until it owns a lock */
    uint64_t won_monitor; /* its address if it is a monitor; 0: it is none */
    uint64_t won_lock;    /* its class << 32 | its identity; 0: it does not matter any more */
    ledger_ref won_node;  /* where it was */
    uint32_t reserved_won;
    uint64_t reserved_end[1];
};

/* What the ledger knows of a kernel thread. A reader can work out what is not charged yet: the
 * thread's CPU clock less charged_cpu_ns, and each metric less its last reading. */
struct ledger_kernel_thread {
    int32_t tid; /* 0: the record is free; its last kernel thread has ended */
    uint32_t generation;
    ledger_ref thread;       /* the Java thread that runs on it, or the last one that did */
    ledger_ref current;      /* the node to which deltas are charged */
    uint64_t charged_cpu_ns; /* CPU time charged to any Java thread on this kernel thread; readers
                                load it first */
    uint64_t waited_ns; /* time of the last charge less charged_cpu_ns; writers store it first */
    uint64_t before_cpu_ns;      /* of charged_cpu_ns: of Java threads before `thread` */
    uint64_t start_ticks;        /* field 22 of its stat: with the tid, names a kernel thread */
    uint64_t own_read_bytes;     /* bytes that the agent itself read, which the kernel's read_bytes
                                    contain */
    uint64_t unprofiled_wall_ns; /* the part of the header's unprofiled_wall_ns that waited_ns
                                    contains */
    uint64_t readings[LEDGER_METRIC_SLOTS]; /* metrics as last read */
    uint64_t
        carries; /* 1: virtual threads were mounted on it, so its CPU time is in several trees */
    uint64_t kernel_cpu_ns; /* in a snapshot: what the kernel said at its end; charged_cpu_ns is
                               what stands in the trees */
    uint64_t reserved[7];
};

/* What a kernel thread consumed while it was not profiled: while profiling was stopped, or before
 * the agent was loaded. No other number of the ledger contains it. Profiled = the kernel's total
 * less this. */
struct ledger_unprofiled {
    int32_t tid; /* 0: free */
    uint32_t reserved;
    uint64_t start_ticks;    /* with the tid, names a kernel thread */
    uint64_t cpu_ns;         /* up to the last start */
    uint64_t stopped_cpu_ns; /* profiled, up to the last stop */
    uint64_t value[LEDGER_METRIC_SLOTS];
    uint64_t stopped_value[LEDGER_METRIC_SLOTS];
    uint64_t reserved_end[6];
};

struct ledger_rename {
    ledger_ref name;
    ledger_ref older;
    uint64_t when_ns;
    uint64_t reserved[6];
};

_Static_assert(sizeof(struct ledger_rename) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_thread) % LEDGER_CELL_BYTES == 0, "whole cells");
_Static_assert(sizeof(struct ledger_kernel_thread) % LEDGER_CELL_BYTES == 0, "whole cells");
_Static_assert(sizeof(struct ledger_unprofiled) % LEDGER_CELL_BYTES == 0, "whole cells");

/* The metric of the reason for which the thread waits; 0: it does not wait, or the reason is not
 * known. */
static inline unsigned ledger_thread__wait_reason(const struct ledger_thread *thread)
{
    unsigned reason = __atomic_load_n(&thread->wait_reason, __ATOMIC_RELAXED);

    return reason < LEDGER_METRIC_SLOTS && LEDGER_WAIT_METRICS >> reason & 1 ? reason : 0;
}

/* The time at which the kernel thread was last charged. */
static inline uint64_t ledger_kernel_thread__last_ns(const struct ledger_kernel_thread *record)
{
    return record->charged_cpu_ns + record->waited_ns;
}

#endif
