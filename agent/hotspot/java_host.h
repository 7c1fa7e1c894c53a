/*
 * Which of the JVM's own thread objects (its JavaThread) the calling kernel thread is, for the
 * handler of samples. It cannot ask the JVM: a kernel thread that never was one of Java's has none
 * of the JVM's thread-local memory, and asking would allocate it inside of a signal handler.
 *
 * What is known comes from the events of threads: on their own kernel thread, or, where the agent
 * came later than they, by their tid.
 */
#ifndef TREADLE_JAVA_HOST_H
#define TREADLE_JAVA_HOST_H

#include <sys/types.h>

/* The calling thread's; NULL: it is none any more. */
void java_host__set(const void *java_thread);

/* That of another thread, which has not come by yet. What there is no room for has no Java frames
 * until it comes by. */
void java_host__note(pid_t tid, const void *java_thread);

/* All that was noted: who ended unheard is not known. */
void java_host__forget_noted(void);

/* The calling thread's, whose tid is given, or NULL. If its end was not heard of, the object may be
 * gone: who looks into it does so in a guard, and checks what is there. Async-signal-safe. */
const void *java_host__here(pid_t tid);

#endif
