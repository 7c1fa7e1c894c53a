/*
 * Stack samples. A timer on each kernel thread's CPU clock interrupts the thread after each
 * interval of CPU time, and the signal's handler walks the stack into a buffer. The housekeeping
 * thread merges the buffers into the call trees: every 100 ms, or every 50 ms where the interval is
 * shorter than 5 ms.
 *
 * The handler is async-signal-safe and takes no lock. All other functions here are not for
 * handlers.
 */
#ifndef TREADLE_SAMPLER_H
#define TREADLE_SAMPLER_H

#include "agent/hotspot/java_hosts.h"
#include "agent/hotspot/stack_walk.h"
#include "agent/sampling/compiled_code.h"
#include "agent/sampling/java_methods.h"
#include "agent/sampling/running_thread.h"
#include "agent/sampling/sample_merge.h"
#include "agent/sampling/sample_signal.h"
#include "native/host/job_handoff.h"
#include "native/host/own_cost.h"
#include "native/sampling/sample_buffers.h"
#include "native/sampling/sample_timer.h"

#include <jvmti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sampled_task;

struct sampler {
    /* what the sampler works with; set before the JVM runs Java */
    jvmtiEnv *jvmti;
    struct ledger *ledger;
    const struct ledger_time *time;
    const struct process_scan *scan;
    struct kernel_thread_table *kernel_threads;
    struct own_cost *own_cost;
    struct java_hosts *hosts;
    struct generated_names *generated;
    struct job_handoff *jobs; /* for the thread that merges samples */
    sample_handler on_signal; /* calls sample_signal__take with the sampler */
    uint64_t (*place)(const struct kernel_thread *mine); /* native_frames__place */
    bool keys_are_ids;                                   /* the keys of nodes are jmethodIDs */
    bool is_by_budget;                                   /* nobody has asked for samples */
    enum ledger_unwind wanted_unwind;                    /* UNKNOWN: the processor's */

    _Atomic bool running; /* samples are taken */
    pthread_mutex_t start_lock;
    uint64_t due_ns;     /* when samples are to begin; 0: no start is pending. Under its lock */
    bool ready;          /* the fields below are set up, for good */
    bool looked;         /* … the walker too */
    bool sees_java;      /* Java frames can be walked */
    bool describes_code; /* the JVM was asked to describe all compiled code */
    enum ledger_sample_mode mode;
    enum ledger_sample_clock wanted_clock; /* NONE: as the interval requires */
    enum ledger_sample_clock clock;
    uint64_t interval_ns;
    _Atomic uint32_t round; /* how often samples were started */
    int signal;
    uintptr_t jni_offset;       /* from a JavaThread to its JNIEnv */
    jfieldID java_thread_field; /* of java.lang.Thread */
    struct code_images *images;
    struct sample_buffers *buffers;
    struct stack_walker walker;
    struct java_methods methods;
    struct compiled_code code;
    struct sample_merge merge;
    pthread_mutex_t tasks_lock;
    struct sampled_task *tasks;             /* uthash, by tid; under its lock */
    unsigned pass;                          /* of the look for threads; under the same lock */
    struct running_threads running_threads; /* of wall samples; under the same lock */
    uint64_t next_watch_ns;                 /* for the housekeeping thread only, as is the next */
    int start_error;
    uint64_t drained_ns;
    uint64_t monotonic_ns;   /* CLOCK_MONOTONIC less the ledger's time, when drained last */
    uint64_t dropped_before; /* drops of the buffers that the header already counts */
    pid_t turn;              /* wall samples: the thread of the last turn */
};

/* Adds the capabilities that the sampler needs; before the events are enabled. */
void sampler__add_capabilities(jvmtiCapabilities *capabilities);

/* The JVM has made a stub of that name (DynamicCodeGenerated). */
void sampler__code_generated(struct sampler *sampler, const char *name, const void *address,
                             jint bytes);

/* Starts samples, as sampler->mode and interval_ns say; does nothing if the mode is NONE. 0 or
 * -errno, with the reason logged. */
int sampler__start(struct sampler *sampler);

/* Starts samples as soon as the JVM has probably started. A program that has ended by then is
 * spared the set-up of sampling, above all the tables of images, and other programs need not wait
 * for it. */
void sampler__start_later(struct sampler *sampler);

/* For the housekeeping thread, without a lock: starts samples when they are due. */
void sampler__start_if_due(struct sampler *sampler);

void sampler__stop(struct sampler *sampler);

/* Sets up what needs a running JVM; before threads begin. */
void sampler__prepare(struct sampler *sampler, JNIEnv *jni);

/* The JavaThread of a JNIEnv, or NULL: not known. Async-signal-safe. */
const void *sampler__java_thread(const struct sampler *sampler, const JNIEnv *jni);

/* The JavaThread of a platform thread, from any thread; or NULL. */
const void *sampler__java_thread_of(const struct sampler *sampler, JNIEnv *jni, jthread thread);

/* The calling thread is a kernel thread that the sampler may not know yet. */
void sampler__watch_me(struct sampler *sampler);

/* A virtual thread is about to be unmounted; called on its carrier. If its samples did not reach
 * its first frame, because most of its stack is not on the carrier's stack, its whole stack is
 * recorded with JVMTI. */
void sampler__record_stack(struct sampler *sampler, struct ledger_thread *thread);

/* For the housekeeping thread, under the snapshot lock: sets timers for new threads and merges
 * samples into the trees. */
void sampler__look_after(struct sampler *sampler);
void sampler__drain(struct sampler *sampler);

/* How long the housekeeping thread may sleep at most; 0: no limit. `idle`: when it woke last the
 * process had consumed next to nothing. */
uint64_t sampler__rest_ns(const struct sampler *sampler, bool idle);

/* In the child of a fork. Async-signal-safe. */
void sampler__disable_in_child(struct sampler *sampler);

#endif
