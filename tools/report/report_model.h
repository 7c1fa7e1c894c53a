/*
 * A ledger, read and laid out for reporting: threads, call trees, methods, and the sums over them.
 *
 * The model is a copy: the reader may be closed once it is loaded. Nodes stand in tree order, each
 * thread's tree in one piece, a node before its children, so a subtree is a range of the array and
 * everything here works by loops: trees are as deep as Java stacks get, and deeper when damaged.
 * Sampled frames stand behind the exact children of the node that they hang under, and have a share
 * of its CPU and wall time, see sample_shares.h.
 * Records that make no sense (parent links that disagree or go in circles, a node met twice, a ref
 * that is no method's) are left out and counted.
 */
#ifndef TREADLE_REPORT_MODEL_H
#define TREADLE_REPORT_MODEL_H

#include "native/ledger/ledger_format.h"
#include "native/ledger/ledger_reader.h"
#include "tools/report/report_blocks.h"
#include "tools/report/report_chains.h"
#include "tools/report/report_columns.h"
#include "tools/report/report_hazards.h"
#include "tools/report/report_hookings.h"
#include "tools/report/report_latencies.h"
#include "tools/report/report_method.h"
#include "tools/report/report_samples.h"
#include "tools/report/symbol_names.h"
#include "tools/report/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_NONE UINT32_MAX

/* The first methods of every model, for nodes that have none. */
enum report_method_index {
    METHOD_OF_THREAD,  /* roots: "(thread)" */
    METHOD_OF_GAP,     /* "(between Java threads)" */
    METHOD_OF_FOLDED,  /* "(folded)": contexts that have no nodes of their own */
    METHOD_OF_UNSEEN,  /* "(not sampled)": what no sample saw of an exact node */
    METHOD_OF_KERNEL,  /* "[kernel]": its side of a sampled stack, of which no function is known */
    METHOD_UNKNOWN,    /* the ledger lost the name */
    METHOD_FIRST_REAL, /* the others, in the ledger's order; equal ones are one */
};

struct report_node {
    uint32_t parent; /* index, REPORT_NONE for roots */
    uint32_t end;    /* index behind the subtree's last node */
    uint32_t method;
    uint32_t thread;
    uint32_t depth;     /* 0: root */
    uint32_t level;     /* how often the same method stands above it */
    uint32_t level_max; /* with recursion=N: the highest level that it stands for */
    enum ledger_node_kind kind;
    uint32_t contexts; /* of a folded node: that were folded into it, as far as is known */
};

/* A node's samples. A sampled node: samples with it on top, and the number of samples through it
 * that found it interpreted. A row of what no sample saw: none. Any other node: samples with the
 * node itself on top. */
struct report_samples {
    uint64_t cpu;
    uint64_t wall;
    uint64_t interpreted;
    uint64_t seen_ns; /* CPU time that the `cpu` samples stand for, or 0; in a row of what no sample
                         saw: how far the row's time may be off (95 %) */
};

/* A record of a method in the ledger, and its method in the model: several records may be of one.
 */
struct report_method_record {
    ledger_ref ref;
    uint32_t method;
};

struct report_thread {
    struct text name;
    struct text group_name; /* the name that it is folded under, if that is not its own name */
    struct text *renames;   /* oldest first */
    size_t rename_count;
    uint32_t parent; /* index of the thread that started it, or REPORT_NONE; never in a circle */
    enum ledger_thread_kind kind;
    uint32_t flags; /* enum ledger_thread_flag */
    uint64_t java_id;
    uint64_t start_ns; /* of the ledger's clock, as is end_ns */
    uint64_t end_ns;   /* 0 while it runs */
    uint64_t wall_ns;
    uint64_t cpu_ns; /* sum of its tree, as are calls and samples */
    uint64_t calls;
    uint64_t samples;     /* … of either kind */
    uint64_t cpu_samples; /* where there are both kinds; else 0, as are wall_samples */
    uint64_t wall_samples;
    uint64_t lost_enters;
    uint64_t folded_bound_ns; /* the most CPU time that a folded context can have had */
    uint64_t foldings;        /* how often a context was folded */
    uint64_t unplaced_calls;  /* in contexts that never had a node */
    uint64_t left_cpu_ns;     /* its charge when its kernel thread left it; 0: not known */
    uint64_t moded_cpu_ns;    /* CPU time up to its samples, as the kernel divides it by ticks */
    uint64_t moded_system_ns; /* the part of moded_cpu_ns in the kernel */
    uint64_t members;         /* of a group of ended threads: their number; else 1 */
    uint64_t mounts;          /* of a virtual thread, as are the next two */
    uint64_t pinned;          /* times that it blocked its carrier */
    uint64_t parked_ns;
    unsigned wait_reason; /* when the ledger was read: the metric of the reason why it waits; 0: it
                             does not, or the reason is not known */
    ledger_ref block;     /* of the wait for a lock that it is in; or none */
    uint32_t tid_count;   /* kernel threads that ran it; the first of them in tids */
    int32_t tids[LEDGER_THREAD_TIDS];
    uint64_t totals[METRIC_COUNT]; /* 0 for metrics that the ledger does not have */
    uint32_t first_node;           /* its tree: nodes first_node … end_node - 1 */
    uint32_t end_node;
    bool is_partial; /* some of its calls are of methods that were heard for part of the time */
    bool is_idle;    /* it has no part in the interval that the report is of: never selected */
};

