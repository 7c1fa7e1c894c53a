/*
 * Virtual threads (JDK 21 and later): JVMTI's and HotSpot's events about them, see
 * native/thread/virtual_thread.h. A virtual thread's JVMTI thread-local storage holds its record. A
 * virtual thread without room for a record pauses its carrier while it is mounted; such mounts are
 * counted and reported.
 */
#ifndef TREADLE_VIRTUAL_THREADS_H
#define TREADLE_VIRTUAL_THREADS_H

#include "agent/classfile/class_rewriter.h"
#include "agent/threads/java_threads.h"
#include "native/ledger/ledger_format.h"

#include <jvmti.h>
#include <stdbool.h>
#include <sys/types.h>

struct kernel_thread;

/* What jvmti.h of JDK 21 and later has; the one that this is built with may be older. */
#define EVENT_VIRTUAL_THREAD_END 88

/* Callbacks by name, and by the number of their event less the number of the first event. Includes
 * events that are newer than the jvmti.h of this build. */
union event_callbacks {
    jvmtiEventCallbacks named;
    void *number[64];
};

/* A virtual thread ends, was mounted on its carrier, or is about to be unmounted: called on the
 * carrier. */
void virtual_threads__end(struct java_threads *threads, JNIEnv *jni, jthread thread);
void virtual_threads__mount(struct java_threads *threads, JNIEnv *jni, jthread thread);
void virtual_threads__unmount(struct java_threads *threads, JNIEnv *jni, jthread thread);

/* The current thread is a virtual thread, perhaps mounted before the agent listened: makes it
 * current. False if it cannot be recorded. */
bool virtual_threads__identify(struct java_threads *threads, JNIEnv *jni, jthread thread);

/* Returns a local reference to the virtual thread mounted on a carrier; or NULL. */
jthread virtual_threads__mounted_on(const struct java_threads *threads, JNIEnv *jni,
                                    jthread carrier);

/* Returns the record of a virtual thread (NULL: the current one); 0: it has none. */
ledger_ref virtual_threads__record(const struct java_threads *threads, jthread thread);

/* Before the coming epoch begins, from any thread: places a virtual thread that is mounted there.
 */
void virtual_threads__place(struct java_threads *threads, JNIEnv *jni, jthread thread, pid_t tid,
                            uint32_t epoch, const uint64_t *keys, uint32_t count);

/* Adds the capability if this JVM has virtual threads. */
void virtual_threads__add_capabilities(jvmtiEnv *jvmti, jvmtiCapabilities *capabilities);

/* What native methods of the hook class do: the caller is about to start the virtual thread; the
 * current virtual thread is about to block its carrier. */
void virtual_threads__starting(struct java_threads *threads, JNIEnv *jni, jobject thread);
void virtual_threads__pinned(struct java_threads *threads, JNIEnv *jni);

/* The native methods of the hook class that a JDK method is to call first and last; NULL: none. */
struct virtual_thread_hooks {
    const char *first;
    const char *last;
};

/* waits: its waits have reasons. */
struct virtual_thread_hooks virtual_threads__hooks(const struct class_method *method, bool waits);

/* True if this is the JDK method in which a pinned virtual thread blocks its carrier. The method
 * has a node whatever the filter says: its calls and wall time, below the path that pinned. */
bool virtual_threads__is_pinning(const char *class_name, const char *method_name);

#define VIRTUAL_THREAD_CLASS    "java/lang/VirtualThread"
#define SOCKET_POLLER_CLASS     "sun/nio/ch/Poller"
#define VIRTUAL_THREAD_BUILDERS "java/lang/ThreadBuilders"

/* Finds the mount and unmount events, which are extension events of HotSpot, by name. */
void virtual_threads__find_events(struct java_threads *threads);

/* Enables or disables the mount and unmount events. */
void virtual_threads__hear(struct java_threads *threads, bool on);

#endif
