/*
 * Which thread object of the JVM (JavaThread) belongs to the calling kernel thread, for the handler
 * of samples. The handler cannot ask the JVM: a kernel thread that never was a Java thread has no
 * thread-local memory of the JVM, and asking would allocate it inside the signal handler.
 *
 * The table is filled from thread events: on the threads' own kernel threads, or, for threads that
 * are older than the agent, by tid.
 */
#ifndef TREADLE_JAVA_HOSTS_H
#define TREADLE_JAVA_HOSTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define JAVA_HOSTS 16384u

struct noted_host {
    _Atomic pid_t tid; /* 0: nobody's. Published last */
    _Atomic(const void *) java_thread;
};

/* By tid, in one of a few places. */
struct java_hosts {
    struct noted_host of[JAVA_HOSTS]; /* written under the lock */
    pthread_mutex_t lock;
};

void java_hosts__init(struct java_hosts *hosts);

/* Sets the calling thread's object; NULL: the thread is no Java thread any more. */
void java_hosts__set(struct java_hosts *hosts, const void *java_thread);

/* Sets the object of another thread, which has had no event yet. A thread without room in the table
 * has no Java frames in samples until its first event. */
void java_hosts__note(struct java_hosts *hosts, pid_t tid, const void *java_thread);

/* Forgets all objects, because the ends of threads may have been missed. */
void java_hosts__forget_noted(struct java_hosts *hosts);

/* Returns the object of the calling thread, whose tid is given, or NULL. If the thread's end was
 * missed, the object may be freed memory: read it in a fault guard only, and check its contents.
 * Async-signal-safe. */
const void *java_hosts__here(struct java_hosts *hosts, pid_t tid);

#endif
