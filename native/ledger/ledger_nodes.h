/* The ledger's format: metrics, and the nodes of call trees. See ledger_format.h. */
#ifndef TREADLE_LEDGER_NODES_H
#define TREADLE_LEDGER_NODES_H

#include "native/ledger/ledger_chunk.h"

#include <stdint.h>

/*
 * Metrics. CPU and wall time stand in the node itself; the others in `value[]` of a side record,
 * at this index. The numbers are part of the format: append, never renumber.
 */
enum ledger_metric {
    METRIC_USER,               /* ns */
    METRIC_SYSTEM,             /* ns */
    METRIC_VOLUNTARY_SWITCHES, /* the rest: counts, bytes or ns, see kernel_metrics.h */
    METRIC_INVOLUNTARY_SWITCHES,
    METRIC_MINOR_FAULTS,
    METRIC_MAJOR_FAULTS,
    METRIC_BLOCK_INPUTS,
    METRIC_BLOCK_OUTPUTS,
    METRIC_READ_BYTES,  /* through system calls, from anything */
    METRIC_WRITE_BYTES, /* ditto */
    METRIC_DISK_READ_BYTES,
    METRIC_DISK_WRITE_BYTES,
    METRIC_RUN_QUEUE_DELAY, /* ns */
    METRIC_TIMESLICES,
    METRIC_BLOCK_IO_DELAY, /* ns, taskstats, as all below */
    METRIC_SWAP_IN_DELAY,
    METRIC_RECLAIM_DELAY,
    METRIC_THRASHING_DELAY,
    METRIC_COMPACT_DELAY,
    METRIC_WRITE_PROTECT_DELAY,
    METRIC_INTERRUPT_DELAY,
    METRIC_PINNED,       /* virtual threads: how often the thread blocked its carrier */
    METRIC_MONITOR_WAIT, /* ns of wait_ns whose reason is known, as all below; see
                            native/thread/wait_bracket.h */
    METRIC_OBJECT_WAIT,
    METRIC_PARK,
    METRIC_SLEEP,
    METRIC_IO_WAIT,
    METRIC_SAFEPOINT, /* these two are inferred from what else is known of the wait */
    METRIC_UNMOUNTED,
    METRIC_MIGRATIONS, /* times that the thread was found on another processor after a switch */
    METRIC_COUNT,
};

#define LEDGER_METRIC_SLOTS 31u

#define LEDGER_WAIT_METRICS                                                                        \
    (UINT64_C(1) << METRIC_MONITOR_WAIT | UINT64_C(1) << METRIC_OBJECT_WAIT |                      \
     UINT64_C(1) << METRIC_PARK | UINT64_C(1) << METRIC_SLEEP | UINT64_C(1) << METRIC_IO_WAIT)

#define LEDGER_INFERRED_WAITS (UINT64_C(1) << METRIC_SAFEPOINT | UINT64_C(1) << METRIC_UNMOUNTED)

enum ledger_node_kind {
    NODE_ROOT = 1,    /* the thread node: no method */
    NODE_EXACT = 2,   /* a method in one calling context */
    NODE_GAP = 3,     /* "(between Java threads)": no method, child of a root */
    NODE_FOLDED = 4,  /* "(folded)": no method; see below */
    NODE_SAMPLED = 5, /* a Java frame of a sampled stack */
    NODE_NATIVE = 6,  /* a native frame of a sampled stack */
    NODE_KERNEL = 7,  /* a kernel frame of a sampled stack */
    NODE_UNSEEN = 8,  /* never in a ledger: a report's row, below an exact node, of the time that no
                         sample covers */
    NODE_LOGICAL = 9, /* a frame that the program named itself; among the exact nodes */
};

/*
 * One calling context in one cache line.
 *
 * Sampled frames (NODE_SAMPLED, NODE_NATIVE, NODE_KERNEL) hang under the exact node that was
 * current when the sample was taken. The exact node's `sampled` is the first of them; siblings and
 * children of sampled frames are linked like those of exact nodes. A sampled frame has sample
 * counts where an exact node has calls and times; a sample is counted at its top frame only. A
 * sample whose top frame is the method of the exact node itself is counted in a sampled child with
 * NODE_SELF.
 *
 * A logical frame that a process with the agent pushed is an exact node whose method has
 * METHOD_LOGICAL: with calls, and times charged as to any method. One that was sampled from outside
 * (NODE_LOGICAL) is linked as an exact node. Its method has METHOD_LOGICAL, its
 * times are what the kernel said at samples, and it has a number of samples where an exact node has
 * calls.
 *
 * A NODE_FOLDED has one exact child per method. The child has the sums of the method's calls and
 * times in contexts that have no nodes of their own. The NODE_FOLDED hangs below a node that all
 * these contexts lie below. A NODE_FOLDED below a root also has the calls that found no room for a
 * node. The NODE_FOLDED itself has no calls and no times.
 *
 * A CPU sample stands for the CPU time since the previous sample on its kernel thread, or since the
 * kernel thread's sample timer was set. CPU time before the timer was set, and the time of lost
 * samples, is in no seen_ns. The base CPU time of an exact node less the seen_ns of all sampled
 * frames below the node is the time that no sample covers.
 */
