/*
 * The class whose static native methods the hooks call: java.lang.TreadleHooks, defined into the
 * boot loader from bytes that are made here, so that the agent is one file. In java.lang since
 * every class loader asks the boot loader for that package, modules and OSGi bundles included.
 *
 *     static final @Stable byte[] OFF = new byte[HOOK_METHODS_MAX];
 *     static final byte[] MUTED = new byte[HOOK_METHODS_MAX];
 *     static final short[] LEFT = new short[HOOK_METHODS_MAX];
 *
 *     @ForceInline public static long enter(int method) {      a token of the frame
 *         return OFF[method] == 0 ? open(method) : -1;
 *     }
 *     @DontInline static long open(int method) {    so that compilers see little of it in methods
 *         if (MUTED[method] == 0)
 *             return push(method);
 *         silent(method);
 *         return -1;
 *     }
 *     static void silent(int method) { if (--LEFT[method] <= 0) hot(method); }
 *     static native void hot(int method);
 *     @ForceInline public static void leave(long token)  { if (token >= 0) pop(token); }
 *     @ForceInline public static void caught(long token) { if (token >= 0) resume(token); }
 *     public static native long push(int method);
 *     public static native void pop(long token);
 *     public static native void resume(long token);
 *     public static native void starting(Object virtualThread);   the caller starts it
 *     public static native void pinned(Object virtualThread);     it blocks its carrier
 */
#ifndef TREADLE_HOOK_CLASS_H
#define TREADLE_HOOK_CLASS_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#define HOOK_CLASS "java/lang/TreadleHooks"

/* The token of a frame that was not pushed: its method is muted, or its thread is not profiled. */
#define HOOK_TOKEN_NONE (-1)

/* Numbers of methods that hooks may pass: below that. */
#define HOOK_METHODS_MAX (1u << 18)

enum hook {
    HOOK_ENTER,
    HOOK_LEAVE,
    HOOK_CAUGHT,
    HOOK_HOT,
    HOOK_STARTING,
    HOOK_PINNED,
    HOOK_COUNT,
};

/* Natives to bind in other classes of the boot loader, while we are at it. */
struct bound_natives {
    jclass class;
    const JNINativeMethod *methods;
    jint count;
};

/* Defines the class and links it to the hooks. `more`: or NULL. 0, or -ENOTSUP when the JVM
 * refuses. Once a JVM; any thread that may run Java. */
int hook_class__define(JNIEnv *jni, const JNINativeMethod hooks[HOOK_COUNT],
                       const struct bound_natives *more);

/* From here on calls of that method are not heard; calls that are open leave as they came. After so
 * many calls (at most INT16_MAX) the hook `hot` is called, again and again. The calling thread runs
 * in native code, as for the others; it may wait for a safepoint to be over. */
void hook_class__mute(JNIEnv *jni, uint32_t method, uint16_t calls);
void hook_class__unmute(JNIEnv *jni, uint32_t method);

/* How many of them are left; none, or less, once `hot` is due. */
int hook_class__silent_left(JNIEnv *jni, uint32_t method);

/* That of all methods below the number; of those that were never muted, 0. */
void hook_class__read_silent(JNIEnv *jni, int16_t *to, uint32_t methods);

/* Calls of that number are never heard again. The compilers know that for good: of the hooks
 * nothing is left in what they make from now on. */
void hook_class__turn_off(JNIEnv *jni, uint32_t method);

/* Is that internal name one of ours? */
bool hook_class__is_ours(const char *class_name);

#endif
