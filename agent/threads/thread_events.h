/* Java threads: start, end, names, parents, and threads that existed before events began. */
#ifndef TREADLE_THREAD_EVENTS_H
#define TREADLE_THREAD_EVENTS_H

#include "agent/threads/java_threads.h"
#include "native/ledger/ledger_format.h"

#include <jvmti.h>

struct kernel_thread;

void thread_events__init(struct java_threads *threads);

/* A thread starts or ends: on the thread in question. */
void thread_events__start(struct java_threads *threads, JNIEnv *jni, jthread thread);
void thread_events__end(struct java_threads *threads, JNIEnv *jni, jthread thread);

/* JVMTI binds native methods: those of Thread that start and rename threads get a wrapper of ours,
 * and so does that which parks. */
void thread_events__native_bound(struct java_threads *threads, jmethodID method, void *address,
                                 void **new_address);

/* What these wrappers do: Thread.start0, whose caller is the new thread's parent; and
 * Thread.setNativeName, which setName calls for a thread that runs. */
void thread_events__start_native(struct java_threads *threads, JNIEnv *jni, jobject thread);
void thread_events__set_native_name(struct java_threads *threads, JNIEnv *jni, jobject thread,
                                    jstring name);

/* Looks up classes and fields that need a running JVM. On VMInit. */
void thread_events__prepare(struct java_threads *threads, JNIEnv *jni);

/* Records the thread's present name if it has changed. Takes a lock: not for hooks. */
void thread_events__record_name(struct java_threads *threads, ledger_ref ref, const char *name);

/* Makes a record at the first event of a thread whose start was not seen. If the kernel thread is
 * known and only its Java thread is not, only the Java thread is identified. NULL if the thread
 * cannot be recorded. */
struct kernel_thread *thread_events__late_start(struct java_threads *threads, JNIEnv *jni,
                                                jthread thread);

/* The calling thread's position, as the origin of a thread that it starts. */
struct java_thread_origin thread_events__here(struct java_threads *threads, JNIEnv *jni);

/* For hooks: identifies the Java thread on the calling kernel thread, and records it if it has no
 * record. NULL if it cannot be recorded; events of a virtual thread then do not count. */
struct kernel_thread *thread_events__identify(struct java_threads *threads, JNIEnv *jni);

/* Tells the handler of samples which Java threads run already; see java_hosts.h. */
void thread_events__note_hosts(struct java_threads *threads, JNIEnv *jni);

/* The same, and opens accounts for these threads. After each start of profiling. */
void thread_events__adopt_all(struct java_threads *threads, JNIEnv *jni);

/* Returns the native methods of Thread that were bound before the agent listened, with their
 * wrappers, to be registered again. methods: room for two. Returns how many. */
jint thread_events__rebind(struct java_threads *threads, JNIEnv *jni, jclass *thread_class,
                           JNINativeMethod *methods);

/* Records the present names of running threads that have been renamed. */
void thread_events__record_names(struct java_threads *threads, JNIEnv *jni);

#endif
