/*
 * Paths as hazards have them: names of methods, the innermost first. They are read from the stack,
 * for hazards are few; no wait event calls this except for a thread's own stack.
 */
#ifndef TREADLE_HAZARD_PATHS_H
#define TREADLE_HAZARD_PATHS_H

#include "agent/threads/java_threads.h"

#include <jvmti.h>
#include <stdbool.h>

/* Where a thread waits for a lock, without the frames of the JDK below the method that waits for
 * locks. True if the wait has an end of its own: the thread parks for some time only. */
bool hazard_paths__of_wait(const struct java_threads *threads, JNIEnv *jni, jthread thread,
                           ledger_ref path[HAZARD_FRAMES]);

/* "app.Main.run"; none: the method is gone, or of a class made for a lambda; or there is no room.
 */
ledger_ref hazard_paths__name(const struct java_threads *threads, JNIEnv *jni, jmethodID method);

#endif
