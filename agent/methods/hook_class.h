/*
 * The class whose static native methods the hooks call: java.lang.TreadleHooks, defined into the
 * boot loader from bytes that are made here, so that the agent is one file. In java.lang since
 * every class loader asks the boot loader for that package, modules and OSGi bundles included.
 *
 *     static final @Stable byte[] OFF = new byte[HOOK_SLOTS_MAX];
 *     static final byte[] MUTED = new byte[HOOK_SLOTS_MAX];
 *     static final short[] LEFT = new short[HOOK_SLOTS_MAX];
 *     static final int[] COUNTERS = new int[HOOK_SLOTS_MAX];
 *     static final Unsafe UNSAFE = Unsafe.getUnsafe();
 *     static final long TID = UNSAFE.objectFieldOffset(Thread.class, "tid");
 *
 *     public static long enter(int slot) {                     a token of the frame
 *         byte off = OFF[slot];
 *         if (off == 0)
 *             return open(slot);
 *         if (off != 1)
 *             count(slot);
 *         return -1;
 *     }
 *     @DontInline static long open(int slot) {      so that compilers see little of it in methods
 *         if (MUTED[slot] == 0)
 *             return push(slot);
 *         silent(slot);
 *         return -1;
 *     }
 *     static void silent(int slot) { count(slot); if (--LEFT[slot] <= 0) hot(slot); }
 *     static native void hot(int slot);
 *     public static void leave(long token)  { if (token >= 0) pop(token); }
 *     public static void caught(long token) { if (token >= 0) resume(token); }
 *     public static native long push(int slot);
 *     public static native void pop(long token);
 *     public static native void resume(long token);
 *     public static native void starting(Object virtualThread);   the caller starts it
 *     public static native void pinned(Object virtualThread);     it blocks its carrier
 *     public static native void parking(Object virtualThread);    it parks, until …
 *     public static native void parked();
 *     public static native void sleeping(Object virtualThread);   it sleeps, until …
 *     public static native void slept();
 *     public static native void polling(Object poller);           it waits for I/O, until …
 *     public static native void polled();
 *     public static native void activity(Object apiClass);        it is being initialised
 *     static final byte[] UNHEARD = new byte[2];
 *
 *     @ForceInline public static void acquired()  { if (UNHEARD[0] == 0) entered(); }
 *     @ForceInline public static void released()  { if (UNHEARD[0] == 0) exited(); }
 *     @ForceInline public static void releasing() { if (UNHEARD[0] == 0) exiting(); }
 *     public static native void entered();       a monitor was entered
 *     public static native void exited();        … and exited
 *     public static native void exiting();       … is about to be exited
 *     @ForceInline public static void owning(Object lock) {    a Lock gets, or loses, its owner
 *         if (UNHEARD[0] == 0 && (UNHEARD[1] != 0 ||
 *             (lock instanceof AbstractQueuedSynchronizer ? … .hasContended()
 *              : lock instanceof AbstractQueuedLongSynchronizer && … .hasContended())))
 *                 owned(lock);
 *     }
 *     public static native void owned(Object lock);
 *     @ForceInline public static void sharing(int number, Object lock, int operation,
 *                                             int permits) {   a shared lock is acquired, released
 *         if (UNHEARD[0] == 0 && number >= 0 && (as above, or lock is neither of these))
 *             shared(number, lock, operation, permits);
 *     }
 *     public static native void shared(int number, Object lock, int operation, int permits);
 *
 * The methods that count calls are in agent/methods/count_hooks.h.
 *
 * A slot is what hooks pass: the number of their method, or one beyond all numbers if the method's
 * hooks were put in again after its first slot was off for good (agent/methods/hook_quota.h).
 */
#ifndef TREADLE_HOOK_CLASS_H
#define TREADLE_HOOK_CLASS_H

#include "agent/methods/thread_counters.h"

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#define HOOK_CLASS "java/lang/TreadleHooks"

/* The token of a frame that was not pushed, because its method is muted or its thread is not
 * profiled. */
#define HOOK_TOKEN_NONE (-1)

/* A thread with counters of its own tells each time it has counted so many calls of one method: a
 * power of two. */
