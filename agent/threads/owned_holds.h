/*
 * Holds of the Locks of java.util.concurrent that have an owner, beside those of monitors
 * (agent/threads/lock_holds.h) and of shared locks (agent/threads/shared_holds.h). The hook in
 * AbstractOwnableSynchronizer tells when the owner changes: nested acquisitions do not change it.
 * Each acquisition that is no nested one is counted while holds are heard, from the first wait for
 * the Lock on.
 */
#ifndef TREADLE_OWNED_HOLDS_H
#define TREADLE_OWNED_HOLDS_H

#include "agent/threads/java_threads.h"
#include "native/thread/lock_blocks.h"

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

/* For hooks: a Lock that was contended once, or any (lock_holds__hear_all), is about to get an
 * owner, or to lose it. */
void owned_holds__tell(struct java_threads *threads, JNIEnv *jni, jobject lock);

/* The Locks that the calling thread holds, as far as hooks have told of them: how many of `most`,
 * in no order. One that nobody has waited for has no class. are_read: whether the thread has it by
 * a read lock alone. */
uint32_t owned_holds__list(const struct java_threads *threads, const struct kernel_thread *mine,
                           struct lock_identity *locks, bool *are_read, uint32_t most);

#endif
