/*
 * Which threads hold the read lock of a ReentrantReadWriteLock. It notes the first one in a field,
 * the others each in a ThreadLocal of their own, and neither lasts longer than the hold: only the
 * thread itself can end it. All is read as fields, no Java is called; so what is said of a thread
 * that waits meanwhile is right, of others it may be out of date at once.
 */
#ifndef TREADLE_READ_LOCKS_H
#define TREADLE_READ_LOCKS_H

#include <jni.h>
#include <stdbool.h>

struct read_locks {
    jclass class; /* ReentrantReadWriteLock$Sync; NULL: the JDK does not have all of these */
    jfieldID first_reader;
    jfieldID counters; /* the ThreadLocal */
    jfieldID count;    /* of a thread's counter */
    jfieldID locals;   /* of Thread: its map */
    jfieldID entries;  /* of the map */
    jfieldID key;      /* of an entry, which is a reference to it */
    jfieldID value;
    jfieldID hash; /* of a ThreadLocal */
};

/* To be called once the JVM runs. */
void read_locks__begin(struct read_locks *locks, JNIEnv *jni);

/* True if what a thread parks for is such a lock, for reading or for writing. */
bool read_locks__is(const struct read_locks *locks, JNIEnv *jni, jobject lock);

/* True if that thread has it for reading. */
bool read_locks__is_held(const struct read_locks *locks, JNIEnv *jni, jobject lock, jobject thread);

/* The first thread that has such a lock for reading, a local reference; NULL: there is none, or it
 * has given it back, and others may still read. */
jobject read_locks__first(const struct read_locks *locks, JNIEnv *jni, jobject lock);

#endif
