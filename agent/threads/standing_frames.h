/*
 * Frames that were entered before their events counted: before the agent came, while profiling was
 * stopped, or before their class had hooks. JVMTI tells which stand on a thread's stack; those
 * whose methods have nodes become its floor (native/tree/call_tree.h).
 *
 * Nobody tells when such a frame returns. So at each call from the youngest of them the stack is
 * looked at again, unless the call comes from a place on the stack that was looked at already; and
 * not more often than costs a sixteenth of the thread's CPU time, and a millisecond. The same where
 * JVMTI names methods (events=jvmti): it may not tell such an exit either.
 */
#ifndef TREADLE_STANDING_FRAMES_H
#define TREADLE_STANDING_FRAMES_H

#include "native/thread/kernel_thread.h"

#include <jvmti.h>
#include <pthread.h>

struct agent;

#define STANDING_METHODS 1024u

/* Methods that were met, and the keys of their nodes in one epoch. */
struct standing_methods {
    pthread_mutex_t placing; /* held while a virtual thread is placed, or ends before an epoch */
    pthread_mutex_t lock;
    struct standing_method {
        jmethodID method;
        uint32_t epoch;
        uint64_t key; /* 0: it has no nodes */
    } known[STANDING_METHODS];
};

void standing_frames__init(struct standing_methods *methods);

/* The current thread stands on what is on its stack but for the `top` youngest frames. */
void standing_frames__find(struct agent *agent, struct kernel_thread *mine, jint top);

/* How many frames the hook that is running has on top of the stack: its own, and that of the method
 * that calls it. */
jint standing_frames__of_hook(struct agent *agent);

/* An event is about to be counted: finds out what the current thread stands on if nobody has yet,
 * or if it stands on its floor and that may have fallen. place: the hook's on the stack, in bytes,
 * with the method's number mixed in; or JVMTI's callback's.
 * `stays`: the method that calls the hook is not about to be entered or left; or JVMTI tells that
 * the frame is left, which is on the stack still. */
void standing_frames__check(struct agent *agent, struct kernel_thread *mine, uintptr_t place,
                            bool stays);

/* A virtual thread was just mounted, or is about to be unmounted: the same, for what it stands on
 * may have returned since or before without an event. */
void standing_frames__check_mounted(struct agent *agent, struct kernel_thread *mine);

/* A frame of an earlier epoch is about to be left, as its token says. */
void standing_frames__leave_old(struct agent *agent, struct kernel_thread *mine);

/* Before the coming epoch begins: where all platform threads stand, asleep or not. */
void standing_frames__place_all(struct agent *agent, JNIEnv *jni, uint32_t epoch);

/* Once it has begun: those that had no event yet, and may have gone on since; of carriers, who was
 * mounted there. */
void standing_frames__place_silent(struct agent *agent, JNIEnv *jni, uint32_t epoch);

#endif
