/*
 * Frames that were entered before their events counted: before the agent was loaded, while
 * profiling was stopped, or before their class had hooks. JVMTI reports the frames on a thread's
 * stack; those whose methods have nodes become the thread's floor (native/tree/call_tree.h).
 *
 * No event reports the return of such a frame. So at each call from the youngest of them the stack
 * is read again, unless the call comes from a place on the stack that was just checked. The
 * reads are limited to a sixteenth of the thread's CPU time plus a millisecond. The same holds
 * where JVMTI names methods (events=jvmti), since JVMTI may not report such an exit either.
 */
#ifndef TREADLE_STANDING_FRAMES_H
#define TREADLE_STANDING_FRAMES_H

#include "agent/threads/java_threads.h"
#include "native/thread/kernel_thread.h"

#include <jvmti.h>

void standing_frames__init(struct standing_methods *methods);

/* Sets the floor of the current thread to the frames on its stack, except the `top` youngest
 * frames. */
void standing_frames__find(struct java_threads *threads, struct kernel_thread *mine, jint top);

/* Called before an event is counted. Finds the current thread's older frames if that was not done
 * yet, or checks its floor if the floor is current and may have returned. place: the hook's
 * position on the stack in bytes, combined with the method's number; or JVMTI's callback's
 * position. `stays`: the method that calls the hook is not being entered or left; or JVMTI reports
 * the exit of a frame that is still on the stack. */
void standing_frames__check(struct java_threads *threads, struct kernel_thread *mine,
                            uintptr_t place, bool stays);

/* The same for a virtual thread that was just mounted or is about to be unmounted: its older frames
 * may have returned since, or before, without an event. */
void standing_frames__check_mounted(struct java_threads *threads, struct kernel_thread *mine);

/* A frame whose token is of an earlier epoch is about to be left. */
void standing_frames__leave_old(struct java_threads *threads, struct kernel_thread *mine);

/* Before the coming epoch begins: places all platform threads, waiting or running. */
void standing_frames__place_all(struct java_threads *threads, JNIEnv *jni, uint32_t epoch);

/* After the epoch has begun: places again the threads that have had no event yet, since they may
 * have moved; for carriers, also finds the mounted virtual thread. */
void standing_frames__place_silent(struct java_threads *threads, JNIEnv *jni, uint32_t epoch);

#endif
