/*
 * The agent in one JVM: all of its state. The one instance is `treadle_agent`.
 */
#ifndef TREADLE_AGENT_H
#define TREADLE_AGENT_H

#include "agent/activity_hooks.h"
#include "agent/budget/hook_budget.h"
#include "agent/budget/hook_renewal.h"
#include "agent/budget/wait_budget.h"
#include "agent/hooks/class_hooks.h"
#include "agent/hooks/method_names.h"
#include "agent/methods/generated_names.h"
#include "agent/methods/hook_quota.h"
#include "agent/methods/plan.h"
#include "agent/native_lock_wrappers.h"
#include "agent/native_wait_wrappers.h"
#include "agent/options.h"
#include "agent/sampling/sampler.h"
#include "agent/threads/deadlock_watch.h"
#include "agent/threads/java_threads.h"
#include "agent/threads/native_locks.h"
#include "native/activity/pushed_frames.h"
#include "native/host/job_handoff.h"
#include "native/host/own_cost.h"
#include "native/ledger/ledger.h"
#include "native/snapshot/process_scan.h"
#include "native/thread/kernel_thread_table.h"
#include "native/timeline/timeline.h"

#include <jvmti.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Of the housekeeping thread, on the ledger's clock. */
struct agent_work {
    uint64_t at_ns;
    uint64_t cpu_ns;  /* what the process had consumed by then */
    uint64_t took_ns; /* of the thread's CPU */
};

struct agent {
    JavaVM *vm;
    jvmtiEnv *jvmti;
    struct agent_options options;
    struct ledger ledger;
    struct kernel_thread_setup setup;
    struct unprofiled_table unprofiled;
    struct kernel_thread_table kernel_threads;
    struct java_threads java_threads;
    struct generated_names generated;
    struct class_hooks class_hooks;
    struct method_names method_names;
    struct hook_class hook_class;
    struct pushed_frames pushed_frames;
    uint64_t unblocked_signals;     /* of the first thread seen; 0: not known */
    _Atomic uint32_t native_stacks; /* kernel threads that have pushed native frames */
    struct chain_parts chain_parts;
    struct activity_classes activity_classes;
    struct hook_quotas quotas;
    struct hook_budget budget;
    struct wait_budget wait_budget;
    struct deadlock_watch deadlocks;
    struct native_locks native_locks;
    struct import_replacement native_wrappers[NATIVE_LOCK_WRAPPERS + NATIVE_WAIT_WRAPPERS];
    struct hook_renewal renewal;
    struct plan *plan;        /* or NULL */
    ledger_ref given_options; /* the ledger's string of those with which the agent was loaded */
    struct java_hosts java_hosts;
    struct sampler sampler;
    struct own_cost own_cost;
    struct timeline timeline;
    uint64_t pause_began_ns;     /* of the collector, while a timeline runs; or 0 */
    struct thread_folder folder; /* for the housekeeping thread only, as is the next */
    struct call_tree folder_tree;

    /* Held while rows of VM threads or a snapshot are written; never taken by a thread in a method
     * event. Order: snapshot_lock, then the locks of the two tables. */
    pthread_mutex_t snapshot_lock;
    struct process_scan scan;
    char snapshot_pattern[PATH_MAX]; /* absolute */
    _Atomic bool over;               /* the last snapshot is written */

    struct job_handoff jobs; /* of other threads, for the housekeeping thread */
    uint64_t all_metrics_ns; /* for the housekeeping thread only, as are the next five */
    uint64_t next_scan_ns;
    struct agent_work last_scan;
    struct agent_work last_look;
    bool is_idle; /* when the thread woke last there was nothing to look at */
    bool warned;  /* losses have been reported on stderr */

    /* Held while an attach request is answered: two requests may come at once, and the second one
     * must find what the first one has made. */
    pthread_mutex_t attach_lock;
    bool loaded;             /* the options were read; under attach_lock */
    bool prepared_for_forks; /* what the child of a fork does is registered; under attach_lock */
    _Atomic bool active;     /* from the first Java code of the JVM to the last snapshot */
    _Atomic bool profiling;  /* started, and not stopped */
    uint32_t epochs;         /* number of starts */
};

extern struct agent treadle_agent;

/* The JNI environment of the calling thread, or NULL if the thread is not attached. */
JNIEnv *agent__jni(const struct agent *agent);

#endif
