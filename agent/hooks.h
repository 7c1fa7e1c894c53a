/* What the hooks in classes call: the native methods of the hook class. They find the
 * agent by themselves, for the JVM passes them nothing of ours. */
#ifndef TREADLE_HOOKS_H
#define TREADLE_HOOKS_H

#include "agent/methods/hook_class.h"
#include "native/thread/kernel_thread.h"

/* The native methods to register. */
extern const JNINativeMethod hooks__natives[HOOK_COUNT];

/* To be called before an event outside the common case: returns the calling thread's entry once its
 * Java thread is identified and its older frames are known. NULL: the event does not count. place,
 * stays: see standing_frames__check. */
struct kernel_thread *hooks__ready(JNIEnv *jni, uintptr_t place, bool stays);

#endif
