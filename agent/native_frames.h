/*
 * What treadle.h calls in a JVM: native libraries push and pop logical frames, which are nodes of
 * the exact tree of the Java thread that called them. treadle.Activity's frames are nodes of the
 * same kind, see activity_hooks.h.
 *
 * A library looks for the agent when the library is loaded: frames of libraries that were there
 * before the agent are not heard, unless libtreadle-native.so is preloaded, which passes them on.
 * Nor are those of threads without a Java thread.
 *
 * A kernel thread has a stack of the native frames that are open on it. (A virtual thread with a
 * native frame on its stack stays on its carrier.) A frame is over when it is popped; when a frame
 * further out is pushed or popped (native/activity/treadle.h: places); when the Java method around
 * it returns; or with the epoch.
 *
 * A signal handler may have interrupted a hook, whose tree is then not to be touched: what is
 * pushed while a signal is blocked that was not blocked when the thread began, or at an earlier
 * push, is counted as lost; so is what a handler pushes that interrupts a push or a pop, or an
 * event of a Java method that is changing the tree.
 */
#ifndef TREADLE_NATIVE_FRAMES_H
#define TREADLE_NATIVE_FRAMES_H

#include "native/activity/pushed_frames.h"

struct agent;
struct kernel_thread;

#define NATIVE_FRAMES_EXPORT __attribute__((visibility("default")))

/* Their names are TREADLE_INSIDE_NAME and TREADLE_INSIDE_IDS_NAME. */
extern NATIVE_FRAMES_EXPORT const struct treadle_inside treadle_inside_v1;
extern NATIVE_FRAMES_EXPORT const struct treadle_inside_ids treadle_inside_ids_v1;

/* Bytes of memory of all threads' stacks of native frames. */
size_t native_frames__bytes(const struct agent *agent);

/* Where the logical frame lies on the stack that is the thread's current node. 0: that is none of a
 * native library's, or its place is not known. Of the thread itself; async-signal-safe. */
uint64_t native_frames__place(const struct kernel_thread *mine);

/* Notes which signals the calling thread has not blocked. Not in a signal handler. */
void native_frames__note_thread(struct agent *agent);

/* Makes treadle_inside_v1 visible to libraries that are loaded from here on. Not in a hook. */
void native_frames__announce(void);

#endif
