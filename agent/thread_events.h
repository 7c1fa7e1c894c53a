/* Java threads: start, end, names, parents, and the ones that were there before events began. */
#ifndef TREADLE_THREAD_EVENTS_H
#define TREADLE_THREAD_EVENTS_H

#include "agent/agent.h"

#include <jvmti.h>

/* JVMTI callbacks, on the thread in question. */
void JNICALL thread_events__start(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread);
void JNICALL thread_events__end(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread);

/* Native methods of Thread are bound: those that start and rename get a wrapper of ours. */
void JNICALL thread_events__native_bound(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread,
                                         jmethodID method, void *address, void **new_address);

/* Looks up what needs a running JVM. On VMInit. */
void thread_events__prepare(struct agent *agent, JNIEnv *jni);

/*
 * The first event of a thread whose start was not seen: a record, and nodes without calls for the
 * frames that are on its stack, but for the `top_frames` youngest. NULL if it cannot be recorded.
 */
struct kernel_thread *thread_events__late_start(struct agent *agent, jthread thread,
                                                jint top_frames);

/* Records the names that running threads have now, where they are other than before. */
void thread_events__record_names(struct agent *agent, JNIEnv *jni);

#endif
