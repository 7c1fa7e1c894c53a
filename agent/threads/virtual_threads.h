/*
 * Virtual threads (JDK 21 and later): JVMTI's and HotSpot's events about them, see
 * native/thread/virtual_thread.h. A virtual thread's JVMTI thread-local storage holds its record. A
 * virtual thread without room for a record pauses its carrier while it is mounted; such mounts are
 * counted and reported.
 */
#ifndef TREADLE_VIRTUAL_THREADS_H
#define TREADLE_VIRTUAL_THREADS_H

#include "agent/classfile/class_rewriter.h"
#include "native/ledger/ledger_format.h"

#include <jvmti.h>
#include <stdbool.h>
#include <sys/types.h>

struct agent;
struct kernel_thread;

/* Callbacks by name, and by the number of their event less the number of the first event. Includes
 * events that are newer than the jvmti.h of this build. */
union event_callbacks {
    jvmtiEventCallbacks named;
    void *number[64];
};

void virtual_threads__add_callbacks(union event_callbacks *callbacks);

/* The current thread is a virtual thread, perhaps mounted before the agent listened: makes it
 * current. False if it cannot be recorded. */
bool virtual_threads__identify(struct agent *agent, JNIEnv *jni, jthread thread);

/* Returns a local reference to the virtual thread mounted on a carrier; or NULL. */
jthread virtual_threads__mounted_on(const struct agent *agent, JNIEnv *jni, jthread carrier);

/* Returns the record of a virtual thread (NULL: the current one); 0: it has none. */
ledger_ref virtual_threads__record(const struct agent *agent, jthread thread);

/* Before the coming epoch begins, from any thread: places a virtual thread that is mounted there.
 */
void virtual_threads__place(struct agent *agent, JNIEnv *jni, jthread thread, pid_t tid,
                            uint32_t epoch, const uint64_t *keys, uint32_t count);

/* Adds the capability if this JVM has virtual threads. */
void virtual_threads__ask(const struct agent *agent, jvmtiCapabilities *capabilities);

/* Native methods of the hook class: the caller is about to start the virtual thread; the current
 * virtual thread is about to block its carrier. */
void JNICALL virtual_threads__starting(JNIEnv *jni, jclass hooks, jobject thread);
void JNICALL virtual_threads__pinned(JNIEnv *jni, jclass hooks, jobject thread);

/* The native method that this JDK method is to call first; NULL: none. */
const char *virtual_threads__first_hook(const struct class_method *method);

/* True if this is the JDK method in which a pinned virtual thread blocks its carrier. The method
 * has a node whatever the filter says: its calls and wall time, below the path that pinned. */
bool virtual_threads__is_pinning(const char *class_name, const char *method_name);

#define VIRTUAL_THREAD_CLASS    "java/lang/VirtualThread"
#define VIRTUAL_THREAD_BUILDERS "java/lang/ThreadBuilders"

/* Finds the mount and unmount events, which are extension events of HotSpot, by name. */
void virtual_threads__find_events(struct agent *agent);

/* Enables or disables the mount and unmount events. */
void virtual_threads__hear(struct agent *agent, bool on);

#endif
