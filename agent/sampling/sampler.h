/*
 * Stack samples: a timer on each kernel thread's CPU clock interrupts it after so much CPU time,
 * and the signal's handler walks its stack into a buffer; the housekeeping thread merges what is
 * there into the call trees every tenth of a second, and every 50 ms where intervals are shorter
 * than 5 ms.
 *
 * The handler is async-signal-safe and takes no lock. Everything else here is not for handlers.
 */
#ifndef TREADLE_SAMPLER_H
#define TREADLE_SAMPLER_H

#include "agent/hotspot/stack_walk.h"
#include "agent/sampling/compiled_code.h"
#include "agent/sampling/java_methods.h"
#include "agent/sampling/running_thread.h"
#include "agent/sampling/sample_merge.h"
#include "native/sampling/sample_buffers.h"
#include "native/sampling/sample_timer.h"

#include <jvmti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct agent;
struct sampled_task;

struct sampler {
    _Atomic bool running; /* samples are taken */
    pthread_mutex_t start_lock;
    uint64_t due_ns;     /* samples are to begin then; 0: they need not. Under its lock */
    bool ready;          /* everything below is there, for good */
    bool looked;         /* … the walker too */
    bool sees_java;      /* Java frames can be walked */
    bool describes_code; /* the JVM was told to describe all compiled code */
    enum ledger_sample_mode mode;
    enum ledger_sample_clock wanted_clock; /* NONE: as the interval needs */
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
    struct running_threads running_threads; /* of wall samples; under the same lock */
    uint64_t next_watch_ns;                 /* the housekeeping thread's own, as the next */
    int start_error;
    uint64_t drained_ns;
    uint64_t monotonic_ns;   /* CLOCK_MONOTONIC less the ledger's time, when drained last */
    uint64_t dropped_before; /* by the buffers, and in the header already */
    pid_t turn;              /* wall samples: whose it was last */
};

/* The capabilities and callbacks that it needs; before the events are set. */
void sampler__add_capabilities(jvmtiCapabilities *capabilities);
void sampler__add_callbacks(jvmtiEventCallbacks *callbacks);

/* Samples from now on, as sampler->mode and interval_ns say; nothing if the mode is NONE. 0 or
 * -errno, with the reason logged. */
int sampler__start(struct agent *agent);

/* As soon as the JVM is likely to have started: a program that is over by then is spared what
 * samples need, above all the tables of images, and another need not wait for them. */
void sampler__start_later(struct agent *agent);

/* By the housekeeping thread, without a lock: begins, if it is time. */
void sampler__start_if_due(struct agent *agent);

void sampler__stop(struct agent *agent);

/* What is in need of a running JVM only; before threads begin. */
void sampler__prepare(struct agent *agent, JNIEnv *jni);

/* The JavaThread of a JNIEnv, or NULL: not known. Async-signal-safe. */
const void *sampler__java_thread(const struct agent *agent, const JNIEnv *jni);

/* That of a platform thread, from any thread; or NULL. */
const void *sampler__java_thread_of(const struct agent *agent, JNIEnv *jni, jthread thread);

/* A kernel thread of which nobody may know yet: the calling one. */
void sampler__watch_me(struct agent *agent);

/* A virtual thread is about to be unmounted, on its carrier: if samples of it did not come down to
 * where it began, since most of its stack is not on its carrier's, what JVMTI says of it helps. */
void sampler__record_stack(struct agent *agent, struct ledger_thread *thread);

/* By the housekeeping thread, under the snapshot lock: timers for threads that came, and what was
 * sampled into the trees. */
void sampler__look_after(struct agent *agent);
void sampler__drain(struct agent *agent);

/* How long the housekeeping thread may rest, at the most; 0: as long as it likes. */
uint64_t sampler__rest_ns(const struct agent *agent);

/* In the child of a fork. Async-signal-safe. */
void sampler__disable_in_child(struct agent *agent);

#endif