struct ledger_node {
    union {
        uint64_t key;     /* the method's key, so that the hot path needs no other line */
        uint64_t seen_ns; /* CPU time of this sampled frame's cpu_samples */
    };
    ledger_ref method; /* none for roots and gaps */
    ledger_ref parent; /* none for roots */
    ledger_ref first_child;
    ledger_ref next_sibling;
    union {
        ledger_ref last_hit; /* the child entered last; private to the writer, may be stale */
        uint32_t contexts;   /* of a NODE_FOLDED: approximate number of contexts folded into it */
    };
    ledger_ref sampled;      /* the first sampled child of an exact node, a root or a gap */
    ledger_ref side;         /* metrics that are not zero, or none */
    uint32_t kind_and_level; /* level on its path << 28 | enum ledger_node_kind << 24 | NODE_TIMED |
                                recursion level, or levels << NODE_FOLDED_SHIFT | NODE_SELF */
    union {
        uint64_t calls;
        uint64_t samples;     /* of a logical frame, and of its root: with it on top */
        uint64_t cpu_samples; /* CPU samples with this sampled frame on top */
    };
    union {
        uint64_t cpu_ns;      /* base */
        uint64_t interpreted; /* samples through this sampled frame in which it was interpreted */
    };
    union {
        uint64_t wait_ns; /* base: elapsed time less CPU time; modulo 2^64, since the clocks differ
                             slightly */
        uint64_t wall_samples; /* wall samples with this sampled frame on top */
    };
};

/*
 * The recursion level is the number of frames of the same method above a frame on its path. With
 * recursion=N a node can stand for frames of several levels: for its own level, which its path
 * determines and its first bits store, and for deeper levels. Its recursion level is then the
 * highest level of these frames. A sampled node has no level of its path's; it has the number of
 * frames of deeper recursion that it stands for in one sample, the most of any.
 */
#define NODE_LEVEL_MAX       0x7fffffu
#define NODE_TIMED           0x800000u /* of a METHOD_LATENCY: its calls do not take the fast path */
#define NODE_PATH_LEVEL_MAX  0xfu
#define NODE_PATH_SHIFT      28u
#define LEDGER_RECURSION_MAX (NODE_PATH_LEVEL_MAX + 1)
#define NODE_SELF            1u /* of a sampled node: it stands for its exact parent */
#define NODE_FOLDED_SHIFT    1u /* of a sampled node: above that bit are the folded frames' levels */

/* The key of a NODE_FOLDED. */
#define LEDGER_FOLDED_KEY UINT64_MAX

/* Keys of logical frames that the process pushes itself: neither the number of a method with hooks
 * nor an address. The low bits are the host's. */
#define LEDGER_LOGICAL_KEYS     UINT64_C(0x4c4f474943000000)
#define LEDGER_LOGICAL_KEY_MASK UINT64_C(0xffffff)

static inline int ledger_key__is_logical(uint64_t key)
{
    return (key & ~LEDGER_LOGICAL_KEY_MASK) == LEDGER_LOGICAL_KEYS;
}

struct ledger_side {
    ledger_ref node;
    ledger_ref index; /* of the node's children; private to the tree's writer; see child_index.h */
    uint64_t value[LEDGER_METRIC_SLOTS];
};

#define NOTE_SLOTS 16u

/* A note of a tree's writer for itself: refs with flag bits. Readers ignore notes. */
struct ledger_note {
    uint32_t slots[NOTE_SLOTS];
};

#define NOTE_IS_NEXT    (1u << 31) /* the ref is that of another note */
#define NOTE_LACKS_SOME (1u << 30) /* some entries found no room */
#define NOTE_BITS       (NOTE_IS_NEXT | NOTE_LACKS_SOME)

_Static_assert(sizeof(struct ledger_node) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_note) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_side) % LEDGER_CELL_BYTES == 0, "whole cells");
_Static_assert(METRIC_COUNT <= LEDGER_METRIC_SLOTS, "a slot for each metric");

/* The recursion level that the node's path determines, in a ledger with recursion=N. */
static inline uint32_t ledger_node__path_level(const struct ledger_node *node)
{
    return node->kind_and_level >> NODE_PATH_SHIFT;
}

/* Base wall time. */
static inline uint64_t ledger_node__wall_ns(const struct ledger_node *node)
{
    uint64_t sum_ns = node->cpu_ns + node->wait_ns;

    return (int64_t)sum_ns < 0 ? 0 : sum_ns;
}

static inline uint32_t ledger_node__kind(const struct ledger_node *node)
{
    return node->kind_and_level >> 24 & 0xf;
}

static inline int ledger_node_kind__is_sampled(uint32_t kind)
{
    return kind >= NODE_SAMPLED && kind <= NODE_UNSEEN;
}

/* True for nodes that samples made: such a node has samples and neither calls nor times. */
static inline int ledger_node__is_sampled(const struct ledger_node *node)
{
    return ledger_node_kind__is_sampled(ledger_node__kind(node));
}

static inline int ledger_node__is_self(const struct ledger_node *node)
{
    return ledger_node__is_sampled(node) && node->kind_and_level & NODE_SELF;
}

/* Of a sampled node: how many frames of deeper recursion it stands for, at most. */
static inline uint32_t ledger_node__level(const struct ledger_node *node)
{
    uint32_t level = node->kind_and_level & NODE_LEVEL_MAX;

    return ledger_node__is_sampled(node) ? level >> NODE_FOLDED_SHIFT : level;
}

static inline void ledger_node__raise_level(struct ledger_node *node, uint64_t level)
{
    uint32_t shift = ledger_node__is_sampled(node) ? NODE_FOLDED_SHIFT : 0;
    uint32_t highest = (NODE_LEVEL_MAX >> shift) - 1;
    uint32_t most = level < highest ? (uint32_t)level : highest;
    uint32_t others = node->kind_and_level & ~(NODE_LEVEL_MAX >> shift << shift);

    if (most > ledger_node__level(node))
        __atomic_store_n(&node->kind_and_level, others | most << shift, __ATOMIC_RELAXED);
}

#endif