/* A kernel thread that ran Java and existed when the snapshot was taken. */
struct report_kernel_thread {
    int32_t tid;
    uint32_t thread; /* the Java thread that ran on it then, or last; or REPORT_NONE */
    uint64_t kernel_cpu_ns;
    uint64_t charged_cpu_ns; /* to any Java thread on it */
};

/* CPU samples of a thread with a method on their walked stacks, see struct ledger_tally; of the
 * method METHOD_OF_THREAD, all of them. */
struct report_tally {
    uint32_t thread;
    uint32_t method;
    uint64_t samples;
    uint64_t seen_ns;
    uint64_t doubtful_ns;
    uint64_t most_ns;
    uint64_t call_ps;  /* in the row of METHOD_OF_THREAD, as is the next; 0: as in the header */
    bool lacks_frames; /* its methods' exact nodes may have too little */
};

struct report_model {
    struct ledger_header header;
    enum ledger_life life;
    struct text machine;
    struct text jvm;
    struct text command;
    struct text options;

    uint64_t since_ns; /* of an interval (report_since.h): when it began, on the ledger's clock */
    uint64_t profiled_since_ns; /* the same, or when profiling had been stopped before */
    uint64_t columns;           /* COLUMN_BITs of the node columns that are loaded */
    struct report_thread *threads;
    uint32_t thread_count;
    struct report_kernel_thread *kernel_threads;
    uint32_t kernel_thread_count;
    struct report_method *methods;
    uint32_t method_count;
    struct report_method_record *method_records; /* in the ledger's order */
    uint32_t method_record_count;
    struct report_hooking *hookings; /* by method; NULL: every method was always heard */
    struct report_node *nodes;
    uint32_t node_count;
    struct report_samples *samples; /* by node; NULL if the ledger has none */
    uint64_t *base[COLUMN_COUNT];   /* by node; NULL if not loaded */
    uint64_t *cum[COLUMN_COUNT];

    struct report_tally *tallies; /* by thread, then by method; one of each */
    struct report_block *blocks;  /* in the ledger's order */
    struct report_block *holds;   /* as well; see report_blocks.h */
    struct report_stuck *stuck;   /* by deadlock, then by position */
    struct report_order *orders;
    uint32_t stuck_count;
    uint32_t order_count;
    uint32_t tally_count;
    uint32_t block_count;
    uint32_t hold_count;
    struct report_latency *latencies; /* one a method, in the ledger's order */
    struct report_part *parts;        /* of chains, in the ledger's order */
    uint32_t latency_count;
    uint32_t part_count;

    uint64_t present_bytes;        /* of the ledger's file; and … */
    uint64_t missing_bytes;        /* of what should be there: 0, or its end is cut off */
    uint64_t before_present_bytes; /* of an interval: the same of the earlier ledger */
    uint64_t before_missing_bytes;
    uint64_t skipped; /* records that were left out */
    char skipped_where[160];

    struct text_store texts;
};

/* Loads the node columns in `columns` that the ledger has; CPU, calls and samples always. */
struct report_model *report_model__load(const struct ledger_reader *reader, uint64_t columns);

/* The same with names for native functions; `symbols` is not kept. */
struct report_model *report_model__load_named(const struct ledger_reader *reader, uint64_t columns,
                                              const struct symbol_names *symbols);
void report_model__free(struct report_model *model);

/* Nanoseconds of the ledger's clock as nanoseconds since the epoch. */
uint64_t report_model__epoch_ns(const struct report_model *model, uint64_t ledger_ns);

/* When the ledger was charged last, on its own clock: when the snapshot was taken, or the latest
 * moment that any of its records names. */
uint64_t report_model__asof_ns(const struct report_model *model);

/* The same, or, if profiling was stopped, that moment: the ledger has nothing from later. */
uint64_t report_model__profiled_to_ns(const struct report_model *model);

bool report_model__has_virtual_threads(const struct report_model *model);

/* wall - CPU - run-queue delay (where it is known), never below 0. A virtual thread's parked time
 * is in it, for wall time runs on while it is not mounted. */
uint64_t report_thread__waiting_ns(const struct report_model *model,
                                   const struct report_thread *thread);

/* The name of the pool that the thread belongs to: its name with the digits folded, or, without a
 * name, the place where it was started. */
struct text report_thread__folded_name(struct text_store *store,
                                       const struct report_thread *thread);

/* A thread's value in any column of report_columns__of_threads. */
uint64_t report_thread__value(const struct report_thread *thread, enum report_column column);

/* Sets its samples to those of its tree. */
void report_thread__count_samples(const struct report_model *model, struct report_thread *thread);

/* False of a metric that is only counted on threads that run Java: migrations. */
bool report_thread__knows(const struct report_thread *thread, enum report_column column);

/* "platform", "virtual", "carrier", "vm", "native". */
const char *report_thread_kind__name(enum ledger_thread_kind kind);

/* "exact", "sampled", "native" (the kernel's side, too), "gap", "folded", "not_sampled",
 * "logical". */
const char *report_node_kind__name(enum ledger_node_kind kind);

/* "J" a Java method; "I" one that more than half of its samples found interpreted; "N" native; "K"
 * the kernel's side; "" of threads and gaps. */
const char *report_node__mark(const struct report_model *model, uint32_t index);

/* Which threads a report is about: true by thread index. NULL glob: all. Release with free. */
bool *report_model__select(const struct report_model *model, const char *glob);

#endif
