/*
 * Why Java threads wait, see native/thread/wait_bracket.h. Monitors and Object.wait: JVMTI's
 * events. Park and sleep of a kernel thread: wrappers of the natives Unsafe.park and Thread.sleep*;
 * I/O: wrappers of more natives (agent/threads/io_natives.h).
 * Park, sleep and waits for sockets of a virtual thread, which leaves its kernel thread: hooks in
 * VirtualThread and in the poller of sockets (agent/threads/virtual_threads.h), at whose ends it
 * may be on another carrier.
 */
#ifndef TREADLE_THREAD_WAITS_H
#define TREADLE_THREAD_WAITS_H

#include "agent/methods/hook_class.h"
#include "agent/threads/java_threads.h"

#include <jvmti.h>
#include <stdbool.h>

/* The calling Java thread begins or ends a wait. For hooks. */
void thread_waits__begin(struct java_threads *threads, JNIEnv *jni, enum ledger_metric reason);
void thread_waits__end(struct java_threads *threads, JNIEnv *jni, enum ledger_metric reason);

/* True if the budget has room for all there is to know of the wait that the calling thread begins;
 * else the wait is counted, and timed if there is room for that. */
bool thread_waits__has_room(const struct java_threads *threads, struct kernel_thread *mine,
                            enum ledger_metric reason);

/* The same for Object.wait, which gives the monitor up meanwhile. */
void thread_waits__object_wait(struct java_threads *threads, JNIEnv *jni, jobject object);
void thread_waits__object_waited(struct java_threads *threads, JNIEnv *jni);

/* The same for a contended monitor that is entered, and for a park, of which it is also recorded
 * for which lock, and for whom. thread: the virtual one that parks; NULL: the JVM is asked. */
void thread_waits__enter(struct java_threads *threads, JNIEnv *jni, jobject object);
void thread_waits__entered(struct java_threads *threads, JNIEnv *jni, jobject object);
void thread_waits__parking(struct java_threads *threads, JNIEnv *jni, jobject thread);
void thread_waits__parked(struct java_threads *threads, JNIEnv *jni);

/* What the wrappers of the natives do. */
void thread_waits__park(struct java_threads *threads, JNIEnv *jni, jobject unsafe,
                        jboolean is_absolute, jlong time);
void thread_waits__sleep(struct java_threads *threads, JNIEnv *jni, jclass thread_class,
                         jlong time);

/* Adds the capability for the events of monitors. */
void thread_waits__add_capabilities(const struct java_threads *threads,
                                    jvmtiCapabilities *capabilities);

/* Asks for what not every JVM gives at any time: it is done without where that fails. */
void thread_waits__add_optional_capabilities(struct java_threads *threads);

/* Enables or disables these events. */
void thread_waits__hear(const struct java_threads *threads, bool on);

#define WAIT_NATIVES 2 /* Thread.sleep*, Unsafe.park */

/* Fills natives[0 … n - 1] with the natives that are to get their wrappers, linked one to the next
 * and the last to `next`; methods: room for WAIT_NATIVES. Returns the first, or `next` if there is
 * none. */
const struct bound_natives *thread_waits__bind(struct java_threads *threads, JNIEnv *jni,
                                               struct bound_natives natives[WAIT_NATIVES],
                                               JNINativeMethod methods[WAIT_NATIVES],
                                               const struct bound_natives *next);

/* A native method is bound to an address. True: it is Unsafe.park, which gets the wrapper. */
bool thread_waits__native_bound(struct java_threads *threads, jmethodID method, void *address,
                                void **new_address);

/* The metric of the reason for which a thread waits now; 0: it does not wait, or the reason is none
 * that JVMTI tells, as for I/O. */
unsigned thread_waits__reason(const struct java_threads *threads, jthread thread);

#endif
