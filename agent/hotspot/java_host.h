/*
 * Which thread object of the JVM (JavaThread) belongs to the calling kernel thread, for the handler
 * of samples. The handler cannot ask the JVM: a kernel thread that never was a Java thread has no
 * thread-local memory of the JVM, and asking would allocate it inside the signal handler.
 *
 * The table is filled from thread events: on the threads' own kernel threads, or, for threads that
 * are older than the agent, by tid.
 */
#ifndef TREADLE_JAVA_HOST_H
#define TREADLE_JAVA_HOST_H

#include <sys/types.h>

/* Sets the calling thread's object; NULL: the thread is no Java thread any more. */
void java_host__set(const void *java_thread);

/* Sets the object of another thread, which has had no event yet. A thread without room in the table
 * has no Java frames in samples until its first event. */
void java_host__note(pid_t tid, const void *java_thread);

/* Forgets all objects, because the ends of threads may have been missed. */
void java_host__forget_noted(void);

/* Returns the object of the calling thread, whose tid is given, or NULL. If the thread's end was
 * missed, the object may be freed memory: read it in a fault guard only, and check its contents.
 * Async-signal-safe. */
const void *java_host__here(pid_t tid);

#endif
