/*
 * The one profiler of a process that has libtreadle-native.so, and how it begins and ends. Only the
 * files of this folder that say so in their head know it; modules get what they work with.
 */
#ifndef TREADLE_PRELOAD_H
#define TREADLE_PRELOAD_H

#include "native/activity/pushed_frames.h"
#include "native/host/job_handoff.h"
#include "native/ledger/chain_parts.h"
#include "native/preload/call_frames.h"
#include "native/preload/function_budget.h"
#include "native/preload/preload_options.h"
#include "native/preload/program_samples.h"

#include <limits.h>
#include <stdatomic.h>

enum preload_stage {
    PRELOAD_NOT_BEGUN,
    PRELOAD_BEGINNING,
    PRELOAD_ACTIVE,
    PRELOAD_OVER,   /* the last snapshot is being written, or is */
    PRELOAD_FORKED, /* a forked child, which begins when a hook of its thread has ended */
    PRELOAD_ASIDE,  /* nothing is profiled: a JVM, or something was missing */
};

struct last_snapshot {
    char path[PATH_MAX]; /* "": not tried, or it has none */
    int error;
};

/* The agent, in a JVM. */
struct preload_agent {
    const struct treadle_inside *inside; /* NULL: there is none */
    const struct treadle_inside_ids *ids;
};

struct preload {
    _Atomic int stage; /* enum preload_stage */
    pid_t pid;
    struct preload_options options;
    char *options_text; /* as given; or NULL */
    uint32_t forks;     /* of this process and its parents, since the library was loaded */
    char snapshot_pattern[PATH_MAX];
    struct ledger ledger;
    struct kernel_thread_setup setup;
    struct kernel_thread_table kernel_threads;
    struct process_scan scan;
    struct own_cost own_cost;
    struct code_images *images;
    struct function_table functions;
    struct call_frames frames;
    struct pushed_frames pushed;
    struct chain_parts chain_parts;
    struct function_names names;
    struct function_budget budget;
    struct preload_threads threads;
    struct program_samples *samples; /* NULL: none were asked for */
    struct program_signal signal;    /* that asks for samples; the program's once it is known */
    struct job_handoff jobs;         /* of the profiler's own thread */
    struct thread_folder folder;     /* the next ones are that thread's alone */
    struct call_tree folder_tree;
    uint64_t next_scan_ns;
    uint64_t all_metrics_ns;
    uint64_t samples_due_ns; /* 0: they have begun, or there are none */
    bool is_measured;        /* what hooks cost is known */
    bool has_warned;
    bool is_tidy;
    bool has_fork_handler;
    bool has_stood_aside;       /* for the profiler's own thread */
    struct preload_agent agent; /* stored once; atomic */
    struct last_snapshot last;
};

extern struct preload preload_process;

static inline bool preload__is_active(const struct preload *preload)
{
    return atomic_load_explicit(&preload->stage, memory_order_relaxed) == PRELOAD_ACTIVE &&
           preload__is_here();
}

/* Begins, once, whoever calls first: the library's constructor, or a hook or wrapper that was
 * called before it. Returns at once where another thread is beginning. */
void preload__begin(struct preload *preload);

/* The same in the child of a fork, on its only thread; start: what is known of the thread, or NULL.
 * See forks.h. */
void preload__begin_child(struct preload *preload, const struct preload_start *start);

/* The process is about to end: writes the snapshot and removes the live ledger. Waits a bounded
 * time. Any thread, once. */
void preload__end(struct preload *preload);

/* The agent has come into the process: from here on it alone profiles, and this library's ledger
 * goes. leave_to_agent: it also hears of the logical frames. Any thread, not in a hook. */
void preload__stand_aside(struct preload *preload);
void preload__leave_to_agent(struct preload *preload, const struct treadle_inside *inside,
                             const struct treadle_inside_ids *ids);

/* The program is about to be replaced, and was not, in spite of that. */
void preload__before_exec(struct preload *preload);
void preload__after_failed_exec(struct preload *preload);

/* One line on stderr, prefixed `treadle: `. */
void preload__say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
