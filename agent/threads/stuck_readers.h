/*
 * For whom a thread waits that wants a ReentrantReadWriteLock which no thread has for writing. Each
 * of these is enough for a proof, as a thread that waits neither gives a read lock back nor its
 * place in the queue:
 *
 * - A thread that reads itself wants to write, for readers may read again at any time. It waits for
 *   its own read lock to be given back, and so for itself.
 * - The first one in the queue wants to write, and waits for each of those that read.
 * - The others in the queue wait for the first one, whatever they want.
 */
#ifndef TREADLE_STUCK_READERS_H
#define TREADLE_STUCK_READERS_H

#include "agent/threads/stuck_threads.h"

/* Fills in for whom the i-th thread waits. lock: what it parks for; read_locks__is() it. */
void stuck_readers__find(struct stuck_threads *stuck, JNIEnv *jni, uint32_t i, jobject lock);

#endif
