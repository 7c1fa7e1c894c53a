/*
 * What the modules of this folder share: what they work with, set at the top of the agent before
 * the JVM runs Java, and what they know of Java threads. Each field is written by the module named.
 */
#ifndef TREADLE_JAVA_THREADS_H
#define TREADLE_JAVA_THREADS_H

#include "agent/hotspot/java_tid.h"
#include "agent/methods/hook_quota.h"
#include "agent/methods/method_numbers.h"
#include "agent/sampling/sampler.h"
#include "agent/threads/java_thread_table.h"
#include "native/ledger/ledger.h"
#include "native/thread/kernel_thread_table.h"

#include <jvmti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define STANDING_METHODS 1024u

/* Methods found on stacks, and the keys of their nodes in one epoch. */
struct standing_methods {
    pthread_mutex_t placing; /* held while a virtual thread is placed, or ends before an epoch */
    pthread_mutex_t lock;
    struct standing_method {
        jmethodID method;
        uint32_t epoch;
        uint64_t key; /* 0: the method has no nodes */
    } known[STANDING_METHODS];
};

/* An event of HotSpot that JVMTI itself does not have. */
struct extension_event {
    jvmtiExtensionEvent callback;
    jint index; /* in this JVM; 0: the JVM does not have the event */
};

typedef void(JNICALL park_function)(JNIEnv *jni, jobject unsafe, jboolean is_absolute, jlong time);
typedef void(JNICALL sleep_function)(JNIEnv *jni, jclass thread_class, jlong time);

#define IO_SLOTS_MAX 96u /* natives that wait for I/O, see agent/threads/io_natives.h */

struct java_threads {
    JavaVM *vm;
    jvmtiEnv *jvmti;
    struct ledger *ledger;
    const struct kernel_thread_setup *setup;
    struct kernel_thread_table *kernel_threads;
    struct sampler *sampler;
    struct method_numbers *methods;
    struct hook_quotas *quotas;
    enum ledger_event_mode events;
    const _Atomic bool *active; /* events of threads are recorded */
    const uint32_t *epochs;     /* how often profiling was started */
    /* wrappers of native methods of Thread, which call thread_events__start_native and
     * thread_events__set_native_name */
    void(JNICALL *start_wrapper)(JNIEnv *jni, jobject thread);
    void(JNICALL *set_name_wrapper)(JNIEnv *jni, jobject thread, jstring name);
    bool hears_waits;         /* waits=on */
    bool may_hook_monitors;   /* classes with contended monitors get hooks of holds */
    bool asks_for_monitors;   /* the JVM says which monitors a thread has entered, or waits for */
    _Atomic bool waits_heard; /* the budget has room for all there is to know of waits */
    _Atomic bool waits_timed; /* … for their reasons and times */
    /* Where it has no room for all: how many waits for locks are heard nevertheless, and in how
     * many parks it may be looked whether they are for a lock, until the budget gives more. */
    _Atomic uint32_t lock_waits_left;
    _Atomic uint32_t lock_looks_left;
    _Atomic uint32_t holds_round; /* odd: it has room for holds of locks; counted up whenever hooks
                                     of holds may have been missed */
    /* wrappers of natives that wait, which call thread_waits__park and thread_waits__sleep */
    park_function *park_wrapper;
    sleep_function *sleep_wrapper;
    const struct io_native_table *io_natives;
    void (*before_end)(void *context); /* the JVM is about to end some of its own threads */
    void *context;

    /* agent/threads/thread_events.c */
    jfieldID id_field;           /* Thread.tid, or NULL */
    jfieldID name_field;         /* Thread.name, or NULL */
    jclass virtual_thread_class; /* a global reference, or NULL */
    struct java_tid java_tid;
    struct java_thread_table table;
    pthread_mutex_t names_lock; /* held while the name of a running thread is recorded */
    void(JNICALL *start_native)(JNIEnv *jni, jobject thread);
    void(JNICALL *set_name_native)(JNIEnv *jni, jobject thread, jstring name);

    /* agent/threads/virtual_threads.c */
    struct extension_event mount; /* the callbacks are set with the fields above */
    struct extension_event unmount;
    jvmtiExtensionFunction get_virtual_thread; /* or NULL: this JVM has none */

    /* agent/threads/thread_waits.c */
    jmethodID park_method; /* Unsafe.park, or NULL */
    _Atomic(park_function *) park_native;
    _Atomic(jfieldID)
        park_permit; /* of VirtualThread; NULL: not looked for yet, or there is none */
    _Atomic bool park_permit_wanted; /* it has been looked for */
    sleep_function *sleep_native;

    /* agent/threads/io_natives.c */
    _Atomic(void *) io_addresses[IO_SLOTS_MAX];

    /* agent/threads/lock_waits.c */
    struct lock_waits *locks; /* NULL: not waits=on */

    /* agent/threads/standing_frames.c */
    struct standing_methods standing;
};

typedef void (*visit_java_thread)(struct java_threads *threads, JNIEnv *jni, jthread thread,
                                  void *context);

/* Visits all platform threads that live. */
void java_threads__each(struct java_threads *threads, JNIEnv *jni, visit_java_thread visit,
                        void *context);

#endif
