/*
 * The account of what the profiler itself costs the process: gathers what native/cost/cost_model.h
 * needs, and keeps header->own_cost up to date, for reports, `treadle status` and the agent's own
 * budget.
 *
 * own_cost__look is for the housekeeping thread, or for a thread that does its work. Each other
 * function says which threads may call it.
 */
#ifndef TREADLE_OWN_COST_H
#define TREADLE_OWN_COST_H

#include "native/cost/cost_model.h"
#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"
#include "native/snapshot/process_scan.h"
#include "native/thread/kernel_thread_table.h"

#include <stdbool.h>
#include <stdint.h>

#define OWN_COST_LANES 16u

/* In a cache line of its own: signals of different threads seldom meet. */
struct signal_lane {
    uint64_t signals;
    uint64_t timed; /* of these, signals whose thread stayed on its processor */
    uint64_t timed_ns;
    uint64_t unused[5];
};

/* Readings at one moment. */
struct cost_reading {
    uint64_t wall_ns;
    uint64_t cpu_ns;
    uint64_t own_ns;
};

/* What causes costs that are counted elsewhere, at the moment of a look. */
struct own_cost_causes {
    bool samples;           /* samples are taken */
    bool perf_events;       /* samples are taken by perf events */
    uint64_t recompiled_ns; /* the compilers' additional CPU time after changes of classes */
    uint64_t counting_methods;
    uint64_t hazards_ns; /* looks at who owns which lock */
};

struct own_cost {
    struct ledger *ledger;
    const struct ledger_time *time;
    const struct process_scan *scan;
    bool has_interpreter; /* a function's first calls cost more */
    struct kernel_thread_table *kernel_threads;
    struct signal_lane lanes[OWN_COST_LANES];
    uint64_t delivery_ns; /* of one signal, by the kernel; 0: not measured */
    uint64_t classes_ns;  /* atomic */
    uint32_t looks;       /* at classes; atomic */
    /* what follows is own_cost__look's alone */
    struct cost_facts facts;
    struct method_calls methods;
    struct cost_reading recent; /* when the last few seconds began */
    uint64_t next_look_ns;
    uint64_t next_survey_ns;
    uint64_t thread_ns; /* the clocks and counts at the last look, as are the next two */
    uint64_t service_ns;
    uint64_t switches;
    uint64_t counter_ticks; /* between two readings of the counter, one after the other */
    struct hook_account slow, waits, holds;
    uint64_t slow_hooks;
    uint64_t slow_hook_ns; /* mean of what the last slow hooks took more than others */
    uint64_t wait_end_ns;  /* mean of what the last begins and ends of waits took; 0: not known */
    uint64_t hold_end_ns;  /* the same of holds of locks */
    uint64_t hold_ends;
};

/* The arguments must outlive the account: all are read, and the ledger's header is written. */
void own_cost__init(struct own_cost *cost, struct ledger *ledger, const struct ledger_time *time,
                    const struct process_scan *scan, struct kernel_thread_table *kernel_threads,
                    bool has_interpreter);

/* Brings header->own_cost up to date: at most every tenth of a second. The calls of all hooks are
 * surveyed so seldom that the survey takes a thousandth of the time. `all`: both now. Under the
 * snapshot lock. */
void own_cost__look(struct own_cost *cost, const struct own_cost_causes *causes, bool all);

/* Counts a signal whose handler took `ns`. Async-signal-safe; `lane`: any number that differs by
 * thread. */
void own_cost__count_signal(struct own_cost *cost, unsigned lane, uint64_t ns);

/* Measures how long the kernel takes to send a signal to the calling thread and to return from an
 * empty handler, which must be installed for that signal: the least of a few tries. */
void own_cost__measure_delivery(struct own_cost *cost, int signal);

/* To be called before and after work on classes, on the thread that does it. stops_jvm: the work
 * stops the JVM, so the VM Thread's CPU time counts, too; other work is timed each time at first
 * and later now and then. A pair within another pair counts once. Any thread. */
uint64_t own_cost__begin_classes(struct own_cost *cost, bool stops_jvm);
void own_cost__end_classes(struct own_cost *cost, uint64_t began);

#endif
