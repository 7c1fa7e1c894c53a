/* Java threads: start, end, names, parents, and the ones that were there before events began. */
#ifndef TREADLE_THREAD_EVENTS_H
#define TREADLE_THREAD_EVENTS_H

#include "agent/threads/java_thread_table.h"
#include "native/ledger/ledger_format.h"

#include <jvmti.h>

struct agent;
struct kernel_thread;

/* JVMTI callbacks, on the thread in question. */
void JNICALL thread_events__start(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread);
void JNICALL thread_events__end(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread);

/* Native methods of Thread are bound: those that start and rename get a wrapper of ours. */
void JNICALL thread_events__native_bound(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread,
                                         jmethodID method, void *address, void **new_address);

/* Looks up what needs a running JVM. On VMInit. */
void thread_events__prepare(struct agent *agent, JNIEnv *jni);

/* The name that the thread has by now, if it is another one than before. Takes a lock: not for
 * hooks. */
void thread_events__record_name(struct agent *agent, ledger_ref ref, const char *name);

/* The first event of a thread whose start was not seen: a record. If its kernel thread is known but
 * not who runs there, only that is found out. NULL if it cannot be recorded. */
struct kernel_thread *thread_events__late_start(struct agent *agent, JNIEnv *jni, jthread thread);

/* Where the calling thread stands, for a thread that it starts. */
struct java_thread_origin thread_events__here(struct agent *agent, JNIEnv *jni);

/* A hook's: finds out who runs on the calling kernel thread, and records it if it is not yet. NULL
 * if it cannot be recorded; events of a virtual thread do not count. */
struct kernel_thread *thread_events__identify(struct agent *agent, JNIEnv *jni);

/* The handler of samples is to know the Java threads that run already; see java_host.h. */
void thread_events__note_hosts(struct agent *agent, JNIEnv *jni);

/* The same, and opens their books. After each start of profiling. */
void thread_events__adopt_all(struct agent *agent, JNIEnv *jni);

/* The natives of Thread with their wrappers, where they were bound before anybody could hear it:
 * to be registered anew. methods: room for two. How many. */
jint thread_events__rebind(JNIEnv *jni, jclass *thread_class, JNINativeMethod *methods);

/* Records the names that running threads have now, where they are other than before. */
void thread_events__record_names(struct agent *agent, JNIEnv *jni);

#endif