#define HOOK_COUNTED_STEP 256u

/* Instead of a counter: calls of the slot are not to be counted. */
#define HOOK_NO_COUNTER (-1)

#define HOOK_SLOTS_MAX (1u << 18)

/* Numbers of methods with hooks are below this limit. Slots from the limit on belong to methods
 * whose hooks were put back. */
#define HOOK_METHODS_MAX (3u << 16)

enum hook {
    HOOK_ENTER,
    HOOK_LEAVE,
    HOOK_CAUGHT,
    HOOK_HOT,
    HOOK_FIRST,
    HOOK_COUNTED,
    HOOK_STARTING,
    HOOK_PINNED,
    HOOK_PARKING,
    HOOK_PARKED,
    HOOK_SLEEPING,
    HOOK_SLEPT,
    HOOK_POLLING,
    HOOK_POLLED,
    HOOK_ACTIVITY,
    HOOK_ACQUIRED,
    HOOK_RELEASED,
    HOOK_RELEASING,
    HOOK_OWNED,
    HOOK_SHARED,
    HOOK_COUNT,
};

/* Native methods to bind in other classes of the boot loader at the same time. */
struct bound_natives {
    jclass class;
    const JNINativeMethod *methods;
    jint count;
    /* A static ()V of the class that binds its natives: to be called once these are bound. The
     * class is then a global reference. Or NULL. */
    jmethodID bind_again;
    const struct bound_natives *next;
};

/* The class's own arrays, global references. */
struct hook_class {
    jbyteArray off;
    jbyteArray muted;
    jshortArray left;
    jintArray counters;
    jbyteArray unheard;
};

/* Defines the class and links it to the hooks. `more` may be NULL. The counters stay where they
 * are. 0, or -ENOTSUP when the JVM refuses. Once per JVM;
 * any thread that may run Java. */
int hook_class__define(struct hook_class *class, JNIEnv *jni,
                       const JNINativeMethod hooks[HOOK_COUNT], const struct bound_natives *more,
                       const struct thread_counters *counters);

/* Mutes a slot: later calls are not pushed; open calls leave with the tokens they have. After so
 * many silent calls (at most INT16_MAX) the hook `hot` is called, repeatedly. The calling thread
 * must be in native code, as for the other functions; it may wait for the end of a safepoint. */
void hook_class__mute(const struct hook_class *class, JNIEnv *jni, uint32_t slot, uint16_t calls);
void hook_class__unmute(const struct hook_class *class, JNIEnv *jni, uint32_t slot);

/* Whether the hooks of holds of locks call their natives. */
void hook_class__hear_holds(const struct hook_class *class, JNIEnv *jni, bool heard);

/* Whether they do so for Locks that have an owner and were never contended, too. */
void hook_class__hear_all_locks(const struct hook_class *class, JNIEnv *jni, bool heard);

/* The silent calls left until `hot` is called; zero or negative once `hot` is due. */
int hook_class__silent_left(const struct hook_class *class, JNIEnv *jni, uint32_t slot);

/* The same for `count` slots; 0 for slots that were never muted. */
void hook_class__read_silent(const struct hook_class *class, JNIEnv *jni, int16_t *to,
                             uint32_t first, uint32_t count);

/* Counted calls of a slot go to that counter from now on; 0: each one calls `first`; or
 * HOOK_NO_COUNTER. */
void hook_class__set_counter(const struct hook_class *class, JNIEnv *jni, uint32_t slot,
                             int32_t counter);

/* Later calls of a slot are only counted, for good. The compilers treat that as a
 * constant: code compiled from now on contains a call of `count` and nothing else of the slot's
 * hooks. The slot can still be turned off, which leaves a test in that code. */
void hook_class__count_only(const struct hook_class *class, JNIEnv *jni, uint32_t slot);

/* Turns a slot off for good. The compilers treat that as a constant: code compiled from now on
 * contains nothing of the slot's hooks. */
void hook_class__turn_off(const struct hook_class *class, JNIEnv *jni, uint32_t slot);

/* True if the internal name is that of one of our classes. */
bool hook_class__is_ours(const char *class_name);

#endif
